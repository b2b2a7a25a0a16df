"""The built-in types, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from templates.document_type import DocumentType, parse_type

BUILTIN_NAMES = (
    "api_spec",
    "process_checklist",
    "review_cleanup",
    "design_doc",
    "decision_record",
    "runbook",
    "walkthrough",
    "skill",
    "document",
)


@cache
def builtin_types() -> Mapping[str, DocumentType]:
    """Return the built-in types by name, in the order of `BUILTIN_NAMES`."""
    # Imported here because a server that only searches needs no template.
    from importlib.resources import files

    package = files("templates")
    types = {}
    for name in BUILTIN_NAMES:
        folder = package / name
        types[name] = parse_type(
            name, (folder / "type.toml").read_bytes(), (folder / "document.md").read_bytes()
        )
    return MappingProxyType(types)
