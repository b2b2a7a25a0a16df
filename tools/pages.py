"""Pages: bounded texts, cursors of lists, and parts of long texts.

A cursor is bound to its list and documents, and cannot be forged. A text that is too long for one answer is
cut between sections, else between blocks.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARACTERS_PER_TOKEN = 4
"""Of English: by it lists and diffs are bounded, whose tokens are not counted."""

_MOST_CHARACTERS = 8 * CHARACTERS_PER_TOKEN
"""Characters of a text for each token of its limit, whatever it costs: dashes cost next to nothing."""

_MEASUREMENTS = 12
_CLOSE = 0.98
_MAX_TITLE = 300


def shorten_title(title: str) -> str:
    """Return a title, or the beginning of one that is far too long."""
    return title if len(title) <= _MAX_TITLE else title[:_MAX_TITLE] + "…"


def count_fitting(text: str, offset: int, tokens: int) -> int:
    """Return how many characters of a text, from one on, have at most so many tokens; at least one."""
    rest = len(text) - offset
    from workspace.texts.tokens import bound_tokens, count_tokens

    if bound_tokens(rest) <= tokens:
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


def cut_text(text: str, offset: int, limit: int) -> tuple[str, int | None]:
    """Return a part of a text from a character on, and where the rest begins (None at the end).

    It ends between blocks if its second half has such a place, else between lines, else anywhere.
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
    """Return the paths that come after one, in their order; all of them if there is none."""
    from bisect import bisect_right

    return paths if last is None else paths[bisect_right(paths, last) :]


def write_place(place: str, tree: str | None, search: Sequence[object]) -> str:
    """Return the cursor of the page after a place, in a list of what stands in a tree."""
    from index.cursors import seal
    from index.storage.keys import load_user_key

    return seal(load_user_key(), ["list", tree, list(search), place])


def read_place(cursor: str, tree: str | None, search: Sequence[object]) -> str:
    """Return the place after which a page begins. Raises InvalidCursor, StaleCursor."""
    from index.cursors import InvalidCursor, StaleCursor, unseal
    from index.storage.keys import load_user_key

    kind, its_tree, its_search, place = unseal(load_user_key(), cursor, 4)
    if kind != "list" or its_search != json.loads(json.dumps(list(search))):
        raise InvalidCursor("the cursor belongs to another list", fix="Repeat the call without a cursor.")
    if its_tree != tree:
        raise StaleCursor(
            "the documents have changed since the cursor was issued",
            fix="Repeat the call without a cursor.",
        )
    return str(place)


class Text(Protocol):
    """A document, or a text of another kind."""

    def text(self, start: int, end: int) -> str:
        """Return the bytes [start, end) as text."""
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


class TextPart(NamedTuple, Generic[S]):
    """What an answer shows of a span.

    `rest` is the character of the span at which the next part begins, None at its end; `whole` are the
    sections whose own text is shown in full, `following` those that begin behind what is shown.
    """

    text: str
    rest: int | None
    whole: tuple[S, ...]
    following: tuple[S, ...]


def cut_part(
    text: Text, sections: Sequence[S], start: int, end: int, offset: int = 0, *, tokens: int
) -> TextPart[S]:
    """Return the part of the bytes [start, end) from a character on, of at most so many tokens.

    It ends before a section if one begins in its second half, else where `cut_text` ends it.
    """
    within = [section for section in sections if start <= section.start and section.end <= end]
    # A section begins with a line, so no character stands across two of these pieces.
    places = [start, *(section.start for section in within if section.start > start), end]
    pieces = [text.text(one, other) for one, other in pairwise(places)]
    begins = list(accumulate(map(len, pieces), initial=0))
    whole_text = "".join(pieces)
    limit = count_fitting(whole_text, offset, tokens)
    shown, rest = cut_text(whole_text, offset, limit)
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
    return TextPart(shown, rest, whole, tuple(section for section in within if at[section.start] >= stop))


def shown_lines(first: int, before: str, shown: str) -> tuple[int, int]:
    """Return the first and last line of what is shown, of a text whose line `first` begins with `before`."""
    start = first + _breaks(before)
    ended = shown.endswith(("\n", "\r"))
    return start, start + max(_breaks(shown) - ended, 0)


def _breaks(text: str) -> int:
    """Return how many lines end in a text: with LF, CR LF or CR (CommonMark 0.31 §2.1)."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
