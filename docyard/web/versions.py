"""Which state of the repository a page shows, as a short text that changes when anything on pages may have.

It stands for the tips of all branches, of which any may be what a proposal goes to, and for the words and
branches of proposals that were fetched. Reading thousands of refs takes a while, so they are read only if the
folders that hold them look different: Git renames a finished file over a ref, and that changes its folder's
time.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository
from workspace.proposal_ids import BRANCHES, DISCUSSION

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.workspace import Workspace

_CLOCK = 2_000_000_000  # ns; a folder that changed this lately may change again within one tick of its clock
_TRUSTED = 60.0  # seconds for which a look at folders is enough
# Seconds for which it is enough right after a change: a page that claims to be older than it is asks again.
_SHARED = 0.25

Look = tuple[tuple[str, int, int], ...]


class _Seen(NamedTuple):
    """What was read, what the folders looked like just before, and when that was (monotonic seconds)."""

    workspace: Workspace
    look: Look
    version: str
    at: float


class Versions:
    """The version of what is served, now. Safe in several threads."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None
        self._lock = threading.Lock()

    def now(self, workspace: Workspace) -> str:
        """The version of the state as it is; an empty text where it cannot be told."""
        look, is_settled = _look(workspace.git)
        trusted = _TRUSTED if is_settled else _SHARED
        seen = self._seen
        if (
            seen is not None
            and look
            and (seen.workspace, seen.look) == (workspace, look)
            and time.monotonic() - seen.at < trusted
        ):
            return seen.version
        with self._lock:
            at = time.monotonic()
            try:
                version = _read(workspace)
            except WorkspaceError:  # whoever asks for a page is told why
                return ""
            self._seen = _Seen(workspace, look, version, at)
        return version

    def forget(self) -> None:
        """Read it anew next time: who has just written sees it, however coarse the clock of folders is."""
        with self._lock:  # in which another reads what may be older
            self._seen = None


def _look(git: GitReader) -> tuple[Look, bool]:
    """What the files and folders of refs look like from outside, and whether that shows each change.

    Nothing where there are none, as in an artifact.
    """
    found: list[tuple[str, int, int]] = []
    try:
        for file in (git.git_dir / "HEAD", git.common_dir / "packed-refs"):
            if file.exists():
                status = file.stat()
                found.append((str(file), status.st_mtime_ns, status.st_size))
        folders: list[Path | str] = [git.common_dir / "refs"]
        while folders:
            folder = folders.pop()
            found.append((str(folder), os.stat(folder).st_mtime_ns, 0))
            with os.scandir(folder) as entries:
                folders += sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return (), False
    newest = max(changed for _, changed, _ in found)
    return tuple(found), time.time_ns() - newest >= _CLOCK


def _read(workspace: Workspace) -> str:
    """Read the refs that pages show. Raises what reading them raises."""
    git, tip = workspace.git, workspace.tip()
    refs = [f"refs/heads/{name}" for name in git.branches()]
    refs += [f"refs/remotes/{name}" for name in git.ref_names() if _is_of_proposals(name.partition("/")[2])]
    tips = "".join(f"\n{ref} {_commit(git, ref)}" for ref in refs)
    state = f"{workspace.branch} {tip}{tips}"
    return hashlib.sha256(state.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _commit(git: GitReader, ref: str) -> str | None:
    with suppress(DamagedRepository):  # whoever reads that branch is told
        return git.commit_at(ref)
    return None


def _is_of_proposals(branch: str) -> bool:
    return branch == DISCUSSION or branch.startswith(BRANCHES)
