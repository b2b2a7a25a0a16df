"""The diff in the answer of a writing tool: short by default, full on request and in a dry run.

The short diff names the section of each change and has no unchanged lines. A carriage return is shown as `␍`,
so that the line endings of a document are visible.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tools.tool import Context, Data
    from workspace.document.document import Document
    from workspace.workspace import Workspace
    from workspace.writing.write import WriteResult

ReturnedDiff = Literal["diff", "none", "full"]
"""The diff that a call requests: `diff` is short, and omitted if the change is not small."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MAX_SHORT_CHARACTERS = 800
_MAX_OPERATION_CHARACTERS = 200  # of each operation of a batch, if that is more
_MAX_BATCH_CHARACTERS = 3_000
_MAX_CREATED_BYTES = 300  # the text of a larger new document is mostly what the caller sent
_MIN_COMMON_SHARE = 0.5  # the share of lines that a renamed document keeps
_MAX_FULL_CHARACTERS = 50_000
_MAX_COMPARED_BYTES = 200_000  # larger documents have no short diff, because the comparison would be slow


class _Change(NamedTuple):
    """A document before and after a write: its bytes, None if it does not exist.

    `read_document` and `read_old_document` return the document after and before the write. `old_path` is the
    earlier path of a renamed document.
    """

    path: str
    old_data: bytes | None
    data: bytes | None
    read_document: Callable[[], Document | None]
    read_old_document: Callable[[], Document | None]
    old_path: str | None = None


def render_planned_diff(result: WriteResult) -> str:
    """Return the full diff of a dry run."""
    return _render_full_diff(_list_changes(result))


def describe_diff(
    context: Context, result: WriteResult, returned_diff: ReturnedDiff, operation_count: int
) -> Data:
    """Return the requested diff of a write as the field `diff`; an empty mapping without a diff.

    `diff_omitted` replaces a short diff that would be too long. The diff of a retry is that of the earlier
    commit.
    """
    if returned_diff == "none":
        return {}
    changes = (
        _list_committed_changes(context.workspace, result.recorded_request.commit)
        if result.recorded_request
        else _list_changes(result)
    )
    if returned_diff == "full":
        diff: str | None = _render_full_diff(changes)
    else:
        batch_characters = min(_MAX_OPERATION_CHARACTERS * operation_count, _MAX_BATCH_CHARACTERS)
        diff = _render_short_diff(changes, max(_MAX_SHORT_CHARACTERS, batch_characters))
    if diff is None:
        return {"diff_omitted": True}
    return {"diff": diff} if diff else {}


def _list_changes(result: WriteResult) -> Iterator[_Change]:
    """Yield the documents that a write changed, in the order of their paths."""
    snapshot = result.plan.snapshot
    for path, data in sorted(result.changes.items()):
        entry = snapshot.entry(path)
        old_data = snapshot.git.blob(entry.id) if entry else None
        yield _Change(path, old_data, data, partial(result.document, path), partial(snapshot.document, path))


def _list_committed_changes(workspace: Workspace, commit: str) -> Iterator[_Change]:
    """Yield the documents that a commit changed since its first parent, in the order of their paths."""
    from workspace.git.trees import diff_trees

    git, snapshot = workspace.git, workspace.snapshot(commit)
    parents = git.commit(commit).parents
    old_tree = git.commit(parents[0]).tree if parents else None
    for change in sorted(diff_trees(git, old_tree, snapshot.tree), key=lambda change: change.path):
        old_data, data = (git.blob(entry.id) if entry else None for entry in (change.old, change.new))
        read_document = partial(snapshot.document, change.path)
        read_old_document = partial(workspace.snapshot(parents[0] if parents else None).document, change.path)
        yield _Change(change.path, old_data, data, read_document, read_old_document)


def _render_full_diff(changes: Iterable[_Change]) -> str:
    """Return changes as a unified diff, truncated if it is too long."""
    from workspace.diff.unified import format_unified_diff

    parts: list[str] = []
    remaining_characters = _MAX_FULL_CHARACTERS
    for change in changes:
        if remaining_characters <= 0:
            parts.append("… (the diff is truncated)\n")
            break
        old_name = "/dev/null" if change.old_data is None else f"a/{change.path}"
        new_name = "/dev/null" if change.data is None else f"b/{change.path}"
        diff = format_unified_diff(change.old_data, change.data, max_chars=remaining_characters)
        parts.append(f"--- {old_name}\n+++ {new_name}\n{diff}\n")
        remaining_characters -= len(parts[-1])
    return "".join(parts)


def _render_short_diff(changes: Iterable[_Change], max_characters: int) -> str | None:
    """Return the changed lines below the address of their section; None if they are too many."""
    lines: list[str] = []
    for change in _join_renames(list(changes)):
        if max(len(change.old_data or b""), len(change.data or b"")) > _MAX_COMPARED_BYTES:
            return None
        lines += _render_short_change(change)
        if sum(map(len, lines)) > max_characters:
            return None
    return "".join(lines)


def _join_renames(changes: list[_Change]) -> list[_Change]:
    """Return the changes; a removed document is joined to a new one that shares half of its lines."""
    removed_changes = [change for change in changes if change.data is None]
    joined_changes: list[_Change] = []
    for change in changes:
        source = None
        if change.old_data is None:
            source = next((removed for removed in removed_changes if _is_rename(removed, change)), None)
        if source is not None:
            removed_changes.remove(source)
            change = change._replace(
                old_data=source.old_data, old_path=source.path, read_old_document=source.read_old_document
            )
        joined_changes.append(change)
    old_paths = {change.old_path for change in joined_changes}
    return [change for change in joined_changes if change.data is not None or change.path not in old_paths]


def _is_rename(removed: _Change, created: _Change) -> bool:
    if max(len(removed.old_data or b""), len(created.data or b"")) > _MAX_COMPARED_BYTES:
        return False
    old, new = (_count_text_lines(data or b"") for data in (removed.old_data, created.data))
    common_count = (old & new).total()
    return common_count > 0 and common_count >= _MIN_COMMON_SHARE * max(old.total(), new.total())


def _count_text_lines(data: bytes) -> Counter[bytes]:
    """Count the distinct lines of a document, without blank lines and its front matter."""
    lines = [line.strip() for line in _split_lines(data)]
    if lines and lines[0] == b"---" and b"---" in lines[1:]:
        lines = lines[lines.index(b"---", 1) + 1 :]
    return Counter(filter(None, lines))


def _render_short_change(change: _Change) -> Iterator[str]:
    """Yield the changed lines of a document, and before them the address of their section."""
    if change.data is None:
        yield f"{change.path} (removed)\n"
        return
    if change.old_path is not None:
        yield f"{change.old_path} -> {change.path}\n"
    elif change.old_data is None and len(change.data) > _MAX_CREATED_BYTES:
        yield f"{change.path} (created)\n"
        return
    from workspace.diff.unified import find_line_runs

    old, new = _split_lines(change.old_data), _split_lines(change.data)
    last_address = None
    for old_start, old_end, new_start, new_end in find_line_runs(old, new):
        address = (
            _find_address(change.path, change.read_document(), new, new_start)
            if new_start < new_end
            else _find_address(change.old_path or change.path, change.read_old_document(), old, old_start)
        )
        if address != last_address:
            yield f"@@ {address}\n"
            last_address = address
        yield from (_format_line("-", line) for line in old[old_start:old_end])
        yield from (_format_line("+", line) for line in new[new_start:new_end])


def _find_address(path: str, document: Document | None, lines: Sequence[bytes], index: int) -> str:
    """Return the address of the section that contains a line; the path, if it is in the front matter."""
    if document is None:
        return path
    # A new section begins with a blank line, which belongs to the section before it.
    while index < len(lines) and not lines[index].strip():
        index += 1
    offset = sum(map(len, lines[:index]))
    section = document.section_at(offset)
    if section is None or offset < document.front_matter_end:
        return path
    return f"{path}#{section.address}"


def _format_line(mark: str, line: bytes) -> str:
    text = line.decode("utf-8", "replace").removesuffix("\n")
    return f"{mark}{text.removesuffix(chr(13))}{'␍' if text.endswith(chr(13)) else ''}\n"


def _split_lines(data: bytes | None) -> list[bytes]:
    """Return the lines of a document with their ends; only a line feed ends a line."""
    return _LINE.findall(data or b"")
