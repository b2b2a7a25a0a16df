"""The refs that tell what was seen of a remote are moved one at a time, and it is noted which one is.

libgit2 makes a lock for each. A process that is killed in between leaves it, and the note proves whose it
was: a name, and the bytes that were to be written. The lock of another program is waited for, and stays.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.publishing.locks import WAIT_FOR_GIT, Locked, shown

if TYPE_CHECKING:
    from workspace.git.remotes.remote import GitRemotes

_NOTE = "docyard/sync.moving"
_PAUSE = 0.02
_ATTEMPTS = 5  # while nothing is seen to hold the lock


class RefNotMoved(WorkspaceError):
    """A ref that tells what a remote has could not be written, so that nothing was made of what was seen."""

    code: ClassVar[str] = "REF_NOT_MOVED"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"the ref `{ref[:200]}` could not be written",
            fix="Run git fetch there: it says what stands in the way, such as another ref of that name.",
            ref=ref,
        )


class Moving:
    """Moves refs of one repository for who holds the turn of synchronisation.

    The first thing is to remove the lock that a process left which died in the middle of it.
    """

    def __init__(self, remotes: GitRemotes, common_dir: Path) -> None:
        self._remotes = remotes
        self._common_dir = common_dir
        self._note = common_dir / _NOTE
        self._recover()

    def move(self, ref: str, commit: str | None, *, was: str | None) -> None:
        """Move a ref from where it was, or remove it (None). Where another has moved it, it stays there.

        Raises Locked where another program holds its lock, and goes on holding it; RefNotMoved, OSError.
        """
        lock = self._lock(ref)
        self._note.write_text(f"{ref} {commit or ''}\n")
        try:
            until, unlocked = time.monotonic() + WAIT_FOR_GIT, 0
            while not self._remotes.set_ref(ref, commit, was=was):
                if self._remotes.commit_at(ref) != was:
                    return
                # Only what is there is told of, however slowly time was given to this process.
                is_held = lock.exists()
                unlocked += not is_held
                if unlocked == _ATTEMPTS:
                    raise RefNotMoved(ref)
                if is_held and time.monotonic() > until:
                    raise Locked(shown(lock, self._common_dir))
                time.sleep(_PAUSE)
        finally:
            self._note.unlink(missing_ok=True)

    def _recover(self) -> None:
        with suppress(OSError, ValueError):  # of the note; or the lock is gone
            ref, commit = self._note.read_text().rstrip("\n").split(" ")
            lock = self._lock(ref)
            if ref.startswith("refs/") and ".." not in ref:
                until = time.monotonic() + WAIT_FOR_GIT
                while lock.exists() and time.monotonic() < until:
                    time.sleep(_PAUSE)
                if f"{commit}\n".encode().startswith(lock.read_bytes()):
                    lock.unlink()
        self._note.unlink(missing_ok=True)

    def _lock(self, ref: str) -> Path:
        return self._common_dir / f"{ref}.lock"
