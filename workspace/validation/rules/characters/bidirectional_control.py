"""Bidirectional controls, which make the displayed and the processed text differ (Unicode TR 36)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.characters import (
    BIDIRECTIONAL_CONTROLS,
    find_invisible_characters,
    format_code_point,
    is_direction_isolated,
)
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    data = context.data
    if b"\xe2\x80" not in data and b"\xe2\x81" not in data:
        return
    for start, end, character in find_invisible_characters(data):
        if character not in BIDIRECTIONAL_CONTROLS:
            continue
        if is_direction_isolated(data, start, end) and not context.is_literal(start):
            continue
        yield ByteFinding(
            start,
            end,
            f"the bidirectional control {format_code_point(character)} changes the order of the line",
            "Remove the control, or write it as a character reference.",
        )


RULE = Rule(
    "bidirectional-control",
    Severity.ERROR,
    "A bidirectional control may hide the real text of a line.",
    _find_problems,
)
