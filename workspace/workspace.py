"""A served branch with all that is done on it; what each of these needs is imported on first use."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from workspace.branch import Branch, check_named
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Self

    from workspace.edits import Operation
    from workspace.errors import WorkspaceError
    from workspace.history.log import History
    from workspace.history.moves import Moves
    from workspace.policy.tokens import Person
    from workspace.proposals.actions.actions import ProposalActions, PullRequestReport
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.review import ProposalReview
    from workspace.sync.status import TrackingStatus
    from workspace.writing.idempotency import Request
    from workspace.writing.plan import Mode
    from workspace.writing.read_before_write import SeenTexts
    from workspace.writing.write import WriteResult


class Workspace(Branch):
    """A served branch with all that is done on it: writing, its history, proposals, and its remote."""

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        super().__init__(git, branch=branch, durable=durable)
        self._sync_status: TrackingStatus | None = None
        self.announcer: Callable[[Proposal], PullRequestReport | None] | None = None  # of who knows forges
        self.guards["remote"] = lambda snapshot, changes: self.sync_status().check_writable(snapshot, changes)

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

    def at(self, ref: str | None) -> Snapshot:
        """The commit that a ref names, to read; the tip of the served branch without one, or if it is blank.

        Raises what `revisions.find_ref` raises, and InvalidConfig for a commit whose settings cannot be used.
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
        seen_texts: SeenTexts | None = None,
        request: Request | None = None,
        person: Person | None = None,
    ) -> WriteResult:
        """Run operations over the tip and commits what they change, as one commit.

        Words are overwritten only if they stood there in `base_commit`, or are in `seen_texts`, the memory of
        the client, in which what is committed is entered. Addresses mean what they mean in `base_commit`.

        A `request` that this branch's history holds is not done again; its record is answered. A dry run
        neither looks for one nor leaves one. The author is the `person` that a token has proved, else Git's.

        Raises Protected for what only a proposal may change, what a guard raises, ReadOnly, DetachedHead,
        SigningRequired, UnknownCommit, LimitExceeded, KeyReused, Busy, and what `Publication` raises.
        """
        from workspace.writing.write import WriteRequest

        with self.turn:
            return WriteRequest(
                workspace=self,
                operations=operations,
                mode=mode,
                tool=tool,
                client=client,
                message=message,
                dry_run=dry_run,
                base_commit=base_commit,
                seen_texts=seen_texts,
                request=request,
                person=person,
                check_new=lambda request: self.proposing().check_not_proposed(request),
            ).write()

    def moves(self) -> Moves:
        """Return where old addresses lead, made when the first is asked for: the history is read for it."""
        from workspace.history.moves import Moves

        return self.shared(Moves, lambda: Moves(self.git))

    def history(self) -> History:
        """Return what changed a document or section, made when it is first asked for. Raises NoHistory."""
        from workspace.history.log import History

        return self.shared(History, lambda: History(self.git))

    def proposing(self) -> ProposalActions:
        """Return what one does with the proposals of the repository, made when it is first asked for."""
        from workspace.proposals.actions.actions import ProposalActions

        served = self.served

        def announce(proposal: Proposal) -> PullRequestReport | None:
            return served.announcer(proposal) if served.announcer is not None else None

        return self.shared(ProposalActions, lambda: ProposalActions(served, announce))

    def on_proposal(self, name: str) -> Self:
        """Return the branch of a proposal, to read and to write. Raises what `Proposing.branch` raises."""
        found = self.proposing().open_branch(name)
        assert isinstance(found, type(self))  # as `on` gives it
        return found

    def reviewing(self) -> ProposalReview:
        """Return what a reviewer sees of proposals, made when it is first asked for."""
        from workspace.proposals.review.review import reviewing

        return reviewing(self)

    def sync_status(self) -> TrackingStatus:
        """How the branch stands to its remote, as that was last seen; made when it is first asked for."""
        from workspace.sync.status import TrackingStatus

        with self._lock:  # one only: who exchanges with the remote notes there how that went
            if self._sync_status is None:
                self._sync_status = TrackingStatus(self)
            return self._sync_status
