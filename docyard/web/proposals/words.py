"""The words of people as HTML: descriptions, comments and reviews, which are Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.web.templates import trusted

if TYPE_CHECKING:
    from markupsafe import Markup

    from docyard.web.request import Asked


def said(asked: Asked, text: str, path: str = "") -> Markup:
    """A text as safe HTML; its links lead to the served branch, and count from the document of a path."""
    from workspace.rendering import render_text

    snapshot = asked.workspace.snapshot()
    return trusted(render_text(text, urls=asked.urls.at(None), snapshot=snapshot, base_path=path))
