"""The sections that a diff shows in full, which a client has read with it."""

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


def record_shown_sections(context: Context, change: CommitChange, diff: str) -> None:
    """Record the sections, before and after a change, of which a diff shows all lines."""
    old_lines, new_lines = _list_shown_lines(diff)
    exists = change.new.exists
    for commit, path, lines in (
        (change.parent, change.old_path, old_lines),
        (change.commit, change.path if exists else None, new_lines),
    ):
        if commit is None or path is None or not lines:
            continue
        with suppress(WorkspaceError):  # an unreadable document was not shown
            document = context.workspace.snapshot(commit).document(path)
            context.record_seen_sections(document, _select_sections(document, lines))


def _list_shown_lines(diff: str) -> tuple[set[int], set[int]]:
    """Return the line numbers that a unified diff shows, in the old text and in the new one."""
    old_lines: set[int] = set()
    new_lines: set[int] = set()
    old_number = new_number = 0
    for line in diff.split("\n"):
        if hunk := _HUNK.fullmatch(line):
            old_number, new_number = int(hunk[1]), int(hunk[2])
            continue
        if line[:1] in (" ", "-"):
            old_lines.add(old_number)
            old_number += 1
        if line[:1] in (" ", "+"):
            new_lines.add(new_number)
            new_number += 1
    return old_lines, new_lines


def _select_sections(document: Document, lines: set[int]) -> Iterator[Section]:
    """Yield the sections whose lines are all in `lines`, except headings and blank lines."""
    for section in document.sections:
        spans = ((section.start, section.heading_start), (section.body_start, section.end))
        if all(_has_lines(document, start, end, lines) for start, end in spans):
            yield section


def _has_lines(document: Document, start: int, end: int, lines: set[int]) -> bool:
    """Return True if all lines of the bytes [start, end) are blank or in `lines`."""
    if not document.data[start:end].strip():
        return True
    own_lines = range(document.lines.line_at(start), document.lines.line_at(end - 1) + 1)
    return all(line + 1 in lines for line in own_lines if document.lines.line_bytes(line).strip())
