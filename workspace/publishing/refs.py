"""The branch's ref as a file: where it goes, what may stand in its way, and the rename that moves it."""

from __future__ import annotations

import contextlib
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git import GitReader
from workspace.publishing.locks import LinkedLock
from workspace.publishing.prepared import Prepared, is_below_a_link, remove_empty, sync

_ATTEMPTS = 5


class InvalidBranch(WorkspaceError):
    """Git does not accept this as the name of a branch (git-check-ref-format)."""

    code: ClassVar[str] = "INVALID_BRANCH"

    def __init__(self, branch: str) -> None:
        super().__init__(
            "Git does not accept this name for a branch", fix="Use a name such as `main`.", branch=branch
        )


class RefConflict(WorkspaceError):
    """A branch of this name cannot be made, because of another branch or a symbolic ref."""

    code: ClassVar[str] = "REF_CONFLICT"

    def __init__(self, branch: str, other: str, why: str) -> None:
        super().__init__(
            f"the branch `{branch}` cannot be written: {why}",
            fix="Choose another branch.",
            branch=branch,
            other=other,
        )


class BranchRef:
    """The file of one branch's ref, and its lock."""

    def __init__(self, git: GitReader, branch: str, prepared: Prepared) -> None:
        self._git = git
        self._branch = branch
        self._prepared = prepared
        self._root = git.common_dir / "refs" / "heads"
        self._path = self._root / branch
        self._lock = LinkedLock(prepared.claim, self._path, git.common_dir)

    def take(self) -> None:
        """Take the ref's lock, having cleared empty folders of a branch that is gone out of its way."""
        check_place(self._git, self._branch)
        for attempt in range(_ATTEMPTS):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._lock.take()
                break
            except (FileNotFoundError, FileExistsError):
                # `git pack-refs` removes folders that it has emptied.
                if attempt == _ATTEMPTS - 1:
                    raise
        if self._path.is_dir():
            remove_empty(self._path)

    def release(self) -> bool:
        """Give the lock up, and remove the folders that only it had needed; False if that failed."""
        released = self._lock.release()
        folder = self._path.parent
        with contextlib.suppress(OSError):
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent
        return released

    def prepare(self, commit: str, name: str) -> None:
        """Write the finished ref under this name in the private folder."""
        self._prepared.write(name, f"{commit}\n".encode(), like=self._path)

    def move(self, name: str) -> None:
        """Rename the finished ref to its place: the commit point. After an error, ask the branch itself."""
        self._prepared.install(name, self._path)
        if self._prepared.durable:
            self.sync()

    def remove(self) -> bool:
        """Remove the ref's file, whose lock is held; return False where it is packed instead."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        if self._prepared.durable:
            self.sync()
        return True

    def sync(self) -> None:
        """Wait until the ref's name is on the disk."""
        folder = self._path.parent
        while folder != self._root.parent:
            if folder.is_dir():  # a branch may be packed by now
                sync(folder)
            folder = folder.parent


def check_place(git: GitReader, branch: str) -> None:
    """Raise `RefConflict` if another ref stands where this branch's would, or above or below it."""
    path = git.common_dir / "refs" / "heads" / branch
    if path.is_symlink() or is_below_a_link(path, git.common_dir):
        raise RefConflict(branch, branch, "its file is a symbolic link, or below one")
    if git.tip(branch) is not None:
        return
    if path.is_file() and path.read_bytes().startswith(b"ref:"):
        raise RefConflict(branch, branch, "it is a symbolic ref")
    for other in git.branches():
        if other.startswith(branch + "/") or branch.startswith(other + "/"):
            raise RefConflict(branch, other, f"there is a branch `{other}`")
