"""What happens to a pull request on its forge happens to its proposal: reviews, comments, merges, ends.

Which pull request is a proposal's is told by its branch, and what was taken in already by the keys of words,
so nothing is stored. A merge is told from the target's commits; only where the forge has squashed or rebased
it, so that no commit tells, the proposal is closed with words that name what the forge made of it.

Which pull requests the proposals of a round have, asked for with few calls.

Few are asked for one by one. Of many, the open ones are listed by one call, and what is not among them has
ended, or never was: that is asked for once, and again after ten minutes.

What came of a round on a forge, as data for programs and in lines for people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from docyard.forges import relay
from docyard.forges.errors import ForgeNotFound, ForgeUnclear, is_forge_wide
from docyard.forges.pull_requests import format_marker
from docyard.forges.relay import format_forge_name
from workspace.errors import WorkspaceError
from workspace.proposals.events import Closed, Reopened
from workspace.proposals.proposal import ProposalState
from workspace.sync.branches import tracking_ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docyard.forges.port import Forge, PullRequest
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

MIN_OPEN_FOR_LIST = 5
"""The number of open proposals from which the forge's open pull requests are listed."""


class _Ended(NamedTuple):
    """What was found of a branch that has no open pull request."""

    request: PullRequest | None
    until: float


class PullRequestFinder:
    """Finds the pull requests of proposals to one branch, for one thread at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ended: dict[str, _Ended] = {}

    def list_open(self, forge: Forge, proposals: Sequence[Proposal]) -> Mapping[str, PullRequest] | None:
        """Return the open pull requests by branch; None for few open proposals."""
        if sum(one.is_open for one in proposals) < MIN_OPEN_FOR_LIST:
            return None
        target = proposals[0].content.target
        return {one.head_branch: one for one in reversed(forge.list_open(target))}

    def find(
        self, forge: Forge, proposal: Proposal, listed: Mapping[str, PullRequest] | None
    ) -> PullRequest | None:
        """Return the pull request of a proposal, as `Forge.find` does, from a list if given."""
        branch, target = proposal.content.branch, proposal.content.target
        if listed is None:
            return forge.find(branch, target)
        if branch in listed:
            self._ended.pop(branch, None)
            return listed[branch]
        ended = self._ended.get(branch)
        if ended is not None and self._clock() < ended.until:
            return ended.request
        request = forge.find(branch, target)
        if request is None or request.state != "open":
            if len(self._ended) >= _KEPT:
                self._ended.clear()
            self._ended[branch] = _Ended(request, self._clock() + _KEPT_SECONDS)
        return request


MAX_OPEN_CHECKED = 100
"""The maximum of open proposals that one round checks, the newest first."""

MAX_ENDED_CHECKED, MAX_ENDED_AGE_DAYS = 10, 7
"""Proposals that have ended are looked at once more, to end what they have on the forge: so many, so long."""

_KEPT_SECONDS = 600.0  # until what did not change by its own account is read again all the same
_KEPT = 1_000


class PullRequestOutcome(NamedTuple):
    """What a look at one pull request came to.

    `reviews` and `comments` count what was taken in. `done` are of "closed" and "reopened" (the proposal),
    and "closed_there". `waits` is why something is left to do: "conflict" (there), "not_fetched" (it was
    merged there, and the target here does not have that yet), "gone_on" (so it was, without the last commits
    here).
    """

    proposal: str
    number: int
    url: str
    state: str
    reviews: int = 0
    comments: int = 0
    done: tuple[str, ...] = ()
    waits: str | None = None

    @property
    def wrote_events(self) -> bool:
        """Return True if events were written here."""
        return bool(self.reviews or self.comments or {"closed", "reopened"}.intersection(self.done))


class ForgeRound(NamedTuple):
    """A round on a forge; `error` is the first error. Other results are preserved."""

    forge: str
    pull_requests: tuple[PullRequestOutcome, ...]
    error: WorkspaceError | None = None

    @property
    def wrote_events(self) -> bool:
        """Return True if events were written here that the remote does not have yet."""
        return any(one.wrote_events for one in self.pull_requests)


class _Seen(NamedTuple):
    updated: datetime
    head: str
    conflict: bool
    until: float


class PullRequestFollower:
    """Follows the pull requests of a served branch, for one thread at a time; what it keeps saves calls."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspace = workspace
        self._clock = clock
        self._seen: dict[int, _Seen] = {}
        self._finding = PullRequestFinder(clock)
        self._settled: set[tuple[str, ProposalState]] = set()

    def follow(
        self,
        forge: Forge,
        remote: str,
        *,
        pushed: bool = False,
        branches: Collection[str] | None = None,
        numbers: Collection[int] = (),
    ) -> ForgeRound:
        """Look at the pull requests of proposals to the served branch, and follow what happened to them.

        Only at those of some `branches` and `numbers`, if there are any. `pushed` says that commits of the
        target were pushed just now: a forge needs a moment to see by them what was merged.
        Raises nothing that a forge or a proposal can be the reason of: `error` tells it. One proposal that
        cannot be followed does not keep the others from it; a forge that answers nobody ends the round.
        """
        found: list[PullRequestOutcome] = []
        error: WorkspaceError | None = None
        try:
            named = set(branches or ())
            if branches is not None or numbers:
                named |= set(self._branches_of(forge, numbers))
            is_all = branches is None and not numbers
            proposals = list(self._proposals(None if is_all else named))
            listed = self._finding.list_open(forge, proposals) if is_all else None
            for proposal in proposals:
                try:
                    one = self._one(forge, remote, proposal, listed, pushed=pushed, is_named=not is_all)
                except WorkspaceError as reason:
                    if is_forge_wide(reason):
                        raise
                    error = error or reason
                    continue
                if one is not None:
                    found.append(one)
        except WorkspaceError as reason:
            error = error or reason
        return ForgeRound(forge.name, tuple(found), error)

    def _branches_of(self, forge: Forge, numbers: Collection[int]) -> Iterator[str]:
        for number in numbers:
            try:
                yield forge.get(number).head_branch
            except ForgeNotFound:
                continue  # an issue, or one that was deleted

    def _proposals(self, branches: Collection[str] | None) -> Iterator[Proposal]:
        """Yield those that may have a pull request, the newest first."""
        served = self._workspace.branch
        since = datetime.now(UTC) - timedelta(days=MAX_ENDED_AGE_DAYS)
        live = ended = 0
        for one in self._workspace.proposing().list_all():
            if one.content.target != served or one.content.submitted_commit is None:
                continue
            if branches is not None:
                if one.content.branch in branches:
                    yield one
            elif one.is_open:
                live += 1
                if live <= MAX_OPEN_CHECKED:
                    yield one
            elif one.state is not ProposalState.GONE and (one.id, one.state) not in self._settled:
                ended += one.content.updated_at >= since
                if one.content.updated_at >= since and ended <= MAX_ENDED_CHECKED:
                    yield one

    def _one(
        self,
        forge: Forge,
        remote: str,
        proposal: Proposal,
        listed: Mapping[str, PullRequest] | None,
        *,
        pushed: bool,
        is_named: bool,
    ) -> PullRequestOutcome | None:
        request = self._finding.find(forge, proposal, listed)
        if request is None:
            self._settle(proposal)
            return None
        kept = self._kept(request)
        if kept is None or is_named:
            if request.state == "open":
                request = forge.get(request.number)  # a list does not tell of conflicts
                if not request.is_of(proposal.content.branch, proposal.content.target):
                    raise ForgeUnclear(format_forge_name(forge.name), "it is of another pull request")
            told = self._take_in(forge, request, proposal)
        else:
            told = self._told(request, proposal)._replace(waits="conflict" if kept.conflict else None)
        proposal = self._workspace.proposing().find(proposal.id)  # somebody may have decided meanwhile
        if proposal.is_open:
            return self._ended_there(forge, request, proposal, told)
        return self._ended_here(forge, remote, request, proposal, told, pushed=pushed)

    def _told(self, request: PullRequest, proposal: Proposal) -> PullRequestOutcome:
        return PullRequestOutcome(proposal.id, request.number, request.url, request.state)

    def _take_in(self, forge: Forge, request: PullRequest, proposal: Proposal) -> PullRequestOutcome:
        """Import the reviews and comments of a pull request, in order."""
        proposing = self._workspace.proposing()
        before = proposing.list_events(proposal)
        said = relay.reviews_to_events(forge.name, forge.reviews(request.number), request, proposal, before)
        reviews = proposing.relay(proposal.id, said)
        remarks = relay.comments_to_events(forge.name, forge.comments(request.number), proposal)
        comments = proposing.relay(proposal.id, remarks)
        conflict = request.state == "open" and request.mergeable is False
        self._keep(request, conflict)
        waits = "conflict" if conflict else None
        return self._told(request, proposal)._replace(
            reviews=len(reviews), comments=len(comments), waits=waits
        )

    def _ended_there(
        self, forge: Forge, request: PullRequest, proposal: Proposal, told: PullRequestOutcome
    ) -> PullRequestOutcome:
        if request.state == "open":
            return told
        place = format_forge_name(forge.name)
        if request.state == "merged":
            if not self._has(proposal.content.target, request.merge_sha):
                return told._replace(waits="not_fetched")
            if proposal.tip != request.head_sha:
                return told._replace(waits="gone_on")
            merged = (request.merge_sha or "")[:12]
            text = f"Merged on {place} as {merged}, by squashing or rebasing its commits: {request.url}"
        else:
            events = self._workspace.proposing().list_events(proposal)
            here = (one for one in events if not relay.is_from_forge(forge.name, one.author))
            taken_up = [one.time for one in here if isinstance(one.body, Reopened)]
            if taken_up and max(taken_up) > (request.ended or request.updated):
                return told  # someone has decided otherwise since
            text = f"Closed on {place}: {request.url}"
        closing = relay.build_closed_event(forge.name, request, text, self._ends(proposal))
        new = self._workspace.proposing().relay(proposal.id, [closing])
        return told._replace(done=("closed",) if new else ())

    def _ended_here(
        self,
        forge: Forge,
        remote: str,
        request: PullRequest,
        proposal: Proposal,
        told: PullRequestOutcome,
        *,
        pushed: bool,
    ) -> PullRequestOutcome:
        told = told._replace(waits=None)
        if request.state != "open":
            self._settle(proposal)
            return told
        closed = proposal.content.closed_by
        if (
            proposal.state is ProposalState.CLOSED
            and closed is not None
            and relay.is_from_forge(forge.name, closed)
        ):
            taking = relay.build_reopened_event(forge.name, request, self._ends(proposal))
            new = self._workspace.proposing().relay(proposal.id, [taking])
            return told._replace(done=("reopened",) if new else ())
        if proposal.state is ProposalState.MERGED:
            landing = proposal.merge_record
            commit = landing.commit or landing.tip if landing is not None else None
            if pushed or not self._was_pushed(remote, proposal.content.target, commit):
                return told  # the forge sees by itself that it has been merged, once it has the commits
            text = f"Merged here as {commit}."
        else:
            text = "Closed where it was proposed."
        # In this order: whoever may comment and not close would be told the same in each round.
        forge.close(request.number)
        self._settle(proposal)
        forge.comment(request.number, f"{text}\n\n{format_marker(proposal.id)}")
        return told._replace(done=("closed_there",), state="closed")

    def _ends(self, proposal: Proposal) -> int:
        """Return how often a proposal was closed, which identifies each end."""
        events = self._workspace.proposing().list_events(proposal)
        return sum(isinstance(event.body, Closed) for event in events)

    def _has(self, target: str, commit: str | None) -> bool:
        """Return True if the target here has a commit of the forge's."""
        git = self._workspace.git
        tip = git.tip(target)
        return commit is not None and tip is not None and git.has(commit) and git.is_descendant(tip, commit)

    def _was_pushed(self, remote: str, target: str, commit: str | None) -> bool:
        git = self._workspace.git
        theirs = git.commit_at(tracking_ref(remote, target))
        return theirs is not None and commit is not None and git.is_descendant(theirs, commit)

    def _kept(self, request: PullRequest) -> _Seen | None:
        """Return the cached state of a pull request that has not changed since it was read."""
        seen = self._seen.get(request.number)
        if seen is None or (seen.updated, seen.head) != (request.updated, request.head_sha):
            return None
        return seen if self._clock() < seen.until else None

    def _keep(self, request: PullRequest, conflict: bool) -> None:
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        until = self._clock() + _KEPT_SECONDS
        self._seen[request.number] = _Seen(request.updated, request.head_sha, conflict, until)

    def _settle(self, proposal: Proposal) -> None:
        if proposal.is_open:
            return
        if len(self._settled) >= _KEPT:
            self._settled.clear()
        self._settled.add((proposal.id, proposal.state))


_DONE = {
    "closed": "closed, as it was there",
    "reopened": "reopened, as it was there",
    "closed_there": "closed there, as it was here",
}


def round_to_data(followed: ForgeRound | None) -> dict[str, object] | None:
    """Return a round as data; None without one."""
    if followed is None:
        return None
    error = followed.error
    return {
        "forge": followed.forge,
        "pull_requests": [{**one._asdict(), "done": list(one.done)} for one in followed.pull_requests],
        "error": None if error is None else {"code": error.code, "message": error.message, "fix": error.fix},
    }


def format_round(followed: ForgeRound) -> list[str]:
    """Return lines on the forge's changes and the remaining work; empty without any."""
    place = format_forge_name(followed.forge)
    lines = [line for one in followed.pull_requests for line in _lines(one, place)]
    if followed.error is not None:
        lines.append(f"{place} was not followed to the end: {followed.error.message}.")
        lines.append(f"  next: {followed.error.fix}")
    return lines


def _lines(one: PullRequestOutcome, place: str) -> Iterator[str]:
    what = [_counted(one.reviews, "review"), _counted(one.comments, "comment"), *map(_DONE.get, one.done)]
    told = [words for words in what if words]
    if told:
        yield f"Proposal {one.proposal}, {place} {one.number}: {', '.join(told)}."
    match one.waits:
        case "conflict":
            yield f"Proposal {one.proposal} is in conflict with its target on {place}."
            yield f"  next: docyard proposals refresh {one.proposal}"
        case "not_fetched":
            yield f"Proposal {one.proposal} was merged on {place}; its target here does not have that yet."
            yield "  next: docyard sync --fetch"
        case "gone_on":
            yield f"Proposal {one.proposal} was merged on {place} without the last commits that it has here."
            yield f"  next: docyard proposals submit {one.proposal}, or close {one.proposal}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'} taken in" if count else ""
