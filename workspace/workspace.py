"""A served branch with its services, whose modules are imported on first use."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from workspace.branch import Branch, check_branch_name
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from workspace.edits.operation import Operation
    from workspace.errors import WorkspaceError
    from workspace.history.drift import DriftFinder
    from workspace.history.growth import GrowthCounter
    from workspace.history.log import History
    from workspace.history.moved_addresses import Moves
    from workspace.policy.tokens import Person
    from workspace.proposals.actions.actions import ProposalActions, PullRequestReport
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.review import ProposalReview
    from workspace.proposals.review_times import ReviewTimes
    from workspace.snapshot.derived_values import Progress
    from workspace.sync.status import TrackingStatus
    from workspace.task_graph import TaskGraph
    from workspace.trace import TraceFinder
    from workspace.writing.idempotency import KeyedRequest
    from workspace.writing.plan import BatchMode
    from workspace.writing.read_before_write import SeenTexts
    from workspace.writing.write import WriteResult


class Workspace(Branch):
    """A served branch with its services: writes, history, proposals, and the remote.

    `has_history` is False if there are no earlier commits to read: history and drift then raise NoHistory.
    """

    has_history: ClassVar[bool] = True

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        super().__init__(git, branch=branch, durable=durable)
        self._sync_status: TrackingStatus | None = None
        # A function that opens or updates the pull request of a proposal; None without a forge.
        self.pull_request_opener: Callable[[Proposal], PullRequestReport | None] | None = None
        self.guards["remote"] = lambda snapshot, changes: self.sync_status().check_writable(snapshot, changes)

    @classmethod
    def open(
        cls, path: Path, *, branch: str | None = None, read_only: bool = False, durable: bool = True
    ) -> Workspace:
        """Open the repository of a folder. Without `branch`, the checked-out branch is served.

        The Git object of a read-only workspace has no write methods.
        Raises NotARepository, UnsupportedRepository, BranchNotFound.
        """
        git = GitReader(path) if read_only else GitStore(path)
        if branch is not None:
            branch = branch.removeprefix("refs/heads/")
            check_branch_name(git, branch)
        workspace = cls(git, branch=branch, durable=durable)
        with suppress(DamagedRepository):  # a torn branch is opened; a read of it raises the error
            workspace.tip()
        return workspace

    def at(self, ref: str | None) -> Snapshot:
        """Return the snapshot of a ref's commit; of the served branch's tip if the ref is blank or None.

        Raises the errors of `resolve_branch_ref`, and InvalidConfig for a commit with invalid settings.
        """
        if ref is None or not ref.strip():
            return self.snapshot()
        from workspace.errors import InvalidConfig
        from workspace.revisions import resolve_branch_ref

        snapshot = self.snapshot(resolve_branch_ref(self, ref.strip()))
        try:
            snapshot.config  # noqa: B018 - raised here, where the fix is known
        except InvalidConfig as error:
            raise InvalidConfig(
                f"at this ref, {error.message}",
                fix="The settings of a commit cannot change: use another ref, or leave out the ref.",
                **error.details,
            ) from error
        return snapshot

    def write(
        self,
        operations: Sequence[Operation | WorkspaceError],
        *,
        mode: BatchMode,
        tool: str,
        client: str,
        message: str | None = None,
        dry_run: bool = False,
        base_commit: str | None = None,
        seen_texts: SeenTexts | None = None,
        keyed_request: KeyedRequest | None = None,
        person: Person | None = None,
        trailers: Mapping[str, str] | None = None,
    ) -> WriteResult:
        """Run operations on the tip, and commit their changes as one commit.

        Text is overwritten only if it existed in `base_commit`, or is in `seen_texts`, the texts that the
        client has read, to which the committed text is added. Addresses refer to `base_commit`.

        A `keyed_request` that this branch's history contains is not repeated; the recorded result is
        returned. A dry run neither reads nor writes a record. The author is the `person` of the token, else
        that of Git. `trailers` are further trailers of the commit.

        Raises Protected for paths that only a proposal may change, errors of guards, ReadOnly, DetachedHead,
        SigningRequired, UnknownCommit, LimitExceeded, KeyReused, Busy, and errors of `Publication`.
        """
        from workspace.writing.write import WriteRequest

        with self.writer_lock:
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
                keyed_request=keyed_request,
                person=person,
                trailers=trailers or {},
                check_new_request=lambda request: self.proposal_actions().check_not_proposed(request),
            ).write()

    def moves(self) -> Moves:
        """Return the moves of documents and sections, created on first use."""
        from workspace.history.moved_addresses import Moves

        return self.shared(Moves, lambda: Moves(self.git))

    def history(self) -> History:
        """Return the history of documents and sections, created on first use. Raises NoHistory."""
        from workspace.history.log import History

        return self.shared(History, lambda: History(self.git))

    def task_graph(self, snapshot: Snapshot, progress: Progress | None = None) -> TaskGraph:
        """Return the task graph of a snapshot, with the current claims in the discussion."""
        from datetime import UTC, datetime

        from workspace.task_graph import TaskGraphs

        graph = self.shared(TaskGraphs, TaskGraphs).get(snapshot, progress)
        claims = self.proposal_actions().task_claims.read(snapshot, datetime.now(UTC))
        return graph if claims is None else graph.with_claims(claims.find)

    def drift_finder(self) -> DriftFinder:
        """Return the search for sections whose code changed later, created on first use. Raises NoHistory."""
        from workspace.history.drift import DriftFinder

        return self.shared(DriftFinder, lambda: DriftFinder(self.git))

    def growth_counter(self) -> GrowthCounter:
        """Return the counter of documents and tasks over time, created on first use. Raises NoHistory."""
        from workspace.history.growth import GrowthCounter

        return self.shared(GrowthCounter, lambda: GrowthCounter(self.git))

    def review_times(self, proposals: Iterable[Proposal]) -> list[ReviewTimes]:
        """Return the times of proposals: opened for review, first reviewed, merged."""
        from workspace.proposals.review_times import ReviewTimesReader

        return self.shared(ReviewTimesReader, lambda: ReviewTimesReader(self.git)).read(proposals)

    def trace_finder(self) -> TraceFinder:
        """Return the traces of identifiers, created on first use."""
        from workspace.trace import TraceFinder

        return self.shared(TraceFinder, lambda: TraceFinder(self.git))

    def proposal_actions(self) -> ProposalActions:
        """Return the actions on proposals of the repository, created on first use."""
        from workspace.proposals.actions.actions import ProposalActions

        served = self.served_branch

        def open_pull_request(proposal: Proposal) -> PullRequestReport | None:
            opener = served.pull_request_opener
            return opener(proposal) if opener is not None else None

        return self.shared(ProposalActions, lambda: ProposalActions(served, open_pull_request))

    def on_proposal(self, name: str) -> Self:
        """Return the branch of a proposal, to read and to write. Raises the errors of `open_branch`."""
        branch = self.proposal_actions().open_branch(name)
        assert isinstance(branch, type(self))  # `for_branch` returns the class of the workspace
        return branch

    def proposal_reviews(self) -> ProposalReview:
        """Return the review data of proposals, created on first use."""
        from workspace.proposals.review.review import get_proposal_review

        return get_proposal_review(self)

    def sync_status(self) -> TrackingStatus:
        """Return the tracking status after the last exchange with the remote; created on first use."""
        from workspace.sync.status import TrackingStatus

        with self._lock:  # one instance, because each exchange with the remote records its result in it
            if self._sync_status is None:
                self._sync_status = TrackingStatus(self)
            return self._sync_status
