"""The work tree of a branch: looked at before a publication, and brought to the new commit during it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository, GitStore, IndexFile, SplitIndex
from workspace.publishing.batch import FileChange
from workspace.publishing.files import Changed, WorkFiles
from workspace.publishing.locks import LinkedLock
from workspace.publishing.prepared import Prepared
from workspace.worktrees import Worktree, operation


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

    `prepare` and `check` only look, and write into the private folder; `apply` changes files, which `undo`
    takes back; `install` puts the new index in place. The caller holds `lock` from before `check` to the end.
    """

    def __init__(self, store: GitStore, worktree: Worktree, changes: tuple[FileChange, ...]) -> None:
        if not worktree.path.is_dir():
            raise WorktreeBusy("its folder is missing", fix="Bring it back, or run `git worktree prune`.")
        self.worktree = worktree
        self._git = store.at(worktree)
        self._changes = changes
        self._path = worktree.git_dir / "index"
        self._files = WorkFiles(self._git, worktree.path)
        self._before: bytes | None = None
        self._mtime: int | None = None
        self.lock: LinkedLock | None = None

    def prepare(self, files: Prepared) -> None:
        """Compare the work tree with the base, and write the index that it will have.

        Raises:
            WorktreeBusy: an operation is in progress, or the index is of a kind that is left alone.
            WorktreeConflict: a file of the batch differs from the base, in the index or in the work tree.
        """
        self._check_state()
        self._before = self._read()
        path = files.folder / "index"
        path.unlink(missing_ok=True)
        if self._before is not None:
            path.write_bytes(self._before)
            self._mtime = self._path.stat().st_mtime_ns
        index = self._open(path)
        self._compare(index)
        self._change(index)
        index.write()
        if self._mtime is not None:
            # Git takes an entry for unchanged if its file is older than the index. An index that looked newer
            # than the one it replaces would hide what a person changed in the moment before.
            os.utime(path, ns=(self._mtime, self._mtime))
        files.finish(path, like=self._path)
        self.lock = LinkedLock(path, self._path, self._git.common_dir)

    def check(self) -> bool:
        """Compare once more, with the lock held; False if the index is another by now: prepare anew."""
        self._check_state()
        if self._read() != self._before:
            return False
        self._conflicts(change.path for change in self._changes if not self._files.unchanged(change))
        return True

    def apply(self) -> None:
        """Write and remove the files; `WorktreeConflict` if one changes at this very moment."""
        try:
            for change in sorted(self._changes, key=lambda change: change.new is not None):
                self._files.apply(change)
        except Changed as error:
            raise WorktreeConflict([error.path]) from None

    def install(self, files: Prepared) -> None:
        """Put the new index in place; the lock stays."""
        ready = files.folder / "index.ready"
        os.link(files.folder / "index", ready)
        os.rename(ready, self._path)

    def undo(self, files: Prepared) -> None:
        """Bring back the index and every file that `apply` and `install` changed."""
        self._files.undo()
        installed = self._path.exists() and self._path.samefile(files.folder / "index")
        if installed and self._before is None:
            self._path.unlink()
        elif installed and self._before is not None:
            old = files.write("index.old", self._before, like=self._path)
            if self._mtime is not None:
                os.utime(old, ns=(self._mtime, self._mtime))
            os.rename(old, self._path)

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

    def _open(self, path: Path) -> IndexFile:
        try:
            index = IndexFile(path)
        except SplitIndex as error:
            raise WorktreeBusy("its index is split", fix=f"Run `{error.fix}`.") from None
        except DamagedRepository as error:
            raise WorktreeBusy("its index cannot be read", fix=f"Run `{error.fix}` there.") from None
        if index.conflicted:
            raise WorktreeBusy("it has unmerged files", fix="Resolve them, then try again.")
        return index

    def _compare(self, index: IndexFile) -> None:
        self._conflicts(
            change.path
            for change in self._changes
            if not _is_base(index, change) or not self._files.unchanged(change)
        )
        for change in self._changes:
            if change.new is not None and self._git.foreign_filter(change.path):
                raise WorktreeBusy(
                    f"`{change.path}` has a filter or an encoding that only Git can apply",
                    fix="Take it out of `.gitattributes`.",
                )

    def _change(self, index: IndexFile) -> None:
        expected = len(index)
        for change in self._changes:
            if change.new is None:
                index.remove(change.path)
            expected += (change.new is not None) - (change.old is not None)
        for change in self._changes:
            if change.new is not None:
                index.put(change.path, change.new, change.mode)
        if len(index) != expected:
            # libgit2 drops a staged file whose name is now a folder's, and the reverse.
            raise WorktreeConflict(change.path for change in self._changes if change.old is None)

    @staticmethod
    def _conflicts(paths: Iterable[str]) -> None:
        found = tuple(paths)
        if found:
            raise WorktreeConflict(found)


def _is_base(index: IndexFile, change: FileChange) -> bool:
    entry = index.entry(change.path)
    if entry is None or change.old is None:
        return entry is None and change.old is None
    flagged = entry.intent_to_add or entry.skip_worktree
    return (entry.id, entry.mode) == (change.old.id, change.old.mode) and not flagged
