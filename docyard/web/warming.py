"""What the first page would wait for, done while nobody asks: modules are imported, templates compiled."""

from __future__ import annotations

from importlib import import_module

from docyard.web.templates import compiled

_MODULES = (
    "docyard.web.documents.document",
    "docyard.web.library.library",
    "docyard.web.library.search",
    "workspace.history",
    "workspace.rendering",
)
_FIRST = ("library.html", "document.html", "search.html", "error.html")
"""What pages are made of that people begin with; for each other one it takes a moment at first."""


def warm_pages() -> None:
    """Import what these pages are made with, and compile their templates."""
    for module in _MODULES:
        import_module(module)
    for name in _FIRST:
        compiled(name)
