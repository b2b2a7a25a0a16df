"""What the tools that read have in common: bounded texts and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# About 25,000 tokens of English at four characters each: what hosts take in one answer.
MAX_TEXT = 100_000
_MAX_TITLE = 300


def shown_title(title: str) -> str:
    """A title, or the beginning of one that is far too long."""
    return title if len(title) <= _MAX_TITLE else title[:_MAX_TITLE] + "…"


def cut(text: str, offset: int, limit: int = MAX_TEXT) -> tuple[str, int | None]:
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
