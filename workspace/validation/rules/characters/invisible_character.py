"""Invisible characters that the text does not need: a word with one differs from the same word without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.splices import Splice
from workspace.validation.characters import (
    BIDIRECTIONAL_CONTROLS,
    find_invisible_characters,
    format_code_point,
    is_character_needed,
)
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

# Characters without width that are not part of a word: their removal changes neither display nor meaning.
_REMOVABLE = frozenset("\u200b\u2060\ufeff")


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    data = context.data
    for start, end, character in find_invisible_characters(data):
        if character in BIDIRECTIONAL_CONTROLS or is_character_needed(data, start, end, character):
            continue
        # In code, in front matter and in HTML the character may be intended.
        is_removable = character in _REMOVABLE and start >= context.document.front_matter_end
        fix = (Splice(start, end, b""),) if is_removable and not context.is_literal(start) else ()
        yield ByteFinding(
            start,
            end,
            f"the invisible character {format_code_point(character)} is not needed here",
            "Remove the character.",
            fix,
        )


RULE = Rule(
    "invisible-character",
    Severity.WARNING,
    "A text has an invisible character that it does not need.",
    _find_problems,
)
