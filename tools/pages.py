"""What the tools that read have in common: bounded texts and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARACTERS_PER_TOKEN = 4
"""Of English: by it lists and diffs are bounded, whose tokens are not counted."""

_MOST_CHARACTERS = 8 * CHARACTERS_PER_TOKEN
"""Characters of a text for each token of its limit, whatever it costs: dashes cost next to nothing."""

_MEASUREMENTS = 12
_CLOSE = 0.98
_MAX_TITLE = 300


def shown_title(title: str) -> str:
    """A title, or the beginning of one that is far too long."""
    return title if len(title) <= _MAX_TITLE else title[:_MAX_TITLE] + "…"


def fitting(text: str, offset: int, tokens: int) -> int:
    """Return how many characters of a text, from one on, have at most so many tokens; at least one."""
    rest = len(text) - offset
    from workspace.texts.tokens import count_tokens, most_tokens

    if most_tokens(rest) <= tokens:
        return rest
    most = min(rest, tokens * _MOST_CHARACTERS)
    fits, size = 0, min(most, tokens * CHARACTERS_PER_TOKEN)
    for _ in range(_MEASUREMENTS):
        found = count_tokens(text[offset : offset + size])
        if found <= tokens:
            fits = size
            if size >= most or found >= tokens * _CLOSE:
                break
        elif not fits:
            most = size - 1
        else:
            break
        guess = size * tokens // max(found, 1)
        size = max(fits + 1, min(most, guess if found <= tokens else int(guess * _CLOSE)))
    return max(fits, 1)


def cut(text: str, offset: int, limit: int) -> tuple[str, int | None]:
    """A part of a text that begins at a character, and where the rest begins (None if this is the end).

    It ends between blocks where there is such a place in its second half, else between lines, else anywhere.
    """
    if len(text) - offset <= limit:
        return text[offset:], None
    end = offset + limit
    for separator in ("\n\n", "\n"):
        place = text.rfind(separator, offset + limit // 2, end)
        if place != -1:
            return text[offset : place + len(separator)], place + len(separator)
    return text[offset:end], end


def page_after(paths: Sequence[str], last: str | None) -> Sequence[str]:
    """The paths that come after one, in their order; all of them if there is none."""
    from bisect import bisect_right

    return paths if last is None else paths[bisect_right(paths, last) :]
