"""Sizes of answers, cursors of lists, and parts of long texts.

A cursor is bound to its list and documents, and cannot be forged. A text that is too long for one answer is
cut between sections, else between blocks.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from index.storage.keys import SigningKeys

CHARACTERS_PER_TOKEN = 4
"""The average for English. It limits texts whose tokens are not counted, and gives first estimates."""

_MAX_CHARACTERS_PER_TOKEN = 8 * CHARACTERS_PER_TOKEN
"""The largest number of characters that are measured for a token: long runs of dashes have few tokens."""

_MAX_MEASUREMENTS = 12
_MIN_FILLED_SHARE = 0.98
_MAX_TITLE_CHARACTERS = 300
_SURROGATE = re.compile("[\ud800-\udfff]")
_TREE_CHARACTERS = 16  # of a tree's id in a cursor

T = TypeVar("T")


def shorten_title(title: str) -> str:
    """Return a title, truncated if it is too long."""
    return title if len(title) <= _MAX_TITLE_CHARACTERS else title[:_MAX_TITLE_CHARACTERS] + "…"


def count_fitting_characters(text: str, offset: int, tokens: int) -> int:
    """Return how many characters of a text from `offset` have at most `tokens` tokens; at least one."""
    remaining_characters = len(text) - offset
    from workspace.texts.tokens import bound_tokens, count_tokens

    if bound_tokens(remaining_characters) <= tokens:
        return remaining_characters
    maximum = min(remaining_characters, tokens * _MAX_CHARACTERS_PER_TOKEN)
    fitting_size, size = 0, min(maximum, tokens * CHARACTERS_PER_TOKEN)
    for _ in range(_MAX_MEASUREMENTS):
        count = count_tokens(text[offset : offset + size])
        if count <= tokens:
            fitting_size = size
            if size >= maximum or count >= tokens * _MIN_FILLED_SHARE:
                break
        elif not fitting_size:
            maximum = size - 1
        else:
            break
        estimated_size = size * tokens // max(count, 1)
        size = max(
            fitting_size + 1,
            min(maximum, estimated_size if count <= tokens else int(estimated_size * _MIN_FILLED_SHARE)),
        )
    return max(fitting_size, 1)


@lru_cache(maxsize=16)  # an answer that fits is measured again before it is sent
def measure_text(text: str) -> int:
    """Return an upper bound of the tokens of a text, which may be JSON."""
    from workspace.texts.token_bound import count_tokens_at_most  # Imported late, because it loads NumPy.

    return count_tokens_at_most(text)


def measure_tokens(data: object) -> int:
    """Return an upper bound of the tokens of data as compact JSON, the form in which answers are sent."""
    return measure_text(_encode_json(data))


def exceeds(data: object, tokens: int) -> bool:
    """Return True if data as compact JSON may have more than `tokens` tokens."""
    text = _encode_json(data)
    # A token has at least one byte, so that most data need no count.
    return len(text.encode()) > tokens and measure_text(text) > tokens


def _encode_json(data: object) -> str:
    import orjson

    try:
        return orjson.dumps(data, default=str).decode()
    except TypeError:  # a lone surrogate, which is sent as an escape, or a long number
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
        return _SURROGATE.sub(r"\\\\udfff", text)


class EntryBudget:
    """The tokens that the entries of a list may have together.

    Tokens are counted only if the entries have more bytes than the permitted tokens.
    """

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._uncounted_texts: list[str] = []
        self._byte_count = self._token_count = 0

    def take(self, entry: object) -> bool:
        """Take the tokens of the next entry; return True if it and all earlier ones fit."""
        self._uncounted_texts.append(_encode_json(entry))
        self._byte_count += len(self._uncounted_texts[-1].encode()) + 1
        if self._byte_count <= self._tokens:
            return True
        self._token_count += measure_text(",".join(self._uncounted_texts)) + 1
        self._uncounted_texts.clear()
        return self._token_count <= self._tokens


def count_fitting_entries(entries: Iterable[object], tokens: int) -> int:
    """Return how many of the first entries of a list have at most `tokens` tokens, but at least one."""
    budget = EntryBudget(tokens)
    count = 0
    for count, entry in enumerate(entries, 1):
        if not budget.take(entry) and count > 1:
            return count - 1
    return count


def count_surely_fitting_characters(text: str, tokens: int) -> int:
    """Return how many of the first characters of a text surely have at most `tokens` tokens."""
    size = min(len(text), tokens * _MAX_CHARACTERS_PER_TOKEN)
    while size and (count := measure_text(text[:size])) > tokens:
        size = min(size * tokens // count, size - 1)
    return size


def cut_text(text: str, offset: int, limit: int) -> tuple[str, int | None]:
    """Return at most `limit` characters of a text from `offset`, and the next offset (None at the end).

    The part ends between blocks if its last quarter has a block boundary, else between lines, else between
    words, else anywhere.
    """
    if len(text) - offset <= limit:
        return text[offset:], None
    end = offset + limit
    for separator in ("\n\n", "\n", " "):
        break_position = text.rfind(separator, offset + limit * 3 // 4, end)
        if break_position != -1:
            return text[offset : break_position + len(separator)], break_position + len(separator)
    return text[offset:end], end


def select_paths_after(paths: Sequence[str], last_path: str | None) -> Sequence[str]:
    """Return the sorted paths after `last_path`; all paths if it is None."""
    return paths if last_path is None else paths[bisect_right(paths, last_path) :]


def write_list_cursor(keys: SigningKeys, position: str, tree: str | None, criteria: Sequence[object]) -> str:
    """Return the cursor of the page after a position in a list; `tree` is the tree that the list shows."""
    from index.cursors import sign_token

    return sign_token(
        keys.get_signing_key(),
        ["list", tree and tree[:_TREE_CHARACTERS], _compute_criteria_digest(criteria), position],
    )


def read_list_cursor(keys: SigningKeys, cursor: str, tree: str | None, criteria: Sequence[object]) -> str:
    """Return the position after which a page begins. Raises InvalidCursor, StaleCursor."""
    from index.cursors import InvalidCursor, StaleCursor, verify_token

    kind, cursor_tree, cursor_criteria, position = verify_token(keys.list_verification_keys(), cursor, 4)
    # The criteria themselves are in a cursor of an earlier version.
    is_same_list = (
        cursor_criteria == _compute_criteria_digest(criteria)
        if isinstance(cursor_criteria, str)
        else cursor_criteria == json.loads(json.dumps(list(criteria)))
    )
    if kind != "list" or not is_same_list:
        raise InvalidCursor("the cursor belongs to another list", fix="Repeat the call without a cursor.")
    if cursor_tree not in (tree, tree and tree[:_TREE_CHARACTERS]):
        raise StaleCursor(
            "the documents have changed since the cursor was issued",
            fix="Repeat the call without a cursor.",
        )
    return str(position)


class ListPage(NamedTuple):
    """The entries of a page, the index of the first, and the cursor of the next page (None at the end)."""

    entries: list[dict[str, Any]]
    first: int
    next_cursor: str | None


def build_list_page(
    items: Sequence[T],
    describe: Callable[[T], dict[str, Any]],
    *,
    keys: SigningKeys,
    cursor: str | None,
    version: str | None,
    criteria: Sequence[object],
    limit: int,
    tokens: int,
) -> ListPage:
    """Return a page of at most `limit` described items with at most `tokens` tokens, at least one item.

    `version` is the id of the tree or commit of the list. Raises InvalidCursor, StaleCursor.
    """
    first = int(read_list_cursor(keys, cursor, version, criteria)) if cursor else 0
    budget = EntryBudget(tokens)
    entries: list[dict[str, Any]] = []
    for item in items[first : first + limit]:
        entry = describe(item)
        if not budget.take(entry) and entries:
            break
        entries.append(entry)
    end = first + len(entries)
    next_cursor = write_list_cursor(keys, str(end), version, criteria) if end < len(items) else None
    return ListPage(entries, first, next_cursor)


def _compute_criteria_digest(criteria: Sequence[object]) -> str:
    """Return a digest of the criteria of a list."""
    import hashlib  # Imported late, because most calls need no cursor.

    return hashlib.sha256(json.dumps(list(criteria)).encode()).hexdigest()[:16]


class Text(Protocol):
    """A text whose bytes are read by range, such as a document."""

    def text(self, start: int, end: int) -> str:
        """Return the bytes [start, end) as text."""
        ...


class Span(Protocol):
    """A section's own text: the bytes [start, end)."""

    @property
    def start(self) -> int:
        """Return the position of the first byte."""
        ...

    @property
    def end(self) -> int:
        """Return the position after the last byte."""
        ...


S = TypeVar("S", bound=Span)


class TextPart(NamedTuple, Generic[S]):
    """The part of a span that an answer shows.

    `next_offset` is the character of the span at which the next part begins, None at the end.
    `complete_sections` are the sections whose own text is shown in full, `later_sections` those that begin
    after the part.
    """

    text: str
    next_offset: int | None
    complete_sections: tuple[S, ...]
    later_sections: tuple[S, ...]


def cut_part(
    text: Text, sections: Sequence[S], start: int, end: int, offset: int = 0, *, tokens: int
) -> TextPart[S]:
    """Return at most `tokens` tokens of the bytes [start, end), from the character `offset`.

    The part ends before a section if one begins in its second half, else where `cut_text` ends it.
    """
    sections_in_range = [section for section in sections if start <= section.start and section.end <= end]
    # A section begins at a line, so no character is split between two pieces.
    boundaries = [start, *(section.start for section in sections_in_range if section.start > start), end]
    pieces = [text.text(left, right) for left, right in pairwise(boundaries)]
    offsets = list(accumulate(map(len, pieces), initial=0))
    whole_text = "".join(pieces)
    limit = count_fitting_characters(whole_text, offset, tokens)
    part_text, next_offset = cut_text(whole_text, offset, limit)
    if next_offset is not None:
        last_boundary = offsets[bisect_right(offsets, offset + limit) - 1]
        if last_boundary > offset + limit // 2:
            part_text, next_offset = whole_text[offset:last_boundary], last_boundary
    offsets_by_boundary = dict(zip(boundaries, offsets, strict=True))
    part_end = offset + len(part_text)

    def compute_end_offset(section: S) -> int:
        known_offset = offsets_by_boundary.get(section.end)
        return (
            offsets_by_boundary[section.start] + len(text.text(section.start, section.end))
            if known_offset is None
            else known_offset
        )

    complete_sections = tuple(
        section
        for section in sections_in_range
        if offsets_by_boundary[section.start] >= offset and compute_end_offset(section) <= part_end
    )
    return TextPart(
        part_text,
        next_offset,
        complete_sections,
        tuple(section for section in sections_in_range if offsets_by_boundary[section.start] >= part_end),
    )


def number_shown_lines(first_line: int, prefix: str, part: str) -> tuple[int, int]:
    """Return the numbers of the first and last line of `part`.

    `prefix` is the text before `part`, and begins at the line `first_line`.
    """
    start = first_line + _count_line_ends(prefix)
    ends_line = part.endswith(("\n", "\r"))
    return start, start + max(_count_line_ends(part) - ends_line, 0)


def _count_line_ends(text: str) -> int:
    """Return the number of line ends in a text: LF, CR LF or CR (CommonMark 0.31 §2.1)."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
