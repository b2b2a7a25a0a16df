"""Walkthroughs without a step: without a level-2 section (`docs/templates.md`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.config.taxonomy import read_values
from workspace.document.walkthrough import WALKTHROUGH_TYPE, find_steps
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    document = context.document
    if WALKTHROUGH_TYPE not in read_values("type", document.front_matter.get("type")):
        return
    if next(find_steps(document), None) is None:
        start, end = context.front_matter_keys.get("type", (0, 0))
        yield ByteFinding(
            start,
            end,
            "the walkthrough has no step: no section is an h2",
            "Write each step as a section with a ## heading.",
        )


RULE = Rule(
    "missing-step", Severity.WARNING, "A walkthrough has no step: no level-2 section.", _find_problems
)
