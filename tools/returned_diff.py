"""The diff in the answer of a writing tool: short by default, full on request and in a dry run.

The short diff names the section of each change and has no unchanged lines. A carriage return is shown as `␍`,
so that the line endings of a document are visible.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools.tool import Context
    from workspace.document.document import Document
    from workspace.workspace import Workspace
    from workspace.writing.write import WriteResult

ReturnedDiff = Literal["diff", "none", "full"]
"""The diff that a call requests: `diff` is short, and omitted if the change is not small."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MAX_SHORT_CHARACTERS = 800
_MAX_FULL_CHARACTERS = 50_000
_MAX_COMPARED_BYTES = 200_000  # larger documents have no short diff, because the comparison would be slow


class _Change(NamedTuple):
    """A document before and after a write: its bytes, None if it does not exist; and the new document."""

    path: str
    old_data: bytes | None
    data: bytes | None
    document: Document | None


def render_planned_diff(result: WriteResult) -> str:
    """Return the full diff of a dry run."""
    return _render_full_diff(_list_changes(result))


def render_returned_diff(context: Context, result: WriteResult, returned_diff: ReturnedDiff) -> str:
    """Return the requested diff of a write; empty if none is requested, or the short diff is not small.

    The diff of a retry is that of the earlier commit.
    """
    if returned_diff == "none":
        return ""
    changes = (
        _list_committed_changes(context.workspace, result.recorded_request.commit)
        if result.recorded_request
        else _list_changes(result)
    )
    return _render_full_diff(changes) if returned_diff == "full" else _render_short_diff(changes)


def _list_changes(result: WriteResult) -> Iterator[_Change]:
    """Yield the documents that a write changed, in the order of their paths."""
    snapshot = result.plan.snapshot
    for path, data in sorted(result.changes.items()):
        entry = snapshot.entry(path)
        old_data = snapshot.git.blob(entry.id) if entry else None
        yield _Change(path, old_data, data, result.document(path) if data is not None else None)


def _list_committed_changes(workspace: Workspace, commit: str) -> Iterator[_Change]:
    """Yield the documents that a commit changed since its first parent, in the order of their paths."""
    from workspace.git.trees import diff_trees

    git, snapshot = workspace.git, workspace.snapshot(commit)
    parents = git.commit(commit).parents
    old_tree = git.commit(parents[0]).tree if parents else None
    for change in sorted(diff_trees(git, old_tree, snapshot.tree), key=lambda change: change.path):
        old_data, data = (git.blob(entry.id) if entry else None for entry in (change.old, change.new))
        document = snapshot.document(change.path) if change.path in snapshot.documents else None
        yield _Change(change.path, old_data, data, document)


def _render_full_diff(changes: Iterable[_Change]) -> str:
    """Return changes as a unified diff, truncated if it is too long."""
    lines: list[str] = []
    for change in changes:
        old, new = (_split_lines(data) for data in (change.old_data, change.data))
        names = (
            f"a/{change.path}" if change.old_data is not None else "/dev/null",
            f"b/{change.path}" if change.data is not None else "/dev/null",
        )
        lines += (line if line.endswith("\n") else line + "\n" for line in unified_diff(old, new, *names))
    text = "".join(lines)
    return (
        text
        if len(text) <= _MAX_FULL_CHARACTERS
        else text[:_MAX_FULL_CHARACTERS] + "\n… (the diff is truncated)\n"
    )


def _render_short_diff(changes: Iterable[_Change]) -> str:
    """Return the changed lines below the address of their section; empty if they are many."""
    lines: list[str] = []
    for change in changes:
        if max(len(change.old_data or b""), len(change.data or b"")) > _MAX_COMPARED_BYTES:
            return ""
        lines += _render_short_change(change)
        if sum(map(len, lines)) > _MAX_SHORT_CHARACTERS:
            return ""
    return "".join(lines)


def _render_short_change(change: _Change) -> Iterator[str]:
    """Yield the changed lines of a document, and before them the address of their section."""
    if change.data is None:
        yield f"{change.path} (removed)\n"
        return
    old, new = _split_lines(change.old_data), _split_lines(change.data)
    last_address = None
    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            continue
        address = _find_address(change, new, new_start)
        if address != last_address:
            yield f"@@ {address}\n"
            last_address = address
        yield from (_format_line("-", line) for line in old[old_start:old_end])
        yield from (_format_line("+", line) for line in new[new_start:new_end])


def _find_address(change: _Change, lines: Sequence[str], index: int) -> str:
    """Return the address of the section that contains a line; the path, if it is in the front matter."""
    if change.document is None:
        return change.path
    # A new section begins with a blank line, which belongs to the section before it.
    while index < len(lines) and not lines[index].strip():
        index += 1
    offset = len("".join(lines[:index]).encode())
    section = change.document.section_at(offset)
    if section is None or offset < change.document.front_matter_end:
        return change.path
    return f"{change.path}#{section.address}"


def _format_line(mark: str, line: str) -> str:
    text = line.removesuffix("\n")
    return f"{mark}{text.removesuffix(chr(13))}{'␍' if text.endswith(chr(13)) else ''}\n"


def _split_lines(data: bytes | None) -> list[str]:
    """Return the lines of a document with their ends; only a line feed ends a line."""
    return _LINE.findall((data or b"").decode("utf-8", "replace"))
