"""A batch: everything that one commit will change, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workspace.git import Entry, GitReader, Signature
from workspace.objects import FILE_MODE, blob_id
from workspace.trees import PathBlocked, find


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to a branch: new bytes for each path, or None where it is removed.

    `base` is the commit that the changes were made on, None where the branch has no commit yet. The author
    is the committer too.
    """

    branch: str
    base: str | None
    changes: Mapping[str, bytes | None]
    message: str
    author: Signature


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happens to one file: its entry before (None: it is new), its blob's id after (None: it goes)."""

    path: str
    old: Entry | None
    new: str | None

    @property
    def mode(self) -> int:
        """The mode that the file has, or will have."""
        return self.old.mode if self.old else FILE_MODE


def file_changes(git: GitReader, tree: str | None, batch: Batch) -> tuple[FileChange, ...]:
    """The files that a batch really changes, sorted by path; what it leaves as it was is left out.

    Raises:
        PathBlocked: a link or a submodule is at one of the paths.
    """
    found = []
    for path, data in sorted(batch.changes.items()):
        old = find(git, tree, path) if tree else None
        if old is not None and not old.is_blob:
            if data is None and old.is_tree:
                continue
            if not old.is_tree:
                raise PathBlocked(path, old)
            old = None
        new = None if data is None else blob_id(data)
        if new != (old.id if old else None):
            found.append(FileChange(path, old, new))
    return tuple(found)
