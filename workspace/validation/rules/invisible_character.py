"""Invisible characters that the text does not need: a word with one differs from the same word without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.splices import Splice
from workspace.validation.characters import BIDIRECTIONAL, find_invisible, format_code_point, is_needed
from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import Subject

# Characters without width that are not part of a word: their removal changes neither display nor meaning.
_REMOVABLE = frozenset("\u200b\u2060\ufeff")


def _find(subject: Subject) -> Iterator[Spot]:
    data = subject.data
    for start, end, character in find_invisible(data):
        if character in BIDIRECTIONAL or is_needed(data, start, end, character):
            continue
        # In code, in front matter and in HTML the character may be intended.
        is_removable = character in _REMOVABLE and start >= subject.document.front_matter_end
        fix = (Splice(start, end, b""),) if is_removable and not subject.is_literal(start) else ()
        yield Spot(
            start,
            end,
            f"the invisible character {format_code_point(character)} is not needed here",
            "Take it out.",
            fix,
        )


RULE = Rule(
    "invisible-character",
    Severity.WARNING,
    "An invisible character that the text does not need.",
    _find,
)
