"""The difference of two versions of a text as a unified diff (POSIX `diff -u`), within a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.diff.sequences import pair_lines
from workspace.markdown.lines import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTEXT = 3
"""Lines that are shown before and after each difference."""

_CUT = "… {} more lines"
_NO_END = "\\ No newline at end of file"

Span = tuple[int, int, int, int]


def format_section_diff(
    before: bytes | None,
    after: bytes | None,
    *,
    old_line: int = 1,
    new_line: int = 1,
    context: int = CONTEXT,
    most: int = 100_000,
) -> str:
    """Return the hunks between two versions, at most `most` characters of them; "" where they are alike.

    `old_line` and `new_line` are the lines of their documents on which they begin. None stands for nothing.
    Bytes that are not UTF-8 are shown as U+FFFD. What is cut off is counted in the last line.
    """
    old, new = split_lines(before or b""), split_lines(after or b"")
    lines = [
        line for hunk in _hunks(old, new, context) for line in _truncate(old, new, hunk, old_line, new_line)
    ]
    size = 0
    for at, line in enumerate(lines):
        size += len(line) + 1
        if size > most:
            lines = [*lines[:at], _CUT.format(f"{len(lines) - at:,}")]
            break
    return "\n".join(lines)


def _hunks(old: Sequence[bytes], new: Sequence[bytes], context: int) -> Iterator[list[Span]]:
    """Return the differences as spans (first, last, start, end) of lines; near ones are one hunk."""
    hunk: list[Span] = []
    for span in _spans(old, new):
        if hunk and span[0] - hunk[-1][1] > 2 * context:
            yield _add_context(hunk, len(old), context)
            hunk = []
        hunk.append(span)
    if hunk:
        yield _add_context(hunk, len(old), context)


def _spans(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Span]:
    row = column = 0
    for one, other in [*pair_lines(old, new), (len(old), len(new))]:
        if one > row or other > column:
            yield row, one, column, other
        row, column = one + 1, other + 1


def _add_context(hunk: Sequence[Span], size: int, context: int) -> list[Span]:
    """Return a hunk that begins and ends with spans of no lines, which stand for the context around it."""
    first, start = hunk[0][0], hunk[0][2]
    lead = min(context, first, start)
    last, end = hunk[-1][1], hunk[-1][3]
    tail = min(context, size - last)
    return [
        (first - lead, first - lead, start - lead, start - lead),
        *hunk,
        (last + tail, last + tail, end + tail, end + tail),
    ]


def _truncate(
    old: Sequence[bytes], new: Sequence[bytes], hunk: Sequence[Span], old_line: int, new_line: int
) -> Iterator[str]:
    first, start = hunk[0][0], hunk[0][2]
    last, end = hunk[-1][1], hunk[-1][3]
    yield f"@@ -{_range(first, last, old_line)} +{_range(start, end, new_line)} @@"
    at = first
    for one, other, begin, stop in hunk:
        for line in old[at:one]:
            yield from _line(" ", line)
        for line in old[one:other]:
            yield from _line("-", line)
        for line in new[begin:stop]:
            yield from _line("+", line)
        at = other


def _range(first: int, last: int, line: int) -> str:
    """Return lines as `diff -u` counts them: an empty range names the line before it."""
    count = last - first
    begin = first + line - (count == 0)
    return f"{begin}" if count == 1 else f"{begin},{count}"


def _line(mark: str, line: bytes) -> Iterator[str]:
    text = line.rstrip(b"\r\n")
    yield mark + text.decode("utf-8", "replace")
    if len(text) == len(line):
        yield _NO_END
