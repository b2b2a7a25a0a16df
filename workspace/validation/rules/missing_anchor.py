"""Headings without an explicit anchor, whose addresses change with their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.rule import ByteFinding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    for section in context.document.sections:
        # The title's address is that of the document.
        if section.has_heading and not section.is_preamble and section.anchor is None:
            yield ByteFinding(
                section.heading_start,
                section.body_start,
                "the heading has no anchor, so its address changes with its words",
                "Run `docyard fix --anchors`.",
            )


RULE = Rule("missing-anchor", None, "A heading has no explicit anchor.", _find_problems)
