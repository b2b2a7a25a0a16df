"""Parts of a text that is too long for one answer: cut between sections, else between blocks."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from tools.pages import cut, fitting

if TYPE_CHECKING:
    from collections.abc import Sequence


class Text(Protocol):
    """A document, or a text of another kind."""

    def text(self, start: int, end: int) -> str:
        """The bytes [start, end) as text."""
        ...


class Span(Protocol):
    """A section's own text: the bytes [start, end)."""

    @property
    def start(self) -> int:
        """Where it begins."""
        ...

    @property
    def end(self) -> int:
        """Where it ends."""
        ...


S = TypeVar("S", bound=Span)


class Part(NamedTuple, Generic[S]):
    """What an answer shows of a span.

    `rest` is the character of the span at which the next part begins, None at its end; `whole` are the
    sections whose own text is shown in full, `following` those that begin behind what is shown.
    """

    text: str
    rest: int | None
    whole: tuple[S, ...]
    following: tuple[S, ...]


def part_of(
    text: Text, sections: Sequence[S], start: int, end: int, offset: int = 0, *, tokens: int
) -> Part[S]:
    """The part of the bytes [start, end) that begins at a character of that span, of so many tokens at most.

    It ends before a section if one begins in its second half, else where `cut` ends it.
    """
    within = [section for section in sections if start <= section.start and section.end <= end]
    # A section begins with a line, so no character stands across two of these pieces.
    places = [start, *(section.start for section in within if section.start > start), end]
    pieces = [text.text(one, other) for one, other in pairwise(places)]
    begins = list(accumulate(map(len, pieces), initial=0))
    whole_text = "".join(pieces)
    limit = fitting(whole_text, offset, tokens)
    shown, rest = cut(whole_text, offset, limit)
    if rest is not None:
        last = begins[bisect_right(begins, offset + limit) - 1]
        if last > offset + limit // 2:
            shown, rest = whole_text[offset:last], last
    at = dict(zip(places, begins, strict=True))
    stop = offset + len(shown)

    def ends(section: S) -> int:
        own = at.get(section.end)
        return at[section.start] + len(text.text(section.start, section.end)) if own is None else own

    whole = tuple(section for section in within if at[section.start] >= offset and ends(section) <= stop)
    return Part(shown, rest, whole, tuple(section for section in within if at[section.start] >= stop))


def lines_shown(first: int, before: str, shown: str) -> tuple[int, int]:
    """The first and last line of what is shown, of a text whose line `first` begins with `before`."""
    start = first + _breaks(before)
    ended = shown.endswith(("\n", "\r"))
    return start, start + max(_breaks(shown) - ended, 0)


def _breaks(text: str) -> int:
    """How many lines end in a text: with LF, CR LF or CR (CommonMark 0.31 §2.1)."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
