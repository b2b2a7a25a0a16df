"""The work tree of a branch: looked at before a publication, and brought to the new commit during it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository, GitStore, IndexFile, PathTaken, SplitIndex
from workspace.git.objects import LINK_MODE, SUBMODULE_MODE
from workspace.git.worktrees import Worktree, operation
from workspace.paths import check_path
from workspace.publishing.batch import FileChange
from workspace.publishing.files import Changed, WorkFiles
from workspace.publishing.journal import Journal
from workspace.publishing.prepared import Prepared, sync

INDEX_BEFORE = "index.old"


class WorktreeConflict(WorkspaceError):
    """A person has changed, staged or left untracked files that the batch would write; `paths` names them."""

    code: ClassVar[str] = "WORKTREE_CONFLICT"

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            "the work tree holds changes of these files that are not committed, so nothing was written: "
            + ", ".join(f"`{path}`" for path in self.paths),
            fix="Commit, stash or remove those changes, then try again.",
            paths=list(self.paths),
        )


class WorktreeBusy(WorkspaceError):
    """The work tree is in a state in which Docyard does not write there; `reason` says which."""

    code: ClassVar[str] = "WORKTREE_BUSY"

    def __init__(self, reason: str, *, fix: str = "Finish or abort it, then try again.") -> None:
        super().__init__(f"the work tree cannot be written now: {reason}", fix=fix, reason=reason)
        self.reason = reason


class Checkout:
    """One work tree on its way from the batch's base to its commit.

    `prepare` and `check` only look, and write into the private folder; `apply` changes files and index. To
    take that back is `recovery`'s, as after a crash. The caller holds Git's index lock from before `check` to
    the end.
    """

    def __init__(self, store: GitStore, worktree: Worktree, changes: tuple[FileChange, ...]) -> None:
        if not worktree.path.is_dir():
            raise WorktreeBusy("its folder is missing", fix="Bring it back, or run `git worktree prune`.")
        self.worktree = worktree
        self._git = store.at(worktree)
        self._git.refresh()
        self._changes = changes
        self._going = frozenset(change.path for change in changes if change.new is None)
        self._path = worktree.git_dir / "index"
        self._files = WorkFiles(self._git, worktree.path)
        self._before: bytes | None = None
        self._index = IndexFile.empty()

    def prepare(self, prepared: Prepared, name: str) -> None:
        """Compare the work tree with the base, and write the index that it will have under this name.

        Raises:
            InvalidPath: not every system can store a path.
            WorktreeBusy: an operation is in progress, the index is of a kind that is left alone, or a link or
                a submodule would change.
            WorktreeConflict: a file of the batch differs from the base, in the index or in the work tree.
        """
        self._check_state()
        self._check_kinds()
        self._before = self._read()
        index = self._parse(self._before)
        self._compare(index)
        try:
            self._index = index.changed(
                {change.path: (change.new, change.mode) if change.new else None for change in self._changes}
            )
        except PathTaken as error:
            raise WorktreeConflict([error.path]) from None
        path = prepared.write(name, self._index.data, like=self._path)
        if self._before is not None:
            # Git takes an entry for unchanged if its file is older than the index. An index that looked newer
            # than the one it replaces would hide what a person changed in the moment before.
            mtime = self._path.stat().st_mtime_ns
            os.utime(path, ns=(mtime, mtime))

    def record(self, journal: Journal, name: str) -> Journal:
        """The journal with what will happen to this work tree."""
        files, folders = self._files.plan(self._changes)
        return replace(
            journal,
            git_dir=os.path.relpath(self.worktree.git_dir, self._git.common_dir),
            index=name,
            had_index=self._before is not None,
            files=files,
            folders=folders,
        )

    def check(self) -> bool:
        """Compare once more, with the lock held; False if the index is another by now: prepare anew."""
        self._check_state()
        if self._read() != self._before:
            return False
        self._conflicts(
            change.path for change in self._changes if not self._files.unchanged(change, self._going)
        )
        return True

    def apply(self, journal: Journal, prepared: Prepared) -> None:
        """Write and remove the files, then put the new index in place.

        Raises:
            WorktreeConflict: a file changes at this very moment.
        """
        assert journal.index is not None
        prepared.keep(INDEX_BEFORE, self._path)
        try:
            self._files.make_folders(journal.folders)
            # What needs room on the disk comes first.
            for file in journal.files:
                self._files.write(file, durable=prepared.durable)
            for file in journal.files:
                self._files.replace(file)
            if prepared.durable:
                self._files.sync_folders(journal.files)
            prepared.install(journal.index, self._path)
            if prepared.durable:
                sync(self._path.parent)
            self._files.check_replaced(journal.files)
        except Changed as error:
            raise WorktreeConflict([error.path]) from None

    def settle(self, journal: Journal) -> None:
        """Remove what was kept to take the publication back; it is done now."""
        self._git.remember_index(self._index)
        for file in journal.files:
            self._files.settle(file)

    def _check_state(self) -> None:
        begun = operation(self.worktree.git_dir)
        if begun is not None:
            raise WorktreeBusy(f"{begun} is in progress")
        if self._git.config_flag("core.sparseCheckout"):
            raise WorktreeBusy("it is a sparse checkout", fix="Run `git sparse-checkout disable`.")

    def _read(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None

    def _parse(self, data: bytes | None) -> IndexFile:
        try:
            index = IndexFile.empty() if data is None else self._git.index_file(data)
        except SplitIndex as error:
            raise WorktreeBusy("its index is split", fix=f"Run `{error.fix}`.") from None
        except DamagedRepository as error:
            raise WorktreeBusy("its index cannot be read", fix=f"Run `{error.fix}` there.") from None
        if index.conflicted:
            raise WorktreeBusy("it has unmerged files", fix="Resolve them, then try again.")
        return index

    def _check_kinds(self) -> None:
        for change in self._changes:
            check_path(change.path)
            modes = [change.mode, *([change.old.mode] if change.old else [])]
            if any(mode in (LINK_MODE, SUBMODULE_MODE) for mode in modes):
                raise WorktreeBusy(
                    f"`{change.path}` is a link or a submodule, which only Git can check out",
                    fix="Merge with git merge, or switch the work tree to another branch.",
                )

    def _compare(self, index: IndexFile) -> None:
        for change in self._changes:
            entry = index.entry(change.path)
            if entry is not None and entry.skip_worktree:
                raise WorktreeBusy(
                    f"`{change.path}` is marked to be left alone (skip-worktree)",
                    fix=f"Run `git update-index --no-skip-worktree {change.path}`.",
                )
        self._conflicts(
            change.path
            for change in self._changes
            if not _is_base(index, change) or not self._files.unchanged(change, self._going)
        )
        for change in self._changes:
            if change.new is not None and self._git.foreign_filter(change.path):
                raise WorktreeBusy(
                    f"`{change.path}` has a filter or an encoding that only Git can apply",
                    fix="Take it out of `.gitattributes`.",
                )

    @staticmethod
    def _conflicts(paths: Iterable[str]) -> None:
        found = tuple(paths)
        if found:
            raise WorktreeConflict(found)


def _is_base(index: IndexFile, change: FileChange) -> bool:
    entry = index.entry(change.path)
    if entry is None or change.old is None:
        return entry is None and change.old is None
    return (entry.id, entry.mode) == (change.old.id, change.old.mode) and not entry.intent_to_add
