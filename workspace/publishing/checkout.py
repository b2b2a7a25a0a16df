"""The work tree of a branch during a publication: comparison, replacement file by file, and rollback.

A file is replaced through private files next to it, whose names are in the journal. `.new` has the new bytes.
`.old` is a link to `.new` that is swapped with the file. `.put` is the link if there is no file yet, or if
the system cannot swap two files. `.new` and `.old` stay until the publication has ended, so a rollback
writes no data, and needs no disk space.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import unicodedata
from collections.abc import Container, Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git.index_file import IndexFile, PathOccupied, SplitIndex
from workspace.git.loose import find_free_name
from workspace.git.objects import EXECUTABLE_MODE, LINK_MODE, SUBMODULE_MODE
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.git.worktrees import Worktree, find_unfinished_operation
from workspace.paths import check_path, fold_name
from workspace.publishing.batch import FileChange
from workspace.publishing.journal import Journal, WorkFile
from workspace.publishing.locks import lstat
from workspace.publishing.staging_folder import (
    StagingFolder,
    create_atomically,
    is_unchanged,
    link_or_copy,
    replace_atomically,
    sync_to_disk,
)

PRIVATE_PREFIX = ".docyard-"


class FileChanged(Exception):
    """An error: a file that has changed since its comparison."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class WorkFiles:
    """The files of a work tree: their comparison with a batch, their replacement, and its rollback."""

    def __init__(self, git: GitStore, root: Path) -> None:
        self._git = git
        self._root = root
        self._uses_modes = git.config_flag("core.fileMode", True)
        self._backup_statuses: dict[str, os.stat_result] = {}

    def is_unchanged(self, change: FileChange, removed_paths: Container[str] = ()) -> bool:
        """Return True if the file equals that of the base for Git; for a new file, True if the path is free.

        On a case-insensitive disk, a new file may exist under another spelling. `removed_paths` are
        removed before the file is written.
        """
        if change.old is None and self._find_disk_name(change.path) in removed_paths:
            return True
        old = (change.old.id, change.old.mode) if change.old else None
        return self._matches_old(change.path, old)

    def plan_replacements(
        self, changes: Iterable[FileChange]
    ) -> tuple[tuple[WorkFile, ...], tuple[str, ...]]:
        """Return the journal's entries for changed files, removals first, and the folders to create."""
        token = secrets.token_hex(8)
        files = tuple(
            WorkFile(
                change.path,
                f"{PRIVATE_PREFIX}{token}-{number}",
                (change.old.id, change.old.mode) if change.old else None,
                (change.new, change.mode) if change.new else None,
            )
            for number, change in enumerate(sorted(changes, key=lambda change: change.new is not None))
        )
        folders: dict[str, None] = {}
        for file in files:
            if file.new is not None:
                folders |= dict.fromkeys(self._list_missing_folders(file.path))
        return files, tuple(folders)

    def make_folders(self, folders: Iterable[str]) -> None:
        """Create the missing folders."""
        for folder in folders:
            (self._root / folder).mkdir(exist_ok=True)

    def write(self, file: WorkFile, *, durable: bool) -> None:
        """Write a file's new bytes to its private file.

        Raises:
            FileChanged: a file is at the path of its folder.
        """
        if file.new is None:
            return
        target = self._root / file.path
        old_status = lstat(target)
        data = self._git.convert_to_worktree(file.new[0], file.path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(_build_private_path(target, file, "new"), flags, 0o666)
        except NotADirectoryError:
            raise FileChanged(file.path) from None
        with open(descriptor, "wb") as stream:
            stream.write(data)
            new_status = os.fstat(descriptor)
            mode = self._choose_permissions(file.new[1], new_status if old_status is None else old_status)
            if mode != stat.S_IMODE(new_status.st_mode):
                os.fchmod(descriptor, mode)
            if durable:
                stream.flush()
                os.fsync(descriptor)

    def replace(self, file: WorkFile) -> None:
        """Create, replace or remove a file atomically.

        Raises:
            FileChanged: the file differs from the base.
        """
        target = self._root / file.path
        backup, new_file = _build_private_path(target, file, "old"), _build_private_path(target, file, "new")
        status = lstat(target)
        if not self._matches_old(file.path, file.old):
            raise FileChanged(file.path)
        if status is None:
            new_link = _build_private_path(target, file, "put")
            if file.new is not None:
                link_or_copy(new_file, new_link)
                if not create_atomically(new_link, target):
                    raise FileChanged(file.path)
            return
        if file.new is None:
            os.rename(target, backup)
            if not is_unchanged(lstat(backup), status):
                create_atomically(backup, target)
                raise FileChanged(file.path)
        elif not replace_atomically(new_file, backup, target, status):
            raise FileChanged(file.path)
        self._backup_statuses[file.path] = backup.lstat()

    def check_replaced(self, files: Iterable[WorkFile]) -> None:
        """Raise FileChanged if a program has written to an old file that it had opened before."""
        for file in files:
            status = self._backup_statuses.get(file.path)
            if status is not None and not is_unchanged(
                lstat(_build_private_path(self._root / file.path, file, "old")), status
            ):
                raise FileChanged(file.path)

    def sync_folders(self, files: Iterable[WorkFile]) -> None:
        """Sync the names of these files, and those of their folders, to the disk."""
        folders = {self._root}
        for file in files:
            folder = (self._root / file.path).parent
            while folder != self._root:
                folders.add(folder)
                folder = folder.parent
        for folder in sorted(folders):
            if folder.is_dir():
                sync_to_disk(folder)

    def roll_back(self, file: WorkFile, *, restore: bool) -> None:
        """Remove a file's private files; with `restore`, restore its old state first.

        The old file is restored only if the new file, or no file, is at its path, so that later changes by a
        user are preserved. The call may be repeated after a failure.
        """
        if not self._has_real_folders(file.path):
            return
        target = self._root / file.path
        backup, new_file = _build_private_path(target, file, "old"), _build_private_path(target, file, "new")
        if restore and file.old is None:
            # A file under another spelling is a file that the batch would have removed, so it stays.
            has_other_spelling = self._find_disk_name(file.path) is not None
            if lstat(new_file) is not None and self._has_new_content(target, file) and not has_other_spelling:
                target.unlink()
        elif restore and lstat(backup) is not None:
            is_free = lstat(target) is None
            # Before the swap with the old file, `backup` is a link to the new file.
            if (is_free or self._has_new_content(target, file)) and not self._has_new_content(backup, file):
                os.rename(backup, target)
        self.remove_private_files(file)

    def remove_private_files(self, file: WorkFile) -> None:
        """Remove a file's private files."""
        for suffix in ("put", "old", "new"):
            with contextlib.suppress(NotADirectoryError):
                _build_private_path(self._root / file.path, file, suffix).unlink(missing_ok=True)

    def finish(self, file: WorkFile) -> None:
        """Remove a file's private files after the commit, and the folders that its removal has emptied.

        Data that a program wrote into the old file after the last check is saved as `.orig` next to it.
        """
        if not self._has_real_folders(file.path):
            return
        target = self._root / file.path
        backup, status = _build_private_path(target, file, "old"), self._backup_statuses.get(file.path)
        if status is not None and not is_unchanged(lstat(backup), status):
            os.rename(backup, find_free_name(target.with_name(f"{target.name}.orig")))
        self.remove_private_files(file)
        if file.new is None:
            folder = (self._root / file.path).parent
            with contextlib.suppress(OSError):
                while folder != self._root:
                    with contextlib.suppress(FileNotFoundError):  # a crash interrupted an earlier removal
                        folder.rmdir()
                    folder = folder.parent

    def remove_folders(self, folders: Iterable[str]) -> None:
        """Remove those of these folders that are empty."""
        for folder in reversed(tuple(folders)):
            with contextlib.suppress(OSError):
                (self._root / folder).rmdir()

    def _matches_old(self, path: str, old: tuple[str, int] | None) -> bool:
        """Return True if the file at a path has this blob and mode for Git; None means no file."""
        file = self._root / path
        if not self._has_real_folders(path):
            return False
        status = lstat(file)
        if status is None or old is None:
            return status is None and old is None
        id, mode = old
        if not stat.S_ISREG(status.st_mode):
            return False
        if self._uses_modes and self._is_executable(status) != (mode == EXECUTABLE_MODE):
            return False
        return self._git.hash_worktree_file(file.read_bytes(), file, path) == id

    def _choose_permissions(self, mode: int, existing_status: os.stat_result) -> int:
        """Return the permissions of a new file: those of `existing_status`, executable if Git's mode is."""
        permissions = stat.S_IMODE(existing_status.st_mode)
        if not self._uses_modes or self._is_executable(existing_status) == (mode == EXECUTABLE_MODE):
            return permissions
        # Users who may read the file may execute it, as after a checkout by Git.
        return permissions | (permissions & 0o444) >> 2 if mode == EXECUTABLE_MODE else permissions & ~0o111

    @staticmethod
    def _is_executable(status: os.stat_result) -> bool:
        return bool(status.st_mode & stat.S_IXUSR)

    def _has_new_content(self, target: Path, file: WorkFile) -> bool:
        """Return True if a file has exactly the new bytes and the new mode."""
        status = lstat(target)
        if file.new is None or status is None or not stat.S_ISREG(status.st_mode):
            return False
        if self._uses_modes and self._is_executable(status) != (file.new[1] == EXECUTABLE_MODE):
            return False
        return target.read_bytes() == self._git.convert_to_worktree(file.new[0], file.path)

    def _find_disk_name(self, path: str) -> str | None:
        """Return the name on disk of a file that exists under another spelling, or None."""
        file = self._root / path
        if lstat(file) is None:
            return None
        names = os.listdir(file.parent)
        # HFS+ lists names in another Unicode normalization than that of the path.
        if unicodedata.normalize("NFC", file.name) in (unicodedata.normalize("NFC", name) for name in names):
            return None
        disk_name = {fold_name(name): name for name in names}.get(fold_name(file.name))
        return None if disk_name is None else path[: len(path) - len(file.name)] + disk_name

    def _list_missing_folders(self, path: str) -> list[str]:
        names = path.split("/")[:-1]
        folders = ["/".join(names[: depth + 1]) for depth in range(len(names))]
        return [folder for folder in folders if not (self._root / folder).is_dir()]

    def _has_real_folders(self, path: str) -> bool:
        """Return True if no folder above a path is a symbolic link or another file."""
        folder = str(self._root)
        for name in path.split("/")[:-1]:
            folder = f"{folder}/{name}"
            try:
                mode = os.lstat(folder).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return True
            if not stat.S_ISDIR(mode):
                return False
        return True


def _build_private_path(target: Path, file: WorkFile, suffix: str) -> Path:
    return target.with_name(f"{file.name}.{suffix}")


OLD_INDEX_NAME = "index.old"
"""The file name of the backup of Git's index in a staging folder."""


class WorktreeConflict(WorkspaceError):
    """An error: the batch would write changed, staged or untracked files of a user; `paths` lists them."""

    code: ClassVar[str] = "WORKTREE_CONFLICT"

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            "the work tree has uncommitted changes to these files, so nothing was written: "
            + ", ".join(f"`{path}`" for path in self.paths),
            fix="Commit, stash or remove those changes, then try again.",
            paths=list(self.paths),
        )


class WorktreeBusy(WorkspaceError):
    """An error: a work tree whose state prevents a write; `reason` is the state."""

    code: ClassVar[str] = "WORKTREE_BUSY"

    def __init__(self, reason: str, *, fix: str = "Finish or abort the operation, then try again.") -> None:
        super().__init__(f"the work tree cannot be written now: {reason}", fix=fix, reason=reason)
        self.reason = reason


class Checkout:
    """One work tree during its change from the base of a batch to the commit.

    `prepare` and `recheck` read the work tree, and write only to the staging folder. `apply` changes files
    and Git's index, and `recovery` rolls these changes back, as after a crash. The caller acquires the lock
    of Git's index before `recheck`, and releases it at the end.
    """

    def __init__(self, store: GitStore, worktree: Worktree, changes: tuple[FileChange, ...]) -> None:
        if not worktree.path.is_dir():
            raise WorktreeBusy(
                "its folder is missing", fix="Restore the folder, or run `git worktree prune`."
            )
        self.worktree = worktree
        self._git = store.for_worktree(worktree)
        self._git.refresh()
        self._changes = changes
        self._removed_paths = frozenset(change.path for change in changes if change.new is None)
        self._index_path = worktree.git_dir / "index"
        self._files = WorkFiles(self._git, worktree.path)
        self._old_index_data: bytes | None = None
        self._index = IndexFile.empty()

    def prepare(self, staging_folder: StagingFolder, index_name: str) -> None:
        """Compare the work tree with the base, and write Git's new index to a file `index_name`.

        Raises:
            InvalidPath: not every system can store a path.
            WorktreeBusy: an operation is in progress, or the kind of checkout, Git's index or a file prevents
                the write.
            WorktreeConflict: a file of the batch differs from the base, in Git's index or in the work tree.
        """
        self._check_state()
        self._check_file_kinds()
        self._old_index_data = self._read_index()
        index = self._parse_index(self._old_index_data)
        self._compare_with_base(index)
        try:
            self._index = index.with_changes(
                {change.path: (change.new, change.mode) if change.new else None for change in self._changes}
            )
        except PathOccupied as error:
            raise WorktreeConflict([error.path]) from None
        path = staging_folder.write(index_name, self._index.data, old_file=self._index_path)
        if self._old_index_data is not None:
            # For Git, an entry is unchanged if its file is older than the index. So the new index gets the
            # time of the old one; a newer time would hide a change that a user made right before.
            mtime = self._index_path.stat().st_mtime_ns
            os.utime(path, ns=(mtime, mtime))

    def add_to_journal(self, journal: Journal, index_name: str) -> Journal:
        """Return the journal with the changes to this work tree."""
        files, folders = self._files.plan_replacements(self._changes)
        return replace(
            journal,
            git_dir=os.path.relpath(self.worktree.git_dir, self._git.common_dir),
            index=index_name,
            had_index=self._old_index_data is not None,
            files=files,
            folders=folders,
        )

    def recheck(self) -> bool:
        """Compare again, under the lock; return False if Git's index has changed since `prepare`.

        Raises WorktreeBusy, WorktreeConflict.
        """
        self._check_state()
        if self._read_index() != self._old_index_data:
            return False
        self._check_conflicts(
            change.path
            for change in self._changes
            if not self._files.is_unchanged(change, self._removed_paths)
        )
        return True

    def apply(self, journal: Journal, staging_folder: StagingFolder) -> None:
        """Write and remove the files, then install Git's new index.

        Raises:
            WorktreeConflict: a file has changed meanwhile.
        """
        assert journal.index is not None
        staging_folder.back_up(OLD_INDEX_NAME, self._index_path)
        try:
            self._files.make_folders(journal.folders)
            # Steps that need disk space are done first.
            for file in journal.files:
                self._files.write(file, durable=staging_folder.durable)
            for file in journal.files:
                self._files.replace(file)
            if staging_folder.durable:
                self._files.sync_folders(journal.files)
            staging_folder.install(journal.index, self._index_path)
            if staging_folder.durable:
                sync_to_disk(self._index_path.parent)
            self._files.check_replaced(journal.files)
        except FileChanged as error:
            raise WorktreeConflict([error.path]) from None

    def finish(self, journal: Journal) -> None:
        """Remove the backups for a rollback after a complete publication."""
        self._git.cache_index(self._index)
        for file in journal.files:
            self._files.finish(file)

    def _check_state(self) -> None:
        operation = find_unfinished_operation(self.worktree.git_dir)
        if operation is not None:
            raise WorktreeBusy(f"{operation} is in progress")
        if self._git.config_flag("core.sparseCheckout"):
            raise WorktreeBusy("it is a sparse checkout", fix="Run `git sparse-checkout disable`.")

    def _read_index(self) -> bytes | None:
        try:
            return self._index_path.read_bytes()
        except FileNotFoundError:
            return None

    def _parse_index(self, data: bytes | None) -> IndexFile:
        try:
            index = IndexFile.empty() if data is None else self._git.parse_index(data)
        except SplitIndex as error:
            raise WorktreeBusy("its index is split", fix=f"Run `{error.fix}`.") from None
        except DamagedRepository as error:
            raise WorktreeBusy("its index cannot be read", fix=f"Run `{error.fix}` there.") from None
        if index.is_conflicted:
            raise WorktreeBusy("it has unmerged files", fix="Resolve these files, then try again.")
        return index

    def _check_file_kinds(self) -> None:
        for change in self._changes:
            check_path(change.path)
            modes = [change.mode, *([change.old.mode] if change.old else [])]
            if any(mode in (LINK_MODE, SUBMODULE_MODE) for mode in modes):
                raise WorktreeBusy(
                    f"`{change.path}` is a link or a submodule, which only Git can check out",
                    fix="Merge with git merge, or switch the work tree to another branch.",
                )

    def _compare_with_base(self, index: IndexFile) -> None:
        for change in self._changes:
            entry = index.entry(change.path)
            if entry is not None and entry.skip_worktree:
                raise WorktreeBusy(
                    f"`{change.path}` is marked as skip-worktree",
                    fix=f"Run `git update-index --no-skip-worktree {change.path}`.",
                )
        self._check_conflicts(
            change.path
            for change in self._changes
            if not _matches_base(index, change) or not self._files.is_unchanged(change, self._removed_paths)
        )
        for change in self._changes:
            if change.new is not None and self._git.has_foreign_filter(change.path):
                raise WorktreeBusy(
                    f"`{change.path}` has a filter or an encoding that only Git can apply",
                    fix="Remove the attribute from `.gitattributes`.",
                )

    @staticmethod
    def _check_conflicts(paths: Iterable[str]) -> None:
        conflicts = tuple(paths)
        if conflicts:
            raise WorktreeConflict(conflicts)


def _matches_base(index: IndexFile, change: FileChange) -> bool:
    entry = index.entry(change.path)
    if entry is None or change.old is None:
        return entry is None and change.old is None
    return (entry.id, entry.mode) == (change.old.id, change.old.mode) and not entry.intent_to_add
