"""Level-1 headings in addition to the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    title_line: int | None = None
    for section in context.document.sections:
        if section.heading is None or section.heading.block.level != 1:
            continue
        if title_line is not None:
            yield ByteFinding(
                section.heading_start,
                section.body_start,
                f"an h1 in addition to the title, which is on line {title_line}",
                "Write the heading as ## and those below it one level deeper, or move it to a new document.",
            )
        else:
            title_line = section.line


RULE = Rule(
    "several-h1", Severity.WARNING, "A document has more level-1 headings than its title.", _find_problems
)
