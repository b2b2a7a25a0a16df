"""Line matching between two versions of a text, as Git compares them (libgit2's xdiff)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def match_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the positions of the lines that two versions share, as pairs in order.

    If lines are repeated, the last ones count as added or removed. A line may contain any bytes, including
    line ends. Some shared lines of very different texts may be missing, because Git limits the time, and
    skips repeated lines if most lines around them differ.
    """
    import pygit2

    numbers: dict[bytes, int] = {}
    old_text, new_text = (
        b"".join(b"%d\n" % numbers.setdefault(line, len(numbers)) for line in lines) for lines in (old, new)
    )
    pairs: list[tuple[int, int]] = []
    old_position = new_position = 0
    for hunk in pygit2.Patch.create_from(old_text, new_text, context_lines=0).hunks:
        # The start of an empty range is the line before the range.
        hunk_start = hunk.old_start - (hunk.old_lines > 0)
        pairs += zip(
            range(old_position, hunk_start),
            range(new_position, new_position + hunk_start - old_position),
            strict=True,
        )
        new_position += hunk_start - old_position + hunk.new_lines
        old_position = hunk_start + hunk.old_lines
    return [*pairs, *zip(range(old_position, len(old)), range(new_position, len(new)), strict=True)]
