"""Bidirectional controls, which make the displayed and the processed text differ (Unicode TR 36)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.validation.characters import BIDIRECTIONAL, find_invisible, format_code_point, is_isolated
from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject


def _find(subject: Subject) -> Iterator[Spot]:
    data = subject.data
    if b"\xe2\x80" not in data and b"\xe2\x81" not in data:
        return
    for start, end, character in find_invisible(data):
        if character not in BIDIRECTIONAL:
            continue
        if is_isolated(data, start, end) and not subject.is_literal(start):
            continue
        yield Spot(
            start,
            end,
            f"the bidirectional control {format_code_point(character)} changes the order of the line",
            "Take it out, or write it as a character reference.",
        )


RULE = Rule(
    "bidirectional-control",
    Severity.ERROR,
    "A bidirectional control may hide the real text of a line.",
    _find,
)
