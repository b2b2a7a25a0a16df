"""Headings more than one level below the heading before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    # A document without an H1 has its title elsewhere, so its first heading may be an H2.
    previous_level, previous_name = 1, "the title"
    for section in context.document.sections:
        if section.heading is None:
            continue
        level = section.heading.block.level
        if level > previous_level + 1:
            yield ByteFinding(
                section.heading_start,
                section.body_start,
                f"an h{level} follows {previous_name}, so h{previous_level + 1} is skipped",
                f"Write {'#' * (previous_level + 1)} here, or a heading between the two.",
            )
        previous_level, previous_name = level, "the title" if section.is_preamble else f"an h{level}"


RULE = Rule(
    "skipped-level",
    Severity.WARNING,
    "A heading is more than one level below the one before it.",
    _find_problems,
)
