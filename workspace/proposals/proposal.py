"""A proposal as it is now, from its events and from the branches.

The state is derived each time and never stored, so that a branch may be moved, merged or deleted with Git.
`replay_events` derives the content of a proposal from its events alone, without any branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, select_reachable
from workspace.git.tips import Tips
from workspace.lru_cache import LRUCache
from workspace.nearest import find_nearest
from workspace.proposal_ids import read_id
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    CommentTarget,
    Edited,
    Event,
    KnownBy,
    Opened,
    Refreshed,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
    UnknownEvent,
)
from workspace.proposals.merge_detection import MergeCandidate, MergeDetector, MergeRecord

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.proposals.discussion import Discussion, ProposalEvents


class Comment(NamedTuple):
    """A comment: its id, author, time and text, and its target as of `commit`."""

    id: str
    author: Author
    time: datetime
    text: str
    target: CommentTarget | None
    commit: str | None


class Thread(NamedTuple):
    """A comment and its answers, in order; an answer to an answer is in the same list."""

    comment: Comment
    replies: tuple[Comment, ...]


class Review(NamedTuple):
    """A decision on the proposal at a commit. `is_last` unless its author made another one later.

    A change request is also answered if the proposal was submitted again with other content. A refresh alone
    does not answer it.
    """

    id: str
    author: Author
    time: datetime
    verdict: ReviewDecision
    text: str
    commit: str
    is_last: bool


class ProposalContent(NamedTuple):
    """The content of a proposal by its events.

    `base` is the commit of the target that the proposal is based on: the commit at which it was opened, or to
    which it was fast-forwarded. `bases` are all of these. `known_commits` are commits that the proposal had,
    the last one last.
    """

    id: str
    title: str
    description: str
    author: Author
    target: str
    branch: str
    base: str | None
    opened_at: datetime
    updated_at: datetime
    submitted_commit: str | None
    closed_by: Author | None
    reviews: tuple[Review, ...]
    threads: tuple[Thread, ...]
    known_commits: tuple[str, ...]
    unknown_events: int
    bases: frozenset[str] = frozenset()

    def base_of(self, tip: str | None) -> str | None:
        """Return the commit of the target that a tip is based on.

        If several calls fast-forward it at once, the last event need not name the branch's tip.
        """
        return tip if tip in self.bases else self.base


def replay_events(events: Sequence[Event]) -> ProposalContent | None:
    """Return the result of events in order; None without an opening, of which the first counts."""
    opening = next((event for event in events if isinstance(event.body, Opened)), None)
    if opening is None or not isinstance(opening.body, Opened):
        return None
    begun = opening.body
    title, description, base = begun.title, begun.description, begun.base
    submitted: str | None = None
    closed: Author | None = None
    commits = [base] if base is not None else []
    bases = {*commits}
    for event in events:
        match event.body:
            case Edited(new_title, new_description):
                title = new_title if new_title is not None else title
                description = new_description if new_description is not None else description
            case Submitted(commit):
                submitted = commit
                commits.append(commit)
            case Reviewed(commit=commit) | Commented(commit=str(commit)):
                commits.append(commit)
            case Refreshed(commit, target):
                if commit == target:
                    base = target
                    bases.add(target)
                commits.append(commit)
            case Closed():
                closed = event.author
            case Reopened():
                closed = None
    return ProposalContent(
        opening.proposal,
        title,
        description,
        opening.author,
        begun.target,
        begun.branch,
        base,
        opening.time,
        events[-1].time,
        submitted,
        closed,
        _collect_reviews(events),
        _collect_threads(events),
        tuple(commits),
        sum(isinstance(event.body, UnknownEvent) for event in events),
        frozenset(bases),
    )


def _collect_reviews(events: Iterable[Event]) -> tuple[Review, ...]:
    found: list[Review] = []
    last: dict[tuple[KnownBy, str], int] = {}  # by person, the index of the valid review
    for event in events:
        if isinstance(event.body, Submitted):
            for person, place in [*last.items()]:
                review = found[place]
                is_answered = review.commit not in event.body.unanswered
                if review.verdict is ReviewDecision.REQUEST_CHANGES and is_answered:
                    found[last.pop(person)] = review._replace(is_last=False)
        elif isinstance(event.body, Reviewed):
            body, person = event.body, event.author.key
            counts = body.verdict is not ReviewDecision.COMMENT
            if counts:
                if person in last:
                    found[last[person]] = found[last[person]]._replace(is_last=False)
                last[person] = len(found)
            found.append(
                Review(event.id, event.author, event.time, body.verdict, body.text, body.commit, counts)
            )
    return tuple(found)


def _collect_threads(events: Iterable[Event]) -> tuple[Thread, ...]:
    threads: list[tuple[Comment, list[Comment]]] = []
    within: dict[str, int] = {}  # the thread of each comment
    for event in events:
        if not isinstance(event.body, Commented):
            continue
        body = event.body
        comment = Comment(event.id, event.author, event.time, body.text, body.place, body.commit)
        place = within.get(body.reply_to or "")
        if place is None:
            within[event.id] = len(threads)
            threads.append((comment, []))
        else:
            within[event.id] = place
            threads[place][1].append(comment)
    return tuple(Thread(comment, tuple(replies)) for comment, replies in threads)


_SHOWN = 60
_LISTED = 5
_REMEMBERED = 10_000


class ProposalNotFound(WorkspaceError):
    """No proposal has this id. `candidates` are the nearest ids."""

    code = "PROPOSAL_NOT_FOUND"


class ProposalState(StrEnum):
    """The state of a proposal; of several that hold, the first of these counts."""

    MERGED = "merged"  # the target contains it
    CLOSED = "closed"  # a user closed it
    GONE = "gone"  # its branch was deleted
    DRAFT = "draft"  # it was not submitted yet
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"  # by another person, at the current commit; the policy decides how many are needed
    OPEN = "open"


_ENDED = (ProposalState.MERGED, ProposalState.CLOSED, ProposalState.GONE)


class CommitRelation(StrEnum):
    """The relation of a review's commit to the proposal."""

    CURRENT = "current"  # the proposal is at that commit
    EDITED = "edited"  # it has later commits
    REWRITTEN = "rewritten"  # it no longer has that commit: rebased, or reset
    GONE = "gone"  # its branch was deleted


class ReviewStatus(NamedTuple):
    """A review, whether it holds for the current proposal, and whether it is on one's own proposal."""

    review: Review
    relation: CommitRelation
    is_own: bool

    @property
    def approves(self) -> bool:
        """Return True if this is another person's approval of exactly the current proposal."""
        return (
            self._counts(ReviewDecision.APPROVE)
            and self.relation is CommitRelation.CURRENT
            and not self.is_own
        )

    @property
    def requests_changes(self) -> bool:
        """Return True for a change request that is not addressed; an edit alone does not address it."""
        return self._counts(ReviewDecision.REQUEST_CHANGES)

    def _counts(self, verdict: ReviewDecision) -> bool:
        return self.review.verdict is verdict and self.review.is_last


class Proposal(NamedTuple):
    """A proposal: its content, its state, and its tip (None if its branch is missing).

    `merge_record` is its merge into the target; `is_ahead` is True if it has later commits. `is_rewritten` is
    True if the branch lost a commit that it had. `unreadable` counts files that are not events, and `unread`
    those of them that may be events.
    """

    content: ProposalContent
    state: ProposalState
    tip: str | None
    merge_record: MergeRecord | None
    is_ahead: bool
    is_rewritten: bool
    reviews: tuple[ReviewStatus, ...]
    unreadable: int
    unread: int = 0

    @property
    def id(self) -> str:
        """The proposal's short id, which never changes."""
        return self.content.id

    @property
    def is_open(self) -> bool:
        """Return True if it can still be written to and merged."""
        return self.state not in _ENDED

    @property
    def approvals(self) -> tuple[Review, ...]:
        """The valid approvals."""
        return tuple(bound.review for bound in self.reviews if bound.approves)


class Proposals:
    """The proposals of a repository. Safe in several threads; facts about commits are cached."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        self._detector = MergeDetector(git, self._graph)
        self._contents: LRUCache[str, tuple[ProposalEvents, ProposalContent | None]] = LRUCache(_REMEMBERED)
        self._contained_commits: LRUCache[str, tuple[str, frozenset[str]]] = LRUCache(_REMEMBERED)

    def list_all(self, discussion: Discussion) -> tuple[Proposal, ...]:
        """Return every proposal with a readable opening, the last opened first."""
        return self._list_current(discussion, discussion.proposals)

    def find(self, discussion: Discussion, name: str) -> Proposal:
        """Return the proposal of an id, or of a branch that is named after it. Raises ProposalNotFound."""
        id = read_id(name)
        found = self._list_current(discussion, (id,)) if id is not None else ()
        if not found:
            raise _not_found(name, discussion.proposals)
        return found[0]

    def _list_current(self, discussion: Discussion, ids: Iterable[str]) -> tuple[Proposal, ...]:
        self._graph.refresh()
        tips = Tips(self._git)
        known = {
            id: content
            for id in ids
            if (content := self._replay_cached(id, discussion.events_of(id))) is not None
        }
        at = {id: tips.find(content.branch) for id, content in known.items()}
        landed: dict[str, MergeRecord] = {}
        for target in sorted({content.target for content in known.values()}):
            candidates = {
                id: MergeCandidate(content.base_of(at[id]), at[id])
                for id, content in known.items()
                if content.target == target
            }
            commit = tips.find(target)
            if commit is not None:
                landed |= self._detector.find(commit, candidates)
        found = (
            self._build_proposal(content, at[id], landed.get(id), discussion.events_of(id))
            for id, content in known.items()
        )
        return tuple(
            sorted(found, key=lambda one: (one.content.opened_at, one.id), reverse=True),
        )

    def _replay_cached(self, id: str, proposal_events: ProposalEvents) -> ProposalContent | None:
        cached = self._contents.find(id)
        if cached is None or cached[0] is not proposal_events:
            cached = proposal_events, replay_events(proposal_events.events)
            self._contents.put(id, cached)
        return cached[1]

    def _commits_of(self, content: ProposalContent, tip: str | None) -> frozenset[str]:
        """Return the known commits of a proposal that its tip still contains."""
        if tip is None:
            return frozenset()
        commits = frozenset([*content.known_commits, *(review.commit for review in content.reviews)])
        if self._contained_commits.find(content.id) == (tip, commits):
            return commits
        had = select_reachable(self._graph, tip, commits)
        if had == commits:  # a missing commit may be fetched later, as when a shallow clone is deepened
            self._contained_commits.put(content.id, (tip, commits))
        return had

    def _build_proposal(
        self,
        content: ProposalContent,
        tip: str | None,
        record: MergeRecord | None,
        proposal_events: ProposalEvents,
    ) -> Proposal:
        had = self._commits_of(content, tip)
        reviews = tuple(
            ReviewStatus(
                review, _determine_bond(review.commit, tip, had), review.author.is_same(content.author)
            )
            for review in content.reviews
        )
        is_rewritten = (
            tip is not None and bool(content.known_commits) and content.known_commits[-1] not in had
        )
        is_ahead = record is not None and tip is not None and tip != record.tip
        return Proposal(
            content,
            _determine_state(content, tip, record, reviews),
            tip,
            record,
            is_ahead,
            is_rewritten,
            reviews,
            proposal_events.unreadable,
            proposal_events.unread,
        )


def _determine_state(
    content: ProposalContent, tip: str | None, record: MergeRecord | None, reviews: Sequence[ReviewStatus]
) -> ProposalState:
    if record is not None:
        return ProposalState.MERGED
    if content.closed_by is not None:
        return ProposalState.CLOSED
    if tip is None:
        return ProposalState.GONE
    if content.submitted_commit is None:
        return ProposalState.DRAFT
    if any(bound.requests_changes for bound in reviews):
        return ProposalState.CHANGES_REQUESTED
    return ProposalState.APPROVED if any(bound.approves for bound in reviews) else ProposalState.OPEN


def _determine_bond(commit: str, tip: str | None, had: frozenset[str]) -> CommitRelation:
    if tip is None:
        return CommitRelation.GONE
    if commit == tip:
        return CommitRelation.CURRENT
    return CommitRelation.EDITED if commit in had else CommitRelation.REWRITTEN


def _not_found(name: str, ids: Sequence[str]) -> ProposalNotFound:
    shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    close = find_nearest(name, ids) or [*ids[:_LISTED]]
    return ProposalNotFound(
        f"no proposal '{shown}'",
        fix=f"Name one by its id, such as '{close[0]}'."
        if close
        else "There are no proposals yet: open one first.",
        candidates=close,
    )
