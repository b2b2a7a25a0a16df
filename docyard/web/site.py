"""What is served as pages, and who acts on it.

Which state of the repository a page shows, as a short text that changes when anything on pages may have.

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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.background import BackgroundQueue
from docyard.web.live import LiveUpdates
from docyard.web.summaries import LastChanges, Summaries
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.proposal_ids import BRANCHES, DISCUSSION

if TYPE_CHECKING:
    from docyard.caller import Caller
    from index.service import SearchIndex
    from workspace.git.reader import GitReader
    from workspace.proposals.actions.register import Actor
    from workspace.proposals.proposal import Proposal
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
        """Return the version of the state as it is; an empty text where it cannot be told."""
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
    """Return what the files and folders of refs look like from outside, and whether that shows each change.

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


TOOL, CLIENT = "page", "page"
"""What commits and words that are made on the page carry as their tool and client."""

_KEPT = 2  # versions, of which pages that are made at once may show two


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one server.

    `index` gives the index that serves when a request begins, with its workspace: an artifact may be swapped
    between two. `mermaid` is the operator's own script that draws diagrams, `math` whether formulas are set.
    `written` is called after each write, as after a call of a tool. `close` belongs to the server's end.
    """

    index: Callable[[], SearchIndex]
    read_only: bool
    mermaid: bytes | None = None
    math: bool = False
    written: Callable[[], object] = field(default=lambda: None)
    summaries: Summaries = field(default_factory=Summaries)
    changed: LastChanges = field(default_factory=LastChanges)
    versions: Versions = field(default_factory=Versions)
    live: LiveUpdates = field(default_factory=LiveUpdates)
    background: BackgroundQueue = field(default_factory=BackgroundQueue)
    _proposals: LRUCache[str, tuple[Proposal, ...]] = field(
        init=False, default_factory=lambda: LRUCache(_KEPT)
    )

    @property
    def is_reading(self) -> bool:
        """Return True if something is being read yet that pages show when it is known."""
        return self.background.is_busy or self.index().links.is_reading

    def state(self) -> tuple[str, str | None]:
        """Return the version of what is served, and the commit of its tip. Raises WorkspaceError."""
        workspace = self.index().workspace
        return self.versions.now(workspace), workspace.tip()

    def close(self) -> None:
        """End what goes on beside requests: pages that listen, and reading ahead."""
        self.live.close()
        self.summaries.close()
        self.background.close()

    def proposals_at(self, workspace: Workspace, version: str) -> tuple[Proposal, ...]:
        """Every proposal, the one that was opened last first, as of a version; as of now where that is empty.

        To read thousands of refs takes longer than the rest of a page; the version stands for them.
        """
        proposing = workspace.proposing()
        return self._proposals.get(version, proposing.all) if version else proposing.all()

    def actor(self, workspace: Workspace, caller: Caller) -> Actor:
        """Who acts: the person whose token was shown, else whoever Git's settings name, as at a shell."""
        from workspace.proposals.actions.register import Actor
        from workspace.proposals.events import Author, KnownBy

        person = caller.person
        if person is None:
            return Actor(Author(*workspace.author(), KnownBy.GIT), TOOL, CLIENT)
        author = Author(person.name, person.email, KnownBy.TOKEN, person.token)
        return Actor(author, TOOL, CLIENT, person)
