"""What fixes change, as a unified diff. They add and take away no line, so it is exact and quick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.markdown.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.fixes.change import Change

_CONTEXT = 1
_LONGEST = 1_000


def unified(change: Change) -> Iterator[str]:
    """The lines of a unified diff of two versions of the same lines, without line endings.

    One line around each change is shown, at most 1,000 characters of each. What is not UTF-8 is U+FFFD.
    """
    before, after = Lines(change.before), Lines(change.after)
    yield f"--- a/{change.path}"
    yield f"+++ b/{change.path}"
    for group in _groups(before, after):
        first, last = max(0, group[0] - _CONTEXT), min(len(before), group[-1] + 1 + _CONTEXT)
        yield f"@@ -{first + 1},{last - first} +{first + 1},{last - first} @@"
        position, lines = first, frozenset(group)
        while position < last:
            run = position
            while run < last and run in lines:
                run += 1
            if run == position:
                yield f" {_shown(before, position)}"
                position += 1
                continue
            yield from (f"-{_shown(before, line)}" for line in range(position, run))
            yield from (f"+{_shown(after, line)}" for line in range(position, run))
            position = run


def _groups(before: Lines, after: Lines) -> Iterator[list[int]]:
    """The lines that differ, from 0; those whose surroundings meet are one group."""
    group: list[int] = []
    for line in range(len(before)):
        if _line(before, line) == _line(after, line):
            continue
        if group and line - group[-1] > 2 * _CONTEXT + 1:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _line(lines: Lines, line: int) -> bytes:
    return lines.data[lines.offset(line) : lines.offset(line + 1)]


def _shown(lines: Lines, line: int) -> str:
    text = lines.raw(line).decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
