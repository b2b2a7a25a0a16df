"""Parts of a text that is too long for one answer: cut between sections, else between blocks."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from tools.bounded import MAX_TEXT, cut

if TYPE_CHECKING:
    from workspace.texts.outline import Entry, Outline
    from workspace.texts.text_file import TextFile


class Part(NamedTuple):
    """What an answer shows of a span.

    `rest` is the character of the span at which the next part begins, None at its end; `whole` are the
    entries whose own text is shown in full.
    """

    text: str
    rest: int | None
    whole: tuple[Entry, ...]


def part_of(
    text: TextFile, outline: Outline, start: int, end: int, offset: int = 0, limit: int = MAX_TEXT
) -> Part:
    """The part of the bytes [start, end) that begins at a character of that span.

    It ends before an entry if one begins in its second half, else where `cut` ends it.
    """
    within = [entry for entry in outline.entries if start <= entry.start and entry.end <= end]
    # An entry begins with a line, so no character stands across two of these pieces.
    places = [start, *(entry.start for entry in within if entry.start > start), end]
    pieces = [text.text(one, other) for one, other in pairwise(places)]
    begins = list(accumulate(map(len, pieces), initial=0))
    shown, rest = cut("".join(pieces), offset, limit)
    if rest is not None:
        last = begins[bisect_right(begins, offset + limit) - 1]
        if last > offset + limit // 2:
            shown, rest = "".join(pieces)[offset:last], last
    at = dict(zip(places, begins, strict=True))
    stop = offset + len(shown)
    whole = tuple(entry for entry in within if at[entry.start] >= offset and _ends(text, entry, at) <= stop)
    return Part(shown, rest, whole)


def _ends(text: TextFile, entry: Entry, at: dict[int, int]) -> int:
    """The character at which the own text of an entry ends."""
    return at.get(entry.end, at[entry.start] + len(text.text(entry.start, entry.end)))


def lines_shown(first: int, before: str, shown: str) -> tuple[int, int]:
    """The first and last line of what is shown, of a text whose line `first` begins with `before`."""
    start = first + _breaks(before)
    ended = shown.endswith(("\n", "\r"))
    return start, start + max(_breaks(shown) - ended, 0)


def _breaks(text: str) -> int:
    """How many lines end in a text: with LF, CR LF or CR (CommonMark 0.31 §2.1)."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
