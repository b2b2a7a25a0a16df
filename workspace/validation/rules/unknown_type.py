"""Document types that the workspace does not have, or cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject


def _find(subject: Subject) -> Iterator[Spot]:
    name = subject.document.type
    if name is None:
        return
    document_type = subject.types.get(name)
    start, end = subject.front_matter_keys.get("type", (0, 0))
    if isinstance(document_type, WorkspaceError):
        yield Spot(start, end, document_type.message, document_type.fix)
    elif document_type is None:
        nearest_types = find_nearest(name, subject.types)
        fix = (
            f"Did you mean '{nearest_types[0]}'?"
            if nearest_types
            else f"There are {', '.join(subject.types)}."
        )
        yield Spot(start, end, f"there is no document type '{name[:100]}'", fix)


RULE = Rule(
    "unknown-type",
    Severity.NOTE,
    "A document names a type that the workspace lacks or cannot read.",
    _find,
)
