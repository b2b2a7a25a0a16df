"""A batch: the changes of one commit, as a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workspace.git.objects import FILE_MODE, Signature, TreeEntry, hash_blob
from workspace.git.reader import GitReader
from workspace.git.trees import PathBlocked, WholeEntry, find_in_tree


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to a branch: new bytes for each path, None for a removed file, or an entry of any kind.

    `base` is the commit to which the changes apply, None if the branch has no commit yet. The author is also
    the committer. For a merge, `other_parents` are the parents after `base`, and the commit is made even
    without a changed file.

    If `existing_commit` is set, the branch is moved to that commit, such as a fetched commit. `changes` are
    then the differences between the base and this commit, and message and author are only for the reflogs.
    """

    branch: str
    base: str | None
    changes: Mapping[str, bytes | WholeEntry | None]
    message: str
    author: Signature
    other_parents: tuple[str, ...] = ()
    existing_commit: str | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file: its old entry (None: a new file), and the id of its new object (None: removed).

    `mode` is the new mode; for a removed file, the old mode.
    """

    path: str
    old: TreeEntry | None
    new: str | None
    mode: int


def list_file_changes(git: GitReader, tree: str | None, batch: Batch) -> tuple[FileChange, ...]:
    """Return the files that a batch changes, sorted by path; files with equal bytes are omitted.

    Raises:
        PathBlocked: a link or a submodule is at the path of a change that is not a `WholeEntry`.
    """
    file_changes: list[FileChange] = []
    for path, change in sorted(batch.changes.items()):
        old = find_in_tree(git, tree, path) if tree else None
        if isinstance(change, WholeEntry):
            file_changes += _list_entry_changes(
                path, old if old is None or not old.is_tree else None, change.entry
            )
            continue
        if old is not None and not old.is_blob:
            if change is None and old.is_tree:
                continue
            if not old.is_tree:
                raise PathBlocked(path, old)
            old = None
        new = None if change is None else hash_blob(change)
        if new != (old.id if old else None):
            file_changes.append(FileChange(path, old, new, old.mode if old else FILE_MODE))
    return tuple(file_changes)


def _list_entry_changes(path: str, old: TreeEntry | None, new: TreeEntry | None) -> Iterator[FileChange]:
    """Yield the change to a `WholeEntry`, if the old entry differs."""
    if new is not None and (old is None or (old.id, old.mode) != (new.id, new.mode)):
        yield FileChange(path, old, new.id, new.mode)
    elif new is None and old is not None:
        yield FileChange(path, old, None, old.mode)
