"""The files of a work tree: compared with a commit, written, removed, and brought back."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from workspace.git import GitStore
from workspace.objects import EXECUTABLE_MODE
from workspace.publishing.batch import FileChange


class Changed(Exception):
    """A file is no longer what it was when it was compared."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class WorkFiles:
    """The files below one folder, and what to do to bring them back."""

    def __init__(self, git: GitStore, root: Path) -> None:
        self._git = git
        self._root = root
        self._modes = git.config_flag("core.fileMode", True)
        self._undo: list[Callable[[], None]] = []

    def unchanged(self, change: FileChange) -> bool:
        """Whether the file is as the base has it by Git's rules; for a new file, whether nothing is there."""
        file = self._root / change.path
        if not self._plain_folders(change.path):
            return False
        found = _lstat(file)
        if found is None or change.old is None:
            return found is None and change.old is None
        if not stat.S_ISREG(found.st_mode):
            return False
        if self._modes and bool(found.st_mode & stat.S_IXUSR) != (change.old.mode == EXECUTABLE_MODE):
            return False
        return self._git.checked_in(file.read_bytes(), file, change.path) == change.old.id

    def apply(self, change: FileChange) -> None:
        """Bring one file to the new state, through a new file and a rename: no reader sees half of it.

        Raises:
            Changed: the file is not as the base has it.
        """
        file = self._root / change.path
        found = _lstat(file)
        if not self.unchanged(change):
            raise Changed(change.path)
        before = file.read_bytes() if found is not None else None
        if change.new is None:
            if not _same(_lstat(file), found):
                raise Changed(change.path)
            self._remove(file, found, before)
            return
        self._make_folders(file.parent)
        temporary = self._write(file, self._git.checked_out(change.new, change.path), found)
        try:
            ours = temporary.lstat()
            if not _same(_lstat(file), found) or not _place(temporary, file, new=found is None):
                raise Changed(change.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._undo.append(lambda: self._restore(file, ours, found, before))

    def undo(self) -> None:
        """Bring back what `apply` changed, the last first; what a person changed since then stays."""
        while self._undo:
            step = self._undo.pop()
            # One file that cannot be brought back must not keep the others from it.
            with contextlib.suppress(OSError):
                step()

    def _remove(self, file: Path, found: os.stat_result | None, before: bytes | None) -> None:
        file.unlink()
        self._undo.append(lambda: self._restore(file, None, found, before))
        with contextlib.suppress(OSError):
            folder = file.parent
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent

    def _restore(
        self, file: Path, ours: os.stat_result | None, found: os.stat_result | None, before: bytes | None
    ) -> None:
        if not _same(_lstat(file), ours):
            return
        if found is None or before is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._write(file, before, found)
        os.utime(temporary, ns=(found.st_atime_ns, found.st_mtime_ns))
        os.rename(temporary, file)

    def _write(self, file: Path, data: bytes, like: os.stat_result | None) -> Path:
        temporary = file.with_name(f".docyard-{secrets.token_hex(8)}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with open(handle, "wb") as stream:
                stream.write(data)
                if like is not None:
                    os.fchmod(handle, stat.S_IMODE(like.st_mode))
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def _make_folders(self, folder: Path) -> None:
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for new in reversed(missing):
            new.mkdir()
            self._undo.append(new.rmdir)

    def _plain_folders(self, path: str) -> bool:
        folder = self._root
        for name in path.split("/")[:-1]:
            folder = folder / name
            found = _lstat(folder)
            if found is None:
                return True
            if not stat.S_ISDIR(found.st_mode):
                return False
        return True


def _place(temporary: Path, file: Path, *, new: bool) -> bool:
    """Give a finished file its name; False if it is to be new there and another stands in its place."""
    if new:
        try:
            os.link(temporary, file)
        except FileExistsError:
            return False
        except OSError:
            # Some file systems have no hard links; there the look just before has to do.
            pass
        else:
            temporary.unlink()
            return True
    os.rename(temporary, file)
    return True


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _same(one: os.stat_result | None, two: os.stat_result | None) -> bool:
    if one is None or two is None:
        return one is two
    return (one.st_ino, one.st_mtime_ns, one.st_size) == (two.st_ino, two.st_mtime_ns, two.st_size)
