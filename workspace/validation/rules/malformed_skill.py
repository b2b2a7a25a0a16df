"""Skills that a server does not offer, because of their text, their name, or a missing rule of protection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.snapshot.type_names import SKILL_TYPE
from workspace.validation.rule import ByteFinding, Rule, Severity
from workspace.validation.skill_faults import find_skill_fault, read_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    if not context.config.skills or SKILL_TYPE not in read_types(context.document):
        return
    if fault := find_skill_fault(context.document, context.config):
        start, end = context.front_matter_keys.get("type", (0, 0))
        yield ByteFinding(start, end, f"the skill is not offered, because {fault.reason}", fault.fix)


RULE = Rule(
    "malformed-skill",
    Severity.WARNING,
    "A skill is not offered, because of its text, its name, or a missing rule of protection.",
    _find_problems,
)
