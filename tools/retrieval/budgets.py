"""Lists and texts of answers within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tools.pages import exceeds, read_list_cursor, write_list_cursor

if TYPE_CHECKING:
    from tools.tool import Data

_PRECISION = 50  # a size is at most 1/50 below the largest possible one


def find_largest(maximum: int, fits: Callable[[int], bool]) -> int:
    """Return about the largest size, at most `maximum`, that fits; 0 if none does."""
    if fits(maximum):
        return maximum
    fitting, exceeding = 0, maximum
    while exceeding - fitting > max(1, fitting // _PRECISION):
        middle = (fitting + exceeding) // 2
        if fits(middle):
            fitting = middle
        else:
            exceeding = middle
    return fitting


def list_entries(
    field: str, entries: Sequence[tuple[str, Data]], cursor: str | None, max_tokens: int, other_fields: Data
) -> Data:
    """Return an answer with the named entries after a cursor that fit a number of tokens, at least one.

    `entries` are in a fixed order, and `field` is their field. If some are left, the answer has
    `next_cursor`. Raises InvalidCursor.
    """
    last_name = read_list_cursor(cursor, None, [field]) if cursor is not None else None
    names = [name for name, _ in entries]
    start = names.index(last_name) + 1 if last_name in names else 0

    def build(count: int) -> Data:
        data: Data = {field: [entry for _, entry in entries[start : start + count]], **other_fields}
        if start + count < len(entries):
            data["next_cursor"] = write_list_cursor(names[start + count - 1], None, [field])
        return data

    count = find_largest(len(entries) - start, lambda count: not exceeds(build(count), max_tokens))
    return build(max(count, min(1, len(entries) - start)))
