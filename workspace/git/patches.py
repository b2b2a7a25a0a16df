"""Line matching between two versions of a text, as Git compares them (libgit2's xdiff)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def match_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the places of the lines that two versions share, as pairs in order.

    Of equal lines the last ones count as added or removed. A line may hold anything, line ends too. Of very
    different texts, some shared lines may not be found: Git bounds the time, and leaves out lines that repeat
    where most of those around them differ.
    """
    import pygit2

    numbers: dict[bytes, int] = {}
    before, after = (
        b"".join(b"%d\n" % numbers.setdefault(line, len(numbers)) for line in side) for side in (old, new)
    )
    pairs: list[tuple[int, int]] = []
    row = column = 0
    for hunk in pygit2.Patch.create_from(before, after, context_lines=0).hunks:
        # An empty range names the line before it.
        first = hunk.old_start - (hunk.old_lines > 0)
        pairs += zip(range(row, first), range(column, column + first - row), strict=True)
        column += first - row + hunk.new_lines
        row = first + hunk.old_lines
    return [*pairs, *zip(range(row, len(old)), range(column, len(new)), strict=True)]
