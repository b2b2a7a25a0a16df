"""The workspace: one branch of one repository, read through snapshots and written batch by batch."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.branch import check_branch, check_named, check_there, deleted
from workspace.git.objects import Head
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.lru_cache import LRUCache
from workspace.publishing.locks import Turn
from workspace.snapshot.snapshot import DocumentCache, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from workspace.edits import Operation
    from workspace.errors import WorkspaceError
    from workspace.git.trees import Whole
    from workspace.history.log import History
    from workspace.history.moves import Moves
    from workspace.links.inbound import Inbound
    from workspace.policy.tokens import Person
    from workspace.proposals.actions.actions import Announced, Proposing
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.review import Reviewing
    from workspace.publishing.recovery import Recovered
    from workspace.sync.status import Standing
    from workspace.writing.idempotency import Request, RequestLog
    from workspace.writing.plan import Mode
    from workspace.writing.read_before_write import Sight
    from workspace.writing.write import Written

    Guard = Callable[[Snapshot, Mapping[str, bytes | Whole | None]], None]

FALLBACK_AUTHOR = ("Docyard", "docyard@localhost")
_DATES = 100  # each of which is looked for along the history
_OTHERS = 64  # branches beside the served one whose workspaces are kept


@dataclass(slots=True)
class _Made:
    """What is made when it is first asked for, and is the same for all branches of a repository."""

    requests: RequestLog | None = None
    moves: Moves | None = None
    history: History | None = None
    inbound: Inbound | None = None
    proposing: Proposing | None = None
    reviewing: Reviewing | None = None


class Workspace:
    """A served branch: the one that was named, else whichever is checked out. Safe in several threads.

    Each of `guards` is asked in a writer's turn, beside the policy, about changes on top of a commit.
    """

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        self.git = git
        self.durable = durable
        self._named = branch
        self.turn = Turn()  # of this process; `write` takes it by itself
        self._cache = DocumentCache()
        self._latest: Snapshot | None = None
        self._lock = threading.Lock()
        self._made = _Made()
        self._origin: Workspace | None = None  # see `on`
        self._others: LRUCache[str, Workspace] = LRUCache(_OTHERS)
        self._standing: Standing | None = None
        self.announcer: Callable[[Proposal], Announced | None] | None = None  # of who knows forges
        self.guards: list[Guard] = [lambda snapshot, changes: self.standing().guard(snapshot, changes)]
        self.dated: LRUCache[tuple[str, int], str] = LRUCache(_DATES)  # see `refs.resolve_ref`
        self._born: set[str] = set()  # the branches that were seen to have a commit

    @classmethod
    def open(
        cls, path: Path, *, branch: str | None = None, read_only: bool = False, durable: bool = True
    ) -> Workspace:
        """Open the repository of a folder. Unless a branch is named, the checked-out one is served.

        A read-only workspace holds an object that has no write methods.
        Raises NotARepository, UnsupportedRepository, BranchNotFound.
        """
        git = GitReader(path) if read_only else GitStore(path)
        if branch is not None:
            branch = branch.removeprefix("refs/heads/")
            check_named(git, branch)
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
            check_there(self.git)
            raise
        if head.commit is not None:
            if head.branch is not None:
                self._born.add(head.branch)
            return head.commit
        check_there(self.git)
        if head.branch is not None and head.branch in self._born:
            is_served = self._origin is None
            raise deleted(self.git, head.branch, is_named=head.branch == self._named, is_served=is_served)
        return None

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """Return a commit to read: the tip of the served branch unless one is named."""
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
        from workspace.errors import InvalidConfig
        from workspace.revisions import find_ref

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
        """Return True if a commit is still in the repository."""
        return self.git.has(commit)

    def author(self) -> tuple[str, str]:
        """Name and address that commits carry: Git's configured identity, else Docyard's own."""
        return self.git.identity() or FALLBACK_AUTHOR

    def on(self, branch: str) -> Workspace:
        """Return another branch of the repository, with the same caches and turn. Raises BranchNotFound."""
        origin = self._origin or self
        check_branch(self.git, branch)
        with origin._lock:  # so that it is one object for all threads
            other = origin._others.get(branch, origin._beside, branch)
        other.tip()
        return other

    def _beside(self, branch: str) -> Workspace:
        other = Workspace(self.git, branch=branch, durable=self.durable)
        other._cache, other._latest, other._made = self._cache, self._latest, self._made
        other.turn, other._origin = self.turn, self
        return other

    def recover(self) -> Recovered | None:
        """Mend what a writer that died in the middle of a commit left; each write does so first, too.

        None where this workspace writes nothing. Raises Locked, CannotWrite.
        """
        from workspace.publishing.recovery import recover

        return recover(self.git) if isinstance(self.git, GitStore) else None

    def restore_pruned(self) -> bool:
        """Write the objects again that `git prune` removed of the branches; return True if some came back.

        This is for a call that met a missing object. A read-only workspace restores nothing.
        """
        from workspace.publishing.recovery import mend_pruned

        return isinstance(self.git, GitStore) and mend_pruned(self.git)

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
        person: Person | None = None,
    ) -> Written:
        """Run operations over the tip and commits what they change, as one commit.

        Words are overwritten only if they stood there in `base_commit`, or are in `sight`, the memory of the
        client, in which what is committed is entered. Addresses mean what they mean in `base_commit`.

        A `request` that this branch's history holds is not done again; its record is answered. A dry run
        neither looks for one nor leaves one. The author is the `person` that a token has proved, else Git's.

        Raises Protected for what only a proposal may change, what a guard raises, ReadOnly, DetachedHead,
        SigningRequired, UnknownCommit, LimitExceeded, KeyReused, Busy, and what `Publication` raises.
        """
        from workspace.writing.write import Call

        with self.turn:
            return Call(
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
                person=person,
            ).write()

    def requests(self) -> RequestLog:
        """Return the log of keyed requests, made when the first key is used: reading it is not free."""
        from workspace.writing.idempotency import RequestLog

        if self._made.requests is None:
            self._made.requests = RequestLog(self.git)
        return self._made.requests

    def moves(self) -> Moves:
        """Return where old addresses lead, made when the first is asked for: the history is read for it."""
        from workspace.history.moves import Moves

        if self._made.moves is None:
            self._made.moves = Moves(self.git)
        return self._made.moves

    def history(self) -> History:
        """Return what changed a document or section, made when it is first asked for. Raises NoHistory."""
        from workspace.history.log import History

        if self._made.history is None:
            self._made.history = History(self.git)
        return self._made.history

    def proposing(self) -> Proposing:
        """Return what one does with the proposals of the repository, made when it is first asked for."""
        from workspace.proposals.actions.actions import Proposing

        if self._made.proposing is None:
            self._made.proposing = Proposing(self._origin or self)
        return self._made.proposing

    def reviewing(self) -> Reviewing:
        """Return what a reviewer sees of proposals, made when it is first asked for."""
        from workspace.proposals.review.review import Reviewing

        if self._made.reviewing is None:
            self._made.reviewing = Reviewing(self._origin or self)
        return self._made.reviewing

    def standing(self) -> Standing:
        """How the branch stands to its remote, as that was last seen; made when it is first asked for."""
        from workspace.sync.status import Standing

        with self._lock:  # one only: who exchanges with the remote notes there how that went
            if self._standing is None:
                self._standing = Standing(self)
            return self._standing

    @property
    def inbound(self) -> Inbound:
        """What tells which documents may link to a path: a look at all of them, unless another is set."""
        if self._made.inbound is None:
            from workspace.links.inbound import ScannedInbound

            self._made.inbound = ScannedInbound()
        return self._made.inbound

    @inbound.setter
    def inbound(self, inbound: Inbound) -> None:
        self._made.inbound = inbound
