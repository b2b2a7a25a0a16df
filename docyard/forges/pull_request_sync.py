"""Import of a pull request's reviews, comments and state into its proposal.

No state of the forge is stored. The branch identifies the pull request of a proposal. The idempotency keys of
events identify imported reviews and comments. A merge is detected in the target's commits. After a squash or
a rebase the target has no commit of the proposal. The proposal is then closed with a comment that names the
forge's commit.

If few proposals are open, the pull request of each is looked up. If many are open, one call lists the open
pull requests. A proposal that is not in the list has a closed pull request, or no pull request. For such a
proposal, one call finds the pull request, and the result is cached for ten minutes.

One check covers all or some pull requests. The result is formatted as data for JSON, and as lines of text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from docyard.forges import event_conversion
from docyard.forges.errors import ForgeNotFound, InvalidForgeResponse, is_forge_wide
from docyard.forges.event_conversion import format_forge_name
from docyard.forges.pull_requests import format_marker
from workspace.errors import WorkspaceError
from workspace.proposals.events import Closed, Reopened
from workspace.proposals.proposal import ProposalState
from workspace.sync.branches import format_tracking_ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docyard.forges.port import Forge, PullRequest
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

MIN_OPEN_PROPOSALS_FOR_LIST = 5
"""The number of open proposals from which the forge's open pull requests are listed."""


class _CachedLookup(NamedTuple):
    """The cached result for a branch without an open pull request."""

    pull_request: PullRequest | None
    expires_at: float


class PullRequestFinder:
    """A cache of the pull requests of proposals to one branch. Use it in one thread at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lookups: dict[str, _CachedLookup] = {}

    def list_open(self, forge: Forge, proposals: Sequence[Proposal]) -> Mapping[str, PullRequest] | None:
        """Return the open pull requests by branch; None if few proposals are open."""
        if sum(proposal.is_open for proposal in proposals) < MIN_OPEN_PROPOSALS_FOR_LIST:
            return None
        target = proposals[0].content.target
        return {pull_request.head_branch: pull_request for pull_request in reversed(forge.list_open(target))}

    def find(
        self, forge: Forge, proposal: Proposal, requests_by_branch: Mapping[str, PullRequest] | None
    ) -> PullRequest | None:
        """Return the pull request of a proposal: an open one, else one that has ended.

        `requests_by_branch` are the open pull requests, if they were listed.
        """
        branch, target = proposal.content.branch, proposal.content.target
        if requests_by_branch is None:
            return forge.find(branch, target)
        if branch in requests_by_branch:
            self._lookups.pop(branch, None)
            return requests_by_branch[branch]
        cached_lookup = self._lookups.get(branch)
        if cached_lookup is not None and self._clock() < cached_lookup.expires_at:
            return cached_lookup.pull_request
        pull_request = forge.find(branch, target)
        if pull_request is None or pull_request.state != "open":
            if len(self._lookups) >= _MAX_CACHE_ENTRIES:
                self._lookups.clear()
            self._lookups[branch] = _CachedLookup(pull_request, self._clock() + _CACHE_TIME_S)
        return pull_request


MAX_OPEN_PROPOSALS_CHECKED = 100
"""The maximum number of open proposals in one check, the newest first."""

MAX_ENDED_PROPOSALS_CHECKED, MAX_ENDED_AGE_DAYS = 10, 7
"""The maximum number and age of ended proposals whose pull requests are checked once more, and closed."""

_CACHE_TIME_S = 600.0  # some changes do not update the time of a pull request
_MAX_CACHE_ENTRIES = 1_000


class PullRequestOutcome(NamedTuple):
    """The result of checking one pull request.

    `review_count` and `comment_count` count the imported reviews and comments. `state_changes` contains
    "closed" or "reopened" for the proposal, and "closed_there" for the pull request. `pending_reason` is the
    reason for remaining work: "conflict" for a conflict on the forge, "not_fetched" if the local target lacks
    the forge's merge, and "gone_on" if the forge merged without the last local commits.
    """

    proposal: str
    number: int
    url: str
    state: str
    review_count: int = 0
    comment_count: int = 0
    state_changes: tuple[str, ...] = ()
    pending_reason: str | None = None

    @property
    def wrote_events(self) -> bool:
        """Return True if events were written to the local repository."""
        return bool(
            self.review_count or self.comment_count or {"closed", "reopened"}.intersection(self.state_changes)
        )


class ForgeCheckResult(NamedTuple):
    """The result of one check: the outcomes of the checked pull requests, and the first error, if any."""

    forge: str
    pull_requests: tuple[PullRequestOutcome, ...]
    error: WorkspaceError | None = None

    @property
    def wrote_events(self) -> bool:
        """Return True if events were written to the local repository, so that a push is needed."""
        return any(outcome.wrote_events for outcome in self.pull_requests)


class _CachedState(NamedTuple):
    """The state of a pull request when it was read last."""

    updated_at: datetime
    head: str
    has_conflict: bool
    expires_at: float


class PullRequestImporter:
    """The import for one served branch, with a cache that saves calls. Use it in one thread at a time."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspace = workspace
        self._clock = clock
        self._cached_states: dict[int, _CachedState] = {}
        self._finder = PullRequestFinder(clock)
        self._settled_states: set[tuple[str, ProposalState]] = set()

    def import_changes(
        self,
        forge: Forge,
        remote: str,
        *,
        was_pushed: bool = False,
        branches: Collection[str] | None = None,
        numbers: Collection[int] = (),
    ) -> ForgeCheckResult:
        """Check the pull requests of proposals to the served branch, and import their changes.

        `branches` and `numbers` limit the check to these pull requests. `was_pushed` is true if commits of
        the target were just pushed: the forge may need a moment to detect a merge in them.
        Errors of a forge or a proposal are not raised: `error` is the first one. A failure of one proposal
        does not affect the others; a failure of the whole forge ends the check.
        """
        outcomes: list[PullRequestOutcome] = []
        error: WorkspaceError | None = None
        try:
            selected_branches = set(branches or ())
            if branches is not None or numbers:
                selected_branches |= set(self._list_branches(forge, numbers))
            checks_all = branches is None and not numbers
            proposals = list(self._list_proposals(None if checks_all else selected_branches))
            open_requests = self._finder.list_open(forge, proposals) if checks_all else None
            for proposal in proposals:
                try:
                    outcome = self._check_proposal(
                        forge,
                        remote,
                        proposal,
                        open_requests,
                        was_pushed=was_pushed,
                        is_requested=not checks_all,
                    )
                except WorkspaceError as reason:
                    if is_forge_wide(reason):
                        raise
                    error = error or reason
                    continue
                if outcome is not None:
                    outcomes.append(outcome)
        except WorkspaceError as reason:
            error = error or reason
        return ForgeCheckResult(forge.name, tuple(outcomes), error)

    def _list_branches(self, forge: Forge, numbers: Collection[int]) -> Iterator[str]:
        for number in numbers:
            try:
                yield forge.get(number).head_branch
            except ForgeNotFound:
                continue  # an issue, or a deleted pull request

    def _list_proposals(self, branches: Collection[str] | None) -> Iterator[Proposal]:
        """Yield the proposals that may have a pull request, the newest first."""
        served_branch = self._workspace.branch
        min_time = datetime.now(UTC) - timedelta(days=MAX_ENDED_AGE_DAYS)
        open_count = ended_count = 0
        for proposal in self._workspace.proposal_actions().list_all():
            if proposal.content.target != served_branch or proposal.content.submitted_commit is None:
                continue
            if branches is not None:
                if proposal.content.branch in branches:
                    yield proposal
            elif proposal.is_open:
                open_count += 1
                if open_count <= MAX_OPEN_PROPOSALS_CHECKED:
                    yield proposal
            elif (
                proposal.state is not ProposalState.GONE
                and (proposal.id, proposal.state) not in self._settled_states
            ):
                ended_count += proposal.content.updated_at >= min_time
                if proposal.content.updated_at >= min_time and ended_count <= MAX_ENDED_PROPOSALS_CHECKED:
                    yield proposal

    def _check_proposal(
        self,
        forge: Forge,
        remote: str,
        proposal: Proposal,
        requests_by_branch: Mapping[str, PullRequest] | None,
        *,
        was_pushed: bool,
        is_requested: bool,
    ) -> PullRequestOutcome | None:
        pull_request = self._finder.find(forge, proposal, requests_by_branch)
        if pull_request is None:
            self._mark_settled(proposal)
            return None
        cached_state = self._find_cached_state(pull_request)
        if cached_state is None or is_requested:
            if pull_request.state == "open":
                pull_request = forge.get(pull_request.number)  # a list does not contain conflicts
                if not pull_request.matches_branches(proposal.content.branch, proposal.content.target):
                    problem = f"the response is for another pull request than {pull_request.number}"
                    raise InvalidForgeResponse(format_forge_name(forge.name), problem)
            outcome = self._import_events(forge, pull_request, proposal)
        else:
            outcome = self._build_outcome(pull_request, proposal)._replace(
                pending_reason="conflict" if cached_state.has_conflict else None
            )
        # The import may have changed the state of the proposal.
        proposal = self._workspace.proposal_actions().find(proposal.id)
        if proposal.is_open:
            return self._apply_end_on_forge(forge, pull_request, proposal, outcome)
        return self._apply_end_of_proposal(
            forge, remote, pull_request, proposal, outcome, was_pushed=was_pushed
        )

    def _build_outcome(self, pull_request: PullRequest, proposal: Proposal) -> PullRequestOutcome:
        return PullRequestOutcome(proposal.id, pull_request.number, pull_request.url, pull_request.state)

    def _import_events(
        self, forge: Forge, pull_request: PullRequest, proposal: Proposal
    ) -> PullRequestOutcome:
        """Import the reviews and comments of a pull request, in order."""
        proposal_actions = self._workspace.proposal_actions()
        earlier_events = proposal_actions.list_events(proposal)
        forge_reviews = forge.list_reviews(pull_request.number)
        review_events = event_conversion.reviews_to_events(
            forge.name, forge_reviews, pull_request, proposal, earlier_events
        )
        reviews = proposal_actions.relay(proposal.id, review_events)
        comment_events = event_conversion.comments_to_events(
            forge.name, forge.list_comments(pull_request.number), proposal
        )
        comments = proposal_actions.relay(proposal.id, comment_events)
        has_conflict = pull_request.state == "open" and pull_request.mergeable is False
        self._cache_state(pull_request, has_conflict)
        pending_reason = "conflict" if has_conflict else None
        return self._build_outcome(pull_request, proposal)._replace(
            review_count=len(reviews), comment_count=len(comments), pending_reason=pending_reason
        )

    def _apply_end_on_forge(
        self, forge: Forge, pull_request: PullRequest, proposal: Proposal, outcome: PullRequestOutcome
    ) -> PullRequestOutcome:
        """Close an open proposal whose pull request was merged or closed on the forge."""
        if pull_request.state == "open":
            return outcome
        forge_name = format_forge_name(forge.name)
        if pull_request.state == "merged":
            if not self._is_in_target(proposal.content.target, pull_request.merge_sha):
                return outcome._replace(pending_reason="not_fetched")
            if proposal.tip != pull_request.head_sha:
                return outcome._replace(pending_reason="gone_on")
            merge_id = (pull_request.merge_sha or "")[:12]
            text = (
                f"Merged on {forge_name} as {merge_id}, by squashing or rebasing its commits: "
                f"{pull_request.url}"
            )
        else:
            events = self._workspace.proposal_actions().list_events(proposal)
            own_events = (
                event for event in events if not event_conversion.is_from_forge(forge.name, event.author)
            )
            reopen_times = [event.time for event in own_events if isinstance(event.body, Reopened)]
            if reopen_times and max(reopen_times) > (pull_request.ended_at or pull_request.updated_at):
                return outcome  # the proposal was reopened after the pull request had ended
            text = f"Closed on {forge_name}: {pull_request.url}"
        close_event = event_conversion.build_closed_event(
            forge.name, pull_request, text, self._count_closings(proposal)
        )
        new_events = self._workspace.proposal_actions().relay(proposal.id, [close_event])
        return outcome._replace(state_changes=("closed",) if new_events else ())

    def _apply_end_of_proposal(
        self,
        forge: Forge,
        remote: str,
        pull_request: PullRequest,
        proposal: Proposal,
        outcome: PullRequestOutcome,
        *,
        was_pushed: bool,
    ) -> PullRequestOutcome:
        """Close the pull request of an ended proposal; if the forge has reopened it, reopen the proposal."""
        outcome = outcome._replace(pending_reason=None)
        if pull_request.state != "open":
            self._mark_settled(proposal)
            return outcome
        closer = proposal.content.closed_by
        if (
            proposal.state is ProposalState.CLOSED
            and closer is not None
            and event_conversion.is_from_forge(forge.name, closer)
        ):
            reopen_event = event_conversion.build_reopened_event(
                forge.name, pull_request, self._count_closings(proposal)
            )
            new_events = self._workspace.proposal_actions().relay(proposal.id, [reopen_event])
            return outcome._replace(state_changes=("reopened",) if new_events else ())
        if proposal.state is ProposalState.MERGED:
            record = proposal.merge_record
            commit = record.commit or record.tip if record is not None else None
            if was_pushed or not self._is_on_remote(remote, proposal.content.target, commit):
                return outcome  # the forge detects the merge itself, once it has the commits
            text = f"Docyard merged the proposal as {commit}."
        else:
            text = "The proposal was closed in Docyard."
        # Close first: a token that may comment but not close would add the same comment in each check.
        forge.close(pull_request.number)
        self._mark_settled(proposal)
        forge.comment(pull_request.number, f"{text}\n\n{format_marker(proposal.id)}")
        return outcome._replace(state_changes=("closed_there",), state="closed")

    def _count_closings(self, proposal: Proposal) -> int:
        """Return the number of times that a proposal was closed; the number is part of the events' keys."""
        events = self._workspace.proposal_actions().list_events(proposal)
        return sum(isinstance(event.body, Closed) for event in events)

    def _is_in_target(self, target: str, commit: str | None) -> bool:
        """Return True if the local target contains a commit of the forge."""
        git = self._workspace.git
        tip = git.tip(target)
        return (
            commit is not None
            and tip is not None
            and git.has_object(commit)
            and git.is_descendant(tip, commit)
        )

    def _is_on_remote(self, remote: str, target: str, commit: str | None) -> bool:
        git = self._workspace.git
        remote_tip = git.commit_at(format_tracking_ref(remote, target))
        return remote_tip is not None and commit is not None and git.is_descendant(remote_tip, commit)

    def _find_cached_state(self, pull_request: PullRequest) -> _CachedState | None:
        """Return the cached state of a pull request that has not changed since it was read."""
        cached_state = self._cached_states.get(pull_request.number)
        if cached_state is None or (cached_state.updated_at, cached_state.head) != (
            pull_request.updated_at,
            pull_request.head_sha,
        ):
            return None
        return cached_state if self._clock() < cached_state.expires_at else None

    def _cache_state(self, pull_request: PullRequest, has_conflict: bool) -> None:
        if len(self._cached_states) >= _MAX_CACHE_ENTRIES:
            self._cached_states.clear()
        expires_at = self._clock() + _CACHE_TIME_S
        self._cached_states[pull_request.number] = _CachedState(
            pull_request.updated_at, pull_request.head_sha, has_conflict, expires_at
        )

    def _mark_settled(self, proposal: Proposal) -> None:
        """Record that an ended proposal needs no further check."""
        if proposal.is_open:
            return
        if len(self._settled_states) >= _MAX_CACHE_ENTRIES:
            self._settled_states.clear()
        self._settled_states.add((proposal.id, proposal.state))


_ACTION_TEXTS = {
    "closed": "closed, as on the forge",
    "reopened": "reopened, as on the forge",
    "closed_there": "closed on the forge, as here",
}


def check_result_to_data(check_result: ForgeCheckResult | None) -> dict[str, object] | None:
    """Return the result of a check as data for JSON; None if there was no check."""
    if check_result is None:
        return None
    error = check_result.error
    return {
        "forge": check_result.forge,
        "pull_requests": [_outcome_to_data(outcome) for outcome in check_result.pull_requests],
        "error": None if error is None else {"code": error.code, "message": error.message, "fix": error.fix},
    }


def _outcome_to_data(outcome: PullRequestOutcome) -> dict[str, object]:
    return {
        "proposal": outcome.proposal,
        "number": outcome.number,
        "url": outcome.url,
        "state": outcome.state,
        "reviews": outcome.review_count,
        "comments": outcome.comment_count,
        "done": list(outcome.state_changes),
        "waits": outcome.pending_reason,
    }


def format_check_result(check_result: ForgeCheckResult) -> list[str]:
    """Return lines about the imported changes, the remaining work, and the error, if any."""
    forge_name = format_forge_name(check_result.forge)
    lines = [line for outcome in check_result.pull_requests for line in _format_outcome(outcome, forge_name)]
    if check_result.error is not None:
        lines.append(f"{forge_name} was not checked completely: {check_result.error.message}.")
        lines.append(f"  next: {check_result.error.fix}")
    return lines


def _format_outcome(outcome: PullRequestOutcome, forge_name: str) -> Iterator[str]:
    changes = [
        _format_count(outcome.review_count, "review"),
        _format_count(outcome.comment_count, "comment"),
        *map(_ACTION_TEXTS.get, outcome.state_changes),
    ]
    change_texts = [change for change in changes if change]
    if change_texts:
        yield f"Proposal {outcome.proposal}, {forge_name} {outcome.number}: {', '.join(change_texts)}."
    match outcome.pending_reason:
        case "conflict":
            yield f"Proposal {outcome.proposal} has conflicts with its target on {forge_name}."
            yield f"  next: docyard proposals refresh {outcome.proposal}"
        case "not_fetched":
            yield f"Proposal {outcome.proposal} was merged on {forge_name}; the local target lacks the merge."
            yield "  next: docyard sync --fetch"
        case "gone_on":
            yield f"Proposal {outcome.proposal} was merged on {forge_name} without its last local commits."
            yield f"  next: docyard proposals submit {outcome.proposal}, or close {outcome.proposal}"


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'} imported" if count else ""
