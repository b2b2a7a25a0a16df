"""The types that come with Docyard, in the order in which a client sees them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from templates.document_type import DocumentType, parse_type

BUILTIN = (
    "api_spec",
    "process_checklist",
    "review_cleanup",
    "design_doc",
    "decision_record",
    "runbook",
    "document",
)


@cache
def builtin_types() -> Mapping[str, DocumentType]:
    """Return every built-in type by its name; the mapping's order is the order to list them in."""
    # Imported here because a server that is only searched never needs a template.
    from importlib.resources import files

    home = files("templates")
    types = {}
    for name in BUILTIN:
        folder = home / name
        types[name] = parse_type(
            name, (folder / "type.toml").read_bytes(), (folder / "document.md").read_bytes()
        )
    return MappingProxyType(types)
