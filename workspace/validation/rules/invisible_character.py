"""Characters that cannot be seen and that the text does not need: two equal words with one differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.splices import Splice
from workspace.validation.characters import BIDIRECTIONAL, find_invisible, format_code_point, is_needed
from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject

# Without width, and no part of any word: taken away, nothing looks or reads otherwise.
_IDLE = frozenset("\u200b\u2060\ufeff")


def _find(subject: Subject) -> Iterator[Spot]:
    data = subject.data
    for start, end, character in find_invisible(data):
        if character in BIDIRECTIONAL or is_needed(data, start, end, character):
            continue
        # In code, in front matter and in HTML it may be there to be shown.
        idle = character in _IDLE and start >= subject.document.front_matter_end
        mend = (Splice(start, end, b""),) if idle and not subject.is_literal(start) else ()
        yield Spot(
            start,
            end,
            f"the invisible character {format_code_point(character)} stands here",
            "Take it out.",
            mend,
        )


RULE = Rule(
    "invisible-character",
    Severity.WARNING,
    "A character that cannot be seen stands where the writing does not need it.",
    _find,
)
