"""Lists and texts of answers within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tools.pages import measure_tokens, read_list_cursor, write_list_cursor

if TYPE_CHECKING:
    from tools.retrieval.context import RetrievalContext
    from tools.tool import Data

_PRECISION = 50  # a size is at most 1/50 below the largest possible one
_FULL_SHARE = 0.95  # of the tokens; a size with more is not increased
_AIMED_SHARE = 0.98  # of the tokens, because texts are cut between blocks
_ASSUMED_EMPTY_SHARE = 0.4  # of the tokens, in an answer without texts
_MAX_ESTIMATES = 4  # then the first size that fits is enough


def find_largest_fitting_size(
    maximum: int,
    measure: Callable[[int], int],
    max_tokens: int,
    first_size: int | None = None,
    empty_tokens: int | None = None,
) -> int:
    """Return about the largest size, at most `maximum`, with at most `max_tokens` tokens; 0 if none fits.

    `measure` returns the tokens of a size, and takes milliseconds. So each further size is estimated by
    interpolation. `first_size` is the first estimate; None means `maximum`. `empty_tokens` are the tokens of
    size 0, if they are known.
    """
    fitting, exceeding = 0, maximum + 1
    # An answer with empty texts can be larger than one with short texts, so size 0 may not fit. Its tokens
    # only begin the interpolation.
    fitting_tokens = int(max_tokens * _ASSUMED_EMPTY_SHARE) if empty_tokens is None else empty_tokens
    exceeding_tokens = 0
    size = maximum if first_size is None else max(1, min(first_size, maximum))
    measurements = 0
    while exceeding - fitting > max(1, fitting // _PRECISION) and fitting_tokens < max_tokens * _FULL_SHARE:
        if measurements >= _MAX_ESTIMATES and fitting:
            break
        if (tokens := measure(size)) > max_tokens:
            exceeding, exceeding_tokens = size, tokens
        else:
            fitting, fitting_tokens = size, tokens
        measurements += 1
        if measurements >= _MAX_ESTIMATES:
            size = (fitting + exceeding) // 2
        elif exceeding_tokens:
            share = (max_tokens * _AIMED_SHARE - fitting_tokens) / (exceeding_tokens - fitting_tokens)
            size = fitting + int((exceeding - fitting) * share)
        elif empty_tokens is not None and empty_tokens < fitting_tokens:
            share = (max_tokens * _AIMED_SHARE - empty_tokens) / (fitting_tokens - empty_tokens)
            size = int(fitting * share)
        else:
            size *= 2
        size = max(fitting + 1, min(size, exceeding - 1))
    return fitting


def list_entries(
    context: RetrievalContext,
    field: str,
    entries: Sequence[tuple[str, Data]],
    cursor: str | None,
    other_fields: Data,
) -> Data:
    """Return an answer with the named entries after a cursor that fit the permitted tokens, at least one.

    `entries` are in a fixed order, and `field` is their field. If some are left, the answer has
    `next_cursor`. Raises InvalidCursor.
    """
    keys, max_tokens = context.sources.signing_keys, context.max_tokens
    last_name = read_list_cursor(keys, cursor, None, [field]) if cursor is not None else None
    names = [name for name, _ in entries]
    start = names.index(last_name) + 1 if last_name in names else 0

    def build(count: int) -> Data:
        data: Data = {field: [entry for _, entry in entries[start : start + count]], **other_fields}
        if start + count < len(entries):
            data["next_cursor"] = write_list_cursor(keys, names[start + count - 1], None, [field])
        return data

    count = find_largest_fitting_size(
        len(entries) - start, lambda count: measure_tokens(build(count)), max_tokens
    )
    return build(max(count, min(1, len(entries) - start)))
