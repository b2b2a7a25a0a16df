"""The workspace: one branch of one repository, read through snapshots and written batch by batch."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from workspace.addresses import nearest
from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository, GitReader, GitStore
from workspace.objects import Head
from workspace.snapshot import DocumentCache, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from workspace.edits import Operation
    from workspace.history import History
    from workspace.links.inbound import Inbound
    from workspace.moves import Moves
    from workspace.plan import Mode
    from workspace.publishing import Recovered
    from workspace.requests import Request, RequestLog
    from workspace.sight import Sight
    from workspace.writing import Written

FALLBACK_AUTHOR = ("Docyard", "docyard@localhost")
_PATIENCE = 30.0  # seconds to wait for the writers of this process


class BranchNotFound(WorkspaceError):
    """The repository has no branch of this name, or no longer. `branches` are the nearest that it has."""

    code = "BRANCH_NOT_FOUND"


class RepositoryGone(WorkspaceError):
    """The repository, or the linked work tree of it that is served, is not where it was opened."""

    code = "REPOSITORY_GONE"


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
        self._moves: Moves | None = None
        self._history: History | None = None
        self._inbound: Inbound | None = None
        self.dated: dict[tuple[str, int], str] = {}  # see `refs.resolve_ref`
        self._born: set[str] = set()  # the branches that were seen to have a commit

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
        workspace = cls(git, branch=branch, durable=durable)
        with suppress(DamagedRepository):  # a torn branch is opened, and told to who reads it
            workspace.tip()
        return workspace

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

    def tip(self, branch: str | None = None) -> str | None:
        """The commit of the served branch, or of the one that is named, as it is now; None before the first.

        Raises RepositoryGone, and BranchNotFound for a branch that had a commit when it was seen last.
        """
        wanted = branch or self._named
        try:
            head = self.git.head() if wanted is None else Head(wanted, self.git.tip(wanted))
        except DamagedRepository:
            self._check_there()
            raise
        if head.commit is not None:
            if head.branch is not None:
                self._born.add(head.branch)
            return head.commit
        self._check_there()
        if head.branch is not None and head.branch in self._born:
            raise self._deleted(head.branch)
        return None

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

    def at(self, ref: str | None) -> Snapshot:
        """The commit that a ref names, to read; the tip of the served branch without one, or if it is blank.

        Raises what `refs.find_ref` raises, and InvalidConfig for a commit whose settings cannot be used.
        """
        if ref is None or not ref.strip():
            return self.snapshot()
        from workspace.config import InvalidConfig
        from workspace.refs import find_ref

        snapshot = self.snapshot(find_ref(self, ref.strip()))
        try:
            snapshot.config  # noqa: B018 - said here, where what to do about it is known
        except InvalidConfig as error:
            raise InvalidConfig(
                f"at this ref, {error.message}",
                fix="The settings of a commit stay as they are: name another ref, or leave it out.",
                **error.details,
            ) from error
        return snapshot

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

    def moves(self) -> Moves:
        """Where old addresses lead, made when the first is asked for: the history is read for it."""
        from workspace.moves import Moves

        if self._moves is None:
            self._moves = Moves(self.git)
        return self._moves

    def history(self) -> History:
        """What changed a document or section, made when it is first asked for. Raises NoHistory."""
        from workspace.history import History

        if self._history is None:
            self._history = History(self.git)
        return self._history

    @property
    def inbound(self) -> Inbound:
        """What tells which documents may link to a path: a look at all of them, unless another is set."""
        if self._inbound is None:
            from workspace.links.inbound import ScannedInbound

            self._inbound = ScannedInbound()
        return self._inbound

    @inbound.setter
    def inbound(self, inbound: Inbound) -> None:
        self._inbound = inbound

    def _check_there(self) -> None:
        """Raises RepositoryGone where the Git folders have no HEAD, which Git always has there."""
        if not os.path.lexists(self.git.common_dir / "HEAD"):
            raise RepositoryGone(
                "the repository is gone: its Git folder was moved, unmounted or deleted",
                fix="Bring it back to its place and send the same call again, or restart the server where it "
                "is now.",
            )
        if not os.path.lexists(self.git.git_dir / "HEAD"):
            raise RepositoryGone(
                "the linked work tree that is served is gone: it was removed from the repository",
                fix="Make it again with git worktree add, or restart the server in another work tree.",
            )

    def _deleted(self, branch: str) -> BranchNotFound:
        if branch == self._named:
            state = "is served"
            fix = "Restart the server with the --branch that is meant, or make it again with git branch."
        else:
            state = "is checked out"
            fix = "Switch to the one that is meant with git switch, or make a first commit with git commit."
        message = f"the branch '{branch}', which {state}, was deleted or renamed"
        return BranchNotFound(message, fix=fix, branches=nearest(branch, self.git.branches()))

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
