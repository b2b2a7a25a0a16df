"""Headings more than one level below the heading before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject


def _find(subject: Subject) -> Iterator[Spot]:
    # A document without an H1 has its title elsewhere, so its first heading may be an H2.
    before, above = 1, "the title"
    for section in subject.document.sections:
        if section.heading is None:
            continue
        level = section.heading.block.level
        if level > before + 1:
            yield Spot(
                section.heading_start,
                section.body,
                f"an h{level} follows {above}, so h{before + 1} is skipped",
                f"Write {'#' * (before + 1)} here, or a heading between the two.",
            )
        before, above = level, "the title" if section.is_preamble else f"an h{level}"


RULE = Rule(
    "skipped-level",
    Severity.WARNING,
    "A heading is more than one level below the one before it.",
    _find,
)
