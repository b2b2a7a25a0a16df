"""The workspace: one branch of one repository, read through snapshots and written batch by batch."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workspace.addresses import nearest
from workspace.errors import WorkspaceError
from workspace.git import GitReader, GitStore
from workspace.snapshot import DocumentCache, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from workspace.edits import Operation
    from workspace.plan import Mode
    from workspace.publishing import Recovered
    from workspace.requests import Request, RequestLog
    from workspace.sight import Sight
    from workspace.writing import Written

FALLBACK_AUTHOR = ("Docyard", "docyard@localhost")
_PATIENCE = 30.0  # seconds to wait for the writers of this process


class BranchNotFound(WorkspaceError):
    """The repository has no branch of this name. `branches` are the nearest that it has."""

    code = "BRANCH_NOT_FOUND"


class Workspace:
    """A served branch: the one that was named, else whichever is checked out. Safe in several threads."""

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        self.git = git
        self.durable = durable
        self._named = branch
        self._cache = DocumentCache()
        self._latest: Snapshot | None = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._requests: RequestLog | None = None

    @classmethod
    def open(
        cls, path: Path, *, branch: str | None = None, read_only: bool = False, durable: bool = True
    ) -> Workspace:
        """Opens the repository of a folder. Unless a branch is named, the checked-out one is served.

        A read-only workspace holds an object that has no write methods.
        Raises NotARepository, UnsupportedRepository, BranchNotFound.
        """
        git = GitReader(path) if read_only else GitStore(path)
        if branch is not None:
            branch = branch.removeprefix("refs/heads/")
            if branch != git.head().branch and git.tip(branch) is None:
                branches = git.branches()
                if branch in branches:
                    raise BranchNotFound(
                        f"'{branch}' is only another name (a symbolic ref) for a branch",
                        fix="Name the branch that it leads to.",
                    )
                close = nearest(branch, branches)
                fix = f"Did you mean '{close[0]}'?" if close else "Make it with git branch first."
                raise BranchNotFound(f"no branch '{branch}'", fix=fix, branches=close)
        return cls(git, branch=branch, durable=durable)

    @property
    def branch(self) -> str | None:
        """The served branch; unless it was named, a `git switch` changes it. None on a detached HEAD."""
        return self._named if self._named is not None else self.git.head().branch

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written through this object."""
        return not isinstance(self.git, GitStore)

    @property
    def name(self) -> str:
        """The name of the repository's folder."""
        home = self.git.worktree or self.git.common_dir
        return home.name.removesuffix(".git") or home.parent.name

    def tip(self) -> str | None:
        """The commit that is served now; None before the first."""
        return self.git.head().commit if self._named is None else self.git.tip(self._named)

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """A commit to read: the tip of the served branch unless one is named."""
        wanted = commit or self.tip()
        with self._lock:
            if self._latest is None or self._latest.commit != wanted:
                latest = Snapshot(self.git, wanted, self._cache, self._latest)
                if commit is not None:
                    return latest
                self._latest = latest
            return self._latest

    def exists(self, commit: str) -> bool:
        """Whether a commit is still in the repository."""
        return self.git.has(commit)

    def author(self) -> tuple[str, str]:
        """Name and address that commits carry: Git's configured identity, else Docyard's own."""
        return self.git.identity() or FALLBACK_AUTHOR

    def recover(self) -> Recovered | None:
        """Mends what a writer that died in the middle of a commit left; each write does so first, too.

        None where this workspace writes nothing. Raises Locked, CannotWrite.
        """
        from workspace.publishing import recover

        return recover(self.git) if isinstance(self.git, GitStore) else None

    def write(
        self,
        operations: Sequence[Operation | WorkspaceError],
        *,
        mode: Mode,
        tool: str,
        client: str,
        message: str | None = None,
        dry_run: bool = False,
        base_commit: str | None = None,
        sight: Sight | None = None,
        request: Request | None = None,
    ) -> Written:
        """Runs operations over the tip and commits what they change, as one commit.

        Words are overwritten only if they stood there in `base_commit`, or if they are in `sight`, the memory
        of the client; with neither, none are. What is committed is entered there. Addresses mean what they
        mean in `base_commit`.

        A `request` that this branch's history holds is not done again; its record is answered. A dry run
        neither looks for one nor leaves one.

        Raises ReadOnly, DetachedHead, SigningRequired, UnknownCommit, LimitExceeded, KeyReused, Busy, and
        what `Publication` raises.
        """
        from workspace.writing import Call

        call = Call(
            workspace=self,
            operations=operations,
            mode=mode,
            tool=tool,
            client=client,
            message=message,
            dry_run=dry_run,
            base_commit=base_commit,
            sight=sight,
            request=request,
        )
        with self._turn():
            return call.write()

    def requests(self) -> RequestLog:
        """The log of keyed requests, made when the first key is used: reading it is not free."""
        from workspace.requests import RequestLog

        if self._requests is None:
            self._requests = RequestLog(self.git)
        return self._requests

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One writer of this process at a time. Raises Busy."""
        if not self._writing.acquire(timeout=_PATIENCE):
            from workspace.writing import Busy

            raise Busy("other calls are being written, one after the other")
        try:
            yield
        finally:
            self._writing.release()
