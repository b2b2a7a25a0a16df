"""Document types that the workspace does not have, or cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    name = context.document.type
    if name is None:
        return
    document_type = context.types.get(name)
    start, end = context.front_matter_keys.get("type", (0, 0))
    if isinstance(document_type, WorkspaceError):
        yield ByteFinding(start, end, document_type.message, document_type.fix)
    elif document_type is None:
        nearest_types = find_nearest(name, context.types)
        fix = (
            f"Did you mean '{nearest_types[0]}'?"
            if nearest_types
            else f"The types are {', '.join(context.types)}."
        )
        yield ByteFinding(start, end, f"there is no document type '{name[:100]}'", fix)


RULE = Rule(
    "unknown-type",
    Severity.NOTE,
    "A document names a type that the workspace lacks or cannot read.",
    _find_problems,
)
