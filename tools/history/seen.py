"""The sections that a diff shows in full: as much of a text as a client has read with it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.tool import Context
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.history.commits import CommitChange

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def remember_diff(context: Context, change: CommitChange, diff: str) -> None:
    """Remember the sections, before a change and after it, all of whose lines a diff shows."""
    old, new = _shown_lines(diff)
    is_there = change.new.is_there
    for commit, path, lines in (
        (change.parent, change.old_path, old),
        (change.commit, change.path if is_there else None, new),
    ):
        if commit is None or path is None or not lines:
            continue
        with suppress(WorkspaceError):  # a document that cannot be read was not shown either
            document = context.workspace.snapshot(commit).document(path)
            context.shows(document, _sections_in(document, lines))


def _shown_lines(diff: str) -> tuple[set[int], set[int]]:
    """Return the numbers of the lines that a unified diff shows, of the text before and of the one after."""
    old: set[int] = set()
    new: set[int] = set()
    before = after = 0
    for line in diff.split("\n"):
        if hunk := _HUNK.fullmatch(line):
            before, after = int(hunk[1]), int(hunk[2])
            continue
        if line[:1] in (" ", "-"):
            old.add(before)
            before += 1
        if line[:1] in (" ", "+"):
            new.add(after)
            after += 1
    return old, new


def _sections_in(document: Document, lines: set[int]) -> Iterator[Section]:
    """Yield the sections whose every line is among some, apart from headings and blank lines."""
    for section in document.sections:
        spans = ((section.start, section.heading_start), (section.body, section.end))
        if all(_has_lines(document, start, end, lines) for start, end in spans):
            yield section


def _has_lines(document: Document, start: int, end: int, lines: set[int]) -> bool:
    """Return True if every line of the bytes [start, end) that is not blank is among some."""
    if not document.data[start:end].strip():
        return True
    own = range(document.lines.line_at(start), document.lines.line_at(end - 1) + 1)
    return all(line + 1 in lines for line in own if document.lines.raw(line).strip())
