"""Fixes as values: the bytes that change in one document, and the findings that were skipped.

Changes are shown as a unified diff. Fixes add and remove no lines, so the diff is exact and fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.splices import Splice
    from workspace.links.offset_map import OffsetMap


class Fix(NamedTuple):
    """One fix: the rule of its finding, its line (from 1), and the new bytes."""

    rule: str
    line: int
    splice: Splice


class FixRemark(NamedTuple):
    """A remark on a finding without a fix, or on a fix, and its line (from 1; 0 means the full document).

    `reason` states why there is no fix, or is the remark.
    """

    rule: str
    path: str
    line: int
    reason: str


class FixedDocument(NamedTuple):
    """A document before and after its fixes, with the same number of lines.

    Without fixes, `old_document` and `document` are the same object.
    """

    old_document: Document
    document: Document
    fixes: tuple[Fix, ...]
    fix_remarks: tuple[FixRemark, ...]

    @property
    def change(self) -> DocumentRewrite:
        """The old and the new bytes without the parsed documents, which would take ten times the memory."""
        return DocumentRewrite(self.document.path, self.old_document.data, self.document.data, self.fixes)


class DocumentRewrite(NamedTuple):
    """The new bytes of a document, its old bytes, and its fixes; without fixes, only links were updated."""

    path: str
    before: bytes
    after: bytes
    fixes: tuple[Fix, ...] = ()


class FixResult(NamedTuple):
    """The result of fixing the document at a path; it can be sent from one process to another.

    There is no `change` without fixes. `offset_map` is set if a name may have another target now. If
    `needs_history_search` is True, no fix was made, because the fix needs the history.
    """

    path: str
    change: DocumentRewrite | None = None
    fix_remarks: tuple[FixRemark, ...] = ()
    offset_map: OffsetMap | None = None
    needs_history_search: bool = False


_CONTEXT_LINES = 1
_MAX_LINE_CHARACTERS = 1_000


def format_unified_diff(change: DocumentRewrite) -> Iterator[str]:
    """Yield the lines of a unified diff of two versions of the same lines, without line endings.

    One line of context is shown around each change, and at most 1,000 characters of each line. Invalid UTF-8
    is shown as U+FFFD.
    """
    before, after = Lines(change.before), Lines(change.after)
    yield f"--- a/{change.path}"
    yield f"+++ b/{change.path}"
    for group in _group_changed_lines(before, after):
        first_line, end_line = (
            max(0, group[0] - _CONTEXT_LINES),
            min(len(before), group[-1] + 1 + _CONTEXT_LINES),
        )
        yield f"@@ -{first_line + 1},{end_line - first_line} +{first_line + 1},{end_line - first_line} @@"
        position, lines = first_line, frozenset(group)
        while position < end_line:
            end = position
            while end < end_line and end in lines:
                end += 1
            if end == position:
                yield f" {_truncate(before, position)}"
                position += 1
                continue
            yield from (f"-{_truncate(before, line)}" for line in range(position, end))
            yield from (f"+{_truncate(after, line)}" for line in range(position, end))
            position = end


def _group_changed_lines(before: Lines, after: Lines) -> Iterator[list[int]]:
    """Yield the lines that differ, from 0; lines with adjacent or common context form one group."""
    group: list[int] = []
    for line in range(len(before)):
        if _read_line(before, line) == _read_line(after, line):
            continue
        if group and line - group[-1] > 2 * _CONTEXT_LINES + 1:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _read_line(lines: Lines, line: int) -> bytes:
    return lines.data[lines.offset(line) : lines.offset(line + 1)]


def _truncate(lines: Lines, line: int) -> str:
    text = lines.line_bytes(line).decode("utf-8", "replace")
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[:_MAX_LINE_CHARACTERS]}…"
