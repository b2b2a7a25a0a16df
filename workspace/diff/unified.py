"""Format the difference of two versions of a text as a unified diff (POSIX `diff -u`) of limited length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.diff.sequences import pair_lines
from workspace.markdown.lines import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTEXT_LINES = 3
"""The number of lines shown before and after each difference."""

_OMITTED_LINES = "… {} more lines"
_NO_FINAL_NEWLINE = "\\ No newline at end of file"

LineRun = tuple[int, int, int, int]
"""The lines [old_start, old_end) of the old text that became [new_start, new_end) of the new text."""


def format_unified_diff(
    before: bytes | None,
    after: bytes | None,
    *,
    old_line: int = 1,
    new_line: int = 1,
    context: int = CONTEXT_LINES,
    max_chars: int = 100_000,
) -> str:
    """Return the hunks between two versions; "" for equal versions.

    `old_line` and `new_line` are the lines of their documents on which the versions begin. None is a missing
    version. Bytes that are not UTF-8 are displayed as U+FFFD. The lines after `max_chars` characters are
    omitted, and a last line states their number.
    """
    old_lines, new_lines = split_lines(before or b""), split_lines(after or b"")
    lines = [
        line
        for hunk in _group_hunks(old_lines, new_lines, context)
        for line in _format_hunk(old_lines, new_lines, hunk, old_line, new_line)
    ]
    size = 0
    for index, line in enumerate(lines):
        size += len(line) + 1
        if size > max_chars:
            lines = [*lines[:index], _OMITTED_LINES.format(f"{len(lines) - index:,}")]
            break
    return "\n".join(lines)


def _group_hunks(old: Sequence[bytes], new: Sequence[bytes], context: int) -> Iterator[list[LineRun]]:
    """Yield the hunks: lists of runs that are close to each other, with their context."""
    hunk: list[LineRun] = []
    for run in find_line_runs(old, new):
        if hunk and run[0] - hunk[-1][1] > 2 * context:
            yield _add_context(hunk, len(old), context)
            hunk = []
        hunk.append(run)
    if hunk:
        yield _add_context(hunk, len(old), context)


def find_line_runs(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[LineRun]:
    """Yield the runs of lines that differ in two versions, in order."""
    old_start = new_start = 0
    for old_line, new_line in [*pair_lines(old, new), (len(old), len(new))]:
        if old_line > old_start or new_line > new_start:
            yield old_start, old_line, new_start, new_line
        old_start, new_start = old_line + 1, new_line + 1


def _add_context(hunk: Sequence[LineRun], size: int, context: int) -> list[LineRun]:
    """Return a hunk with empty runs at both ends, which mark the beginning and end of its context."""
    old_start, _, new_start, _ = hunk[0]
    _, old_end, _, new_end = hunk[-1]
    lines_before = min(context, old_start, new_start)
    lines_after = min(context, size - old_end)
    old_start, new_start = old_start - lines_before, new_start - lines_before
    old_end, new_end = old_end + lines_after, new_end + lines_after
    return [(old_start, old_start, new_start, new_start), *hunk, (old_end, old_end, new_end, new_end)]


def _format_hunk(
    old: Sequence[bytes], new: Sequence[bytes], hunk: Sequence[LineRun], old_line: int, new_line: int
) -> Iterator[str]:
    old_range = _format_range(hunk[0][0], hunk[-1][1], old_line)
    new_range = _format_range(hunk[0][2], hunk[-1][3], new_line)
    yield f"@@ -{old_range} +{new_range} @@"
    position = hunk[0][0]
    for old_start, old_end, new_start, new_end in hunk:
        for line in old[position:old_start]:
            yield from _format_line(" ", line)
        for line in old[old_start:old_end]:
            yield from _format_line("-", line)
        for line in new[new_start:new_end]:
            yield from _format_line("+", line)
        position = old_end


def _format_range(start: int, end: int, first_line: int) -> str:
    """Return the lines [start, end) as `diff -u` writes them: an empty range names the line before it.

    `first_line` is the number of the text's first line in its document.
    """
    count = end - start
    begin = start + first_line - (count == 0)
    return f"{begin}" if count == 1 else f"{begin},{count}"


def _format_line(mark: str, line: bytes) -> Iterator[str]:
    text = line.rstrip(b"\r\n")
    yield mark + text.decode("utf-8", "replace")
    if len(text) == len(line):
        yield _NO_FINAL_NEWLINE
