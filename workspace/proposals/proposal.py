"""A proposal as it is now, from its events and from the branches.

The state is computed for each read and never stored, so that a branch may be moved, merged or deleted with
Git. `replay_events` derives the content of a proposal from its events alone, without any branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, select_reachable
from workspace.git.tips import Tips
from workspace.lru_cache import LRUCache
from workspace.nearest import find_nearest
from workspace.proposal_ids import is_id, read_id_prefix
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    CommentTarget,
    Edited,
    Event,
    IdentitySource,
    Opened,
    Refreshed,
    Reopened,
    Resolved,
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


class ThreadResolution(NamedTuple):
    """The author and the time of the resolution of a thread."""

    author: Author
    time: datetime


class Thread(NamedTuple):
    """A comment and its replies, in order; a reply to a reply is in the same list.

    `resolution` is None for an open thread. A reply to a resolved thread does not reopen it.
    """

    comment: Comment
    replies: tuple[Comment, ...]
    resolution: ThreadResolution | None = None


class Review(NamedTuple):
    """A decision or a comment on the whole proposal at a commit.

    `is_last` is True for a decision that no later decision or event replaces; it is False for a comment.
    A later decision of the same author replaces a decision. A change request is also replaced if the proposal
    is submitted again with other content, which sets `is_addressed`; a refresh alone does not replace it.
    """

    id: str
    author: Author
    time: datetime
    verdict: ReviewDecision
    text: str
    commit: str
    is_last: bool
    is_addressed: bool = False


class ProposalContent(NamedTuple):
    """The content of a proposal by its events.

    `base` is the commit of the target on which the proposal is based: it was opened at that commit, or
    fast-forwarded to it. `bases` are the current and all earlier bases. `known_commits` are commits that the
    proposal had, the newest last. `submitted_at` is the time of the first submission.
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
    unknown_event_count: int
    bases: frozenset[str] = frozenset()
    submitted_at: datetime | None = None

    def find_base(self, tip: str | None) -> str | None:
        """Return the commit of the target on which a tip is based.

        If several calls fast-forward the proposal at once, the last event may not name the branch's tip.
        """
        return tip if tip in self.bases else self.base


def replay_events(events: Sequence[Event]) -> ProposalContent | None:
    """Return the content of a proposal by its events in order, or None if no event opens it.

    If several events open the proposal, the first is used.
    """
    opening_event = next((event for event in events if isinstance(event.body, Opened)), None)
    if opening_event is None or not isinstance(opening_event.body, Opened):
        return None
    opening = opening_event.body
    title, description, base = opening.title, opening.description, opening.base
    submitted_commit: str | None = None
    closed_by: Author | None = None
    known_commits = [base] if base is not None else []
    bases = {*known_commits}
    for event in events:
        match event.body:
            case Edited(new_title, new_description):
                title = new_title if new_title is not None else title
                description = new_description if new_description is not None else description
            case Submitted(commit):
                submitted_commit = commit
                known_commits.append(commit)
            case Reviewed(commit=commit) | Commented(commit=str(commit)):
                known_commits.append(commit)
            case Refreshed(commit, target):
                if commit == target:
                    base = target
                    bases.add(target)
                known_commits.append(commit)
            case Closed():
                closed_by = event.author
            case Reopened():
                closed_by = None
    return ProposalContent(
        opening_event.proposal,
        title,
        description,
        opening_event.author,
        opening.target,
        opening.branch,
        base,
        opening_event.time,
        events[-1].time,
        submitted_commit,
        closed_by,
        _collect_reviews(events),
        collect_threads(events),
        tuple(known_commits),
        sum(isinstance(event.body, UnknownEvent) for event in events),
        frozenset(bases),
        next((event.time for event in events if isinstance(event.body, Submitted)), None),
    )


def _collect_reviews(events: Iterable[Event]) -> tuple[Review, ...]:
    reviews: list[Review] = []
    last_decisions: dict[tuple[IdentitySource, str], int] = {}  # the index of each person's valid decision
    for event in events:
        if isinstance(event.body, Submitted):
            for person, index in [*last_decisions.items()]:
                review = reviews[index]
                is_addressed = review.commit not in event.body.unaddressed_commits
                if review.verdict is ReviewDecision.REQUEST_CHANGES and is_addressed:
                    reviews[last_decisions.pop(person)] = review._replace(is_last=False, is_addressed=True)
        elif isinstance(event.body, Reviewed):
            body, person = event.body, event.author.key
            is_decision = body.verdict is not ReviewDecision.COMMENT
            if is_decision:
                if person in last_decisions:
                    reviews[last_decisions[person]] = reviews[last_decisions[person]]._replace(is_last=False)
                last_decisions[person] = len(reviews)
            reviews.append(
                Review(event.id, event.author, event.time, body.verdict, body.text, body.commit, is_decision)
            )
    return tuple(reviews)


def collect_threads(events: Iterable[Event]) -> tuple[Thread, ...]:
    """Return the threads of events in order, in the order in which they began.

    The last resolution or reopening of a thread counts. A resolution may name any comment of the thread.
    """
    threads: list[tuple[Comment, list[Comment]]] = []
    thread_indexes: dict[str, int] = {}  # the thread of each comment
    resolutions: dict[int, ThreadResolution] = {}
    for event in events:
        body = event.body
        if isinstance(body, Resolved) and (index := thread_indexes.get(body.thread)) is not None:
            if not body.is_resolved:
                resolutions.pop(index, None)
            else:
                resolutions.setdefault(index, ThreadResolution(event.author, event.time))
        if not isinstance(body, Commented):
            continue
        comment = Comment(event.id, event.author, event.time, body.text, body.place, body.commit)
        index = thread_indexes.get(body.reply_to or "")
        if index is None:
            thread_indexes[event.id] = len(threads)
            threads.append((comment, []))
        else:
            thread_indexes[event.id] = index
            threads[index][1].append(comment)
    return tuple(
        Thread(comment, tuple(replies), resolutions.get(index))
        for index, (comment, replies) in enumerate(threads)
    )


_MAX_NAME_CHARACTERS = 60
_MAX_LISTED_IDS = 5
_MAX_CACHED_PROPOSALS = 10_000


class ProposalNotFound(WorkspaceError):
    """An error: no proposal has this id. `candidates` are the nearest ids."""

    code = "PROPOSAL_NOT_FOUND"


class AmbiguousProposal(ProposalNotFound):
    """An error: several proposals have ids that begin with this prefix. `candidates` are ids of them."""


class ProposalState(StrEnum):
    """The state of a proposal. If several states apply, the first of them is used."""

    MERGED = "merged"  # the target contains it
    CLOSED = "closed"  # it was closed, and not reopened
    GONE = "gone"  # its branch was deleted
    DRAFT = "draft"  # it was not submitted yet
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"  # by another person, at the current commit, and as the rules require
    OPEN = "open"


_END_STATES = (ProposalState.MERGED, ProposalState.CLOSED, ProposalState.GONE)


class CommitRelation(StrEnum):
    """The relation of a review's commit to the proposal."""

    CURRENT = "current"  # the proposal is at that commit
    EDITED = "edited"  # it has later commits
    REWRITTEN = "rewritten"  # it no longer has that commit: rebased, or reset
    GONE = "gone"  # its branch was deleted


class ReviewStatus(NamedTuple):
    """A review, and the relation of its commit to the current proposal.

    `is_own` is True if the author of the review also opened the proposal.
    """

    review: Review
    relation: CommitRelation
    is_own: bool

    @property
    def approves(self) -> bool:
        """Return True if this is another person's approval of exactly the current proposal."""
        return (
            self._is_valid_decision(ReviewDecision.APPROVE)
            and self.relation is CommitRelation.CURRENT
            and not self.is_own
        )

    @property
    def requests_changes(self) -> bool:
        """Return True for a change request that is not addressed; an edit alone does not address it."""
        return self._is_valid_decision(ReviewDecision.REQUEST_CHANGES)

    def _is_valid_decision(self, verdict: ReviewDecision) -> bool:
        return self.review.verdict is verdict and self.review.is_last


class Proposal(NamedTuple):
    """A proposal: its content, its state, and its tip (None if its branch is missing).

    `merge_record` is its merge into the target; `is_ahead` is True if it has later commits. `is_rewritten` is
    True if the branch no longer contains its last known commit. `unreadable_count` is the number of
    files that were not read as events. `unread_event_count` is the number of these files that may be events.
    """

    content: ProposalContent
    state: ProposalState
    tip: str | None
    merge_record: MergeRecord | None
    is_ahead: bool
    is_rewritten: bool
    reviews: tuple[ReviewStatus, ...]
    unreadable_count: int
    unread_event_count: int = 0

    @property
    def id(self) -> str:
        """The proposal's short id, which never changes."""
        return self.content.id

    @property
    def is_open(self) -> bool:
        """Return True if the proposal can still be changed and merged."""
        return self.state not in _END_STATES

    @property
    def approvals(self) -> tuple[Review, ...]:
        """The valid approvals."""
        return tuple(status.review for status in self.reviews if status.approves)


class Proposals:
    """The proposals of a repository. Thread-safe; replayed contents and data of commits are cached."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        self._detector = MergeDetector(git, self._graph)
        self._contents: LRUCache[str, tuple[ProposalEvents, ProposalContent | None]] = LRUCache(
            _MAX_CACHED_PROPOSALS
        )
        self._contained_commits: LRUCache[str, tuple[str, frozenset[str]]] = LRUCache(_MAX_CACHED_PROPOSALS)

    def list_all(self, discussion: Discussion) -> tuple[Proposal, ...]:
        """Return every proposal with a readable opening, the last opened first."""
        return self._list_current(discussion, discussion.proposals)

    def find(self, discussion: Discussion, name: str) -> Proposal:
        """Return the proposal of an id, of a prefix of it, or of a branch name that contains the id.

        Raises ProposalNotFound, AmbiguousProposal.
        """
        id = self.find_id(discussion, name)
        if id is None:
            raise self._make_not_found_error(name, discussion)
        return self._list_current(discussion, (id,))[0]

    def find_id(self, discussion: Discussion, name: str) -> str | None:
        """Return the id of the proposal that `find` returns; None if there is none.

        Raises AmbiguousProposal.
        """
        prefix = read_id_prefix(name)
        if prefix is None:
            return None
        ids = (prefix,) if is_id(prefix) else (id for id in discussion.proposals if id.startswith(prefix))
        opened_ids = [*islice(self._select_opened(discussion, ids), _MAX_LISTED_IDS + 1)]
        if len(opened_ids) > 1:
            listed_ids = sorted(opened_ids[:_MAX_LISTED_IDS])
            more = ", and others" if len(opened_ids) > _MAX_LISTED_IDS else ""
            raise AmbiguousProposal(
                f"the ids of several proposals begin with '{prefix}'",
                fix=f"Name one of {', '.join(listed_ids)}{more}.",
                candidates=listed_ids,
            )
        return opened_ids[0] if opened_ids else None

    def _select_opened(self, discussion: Discussion, ids: Iterable[str]) -> Iterator[str]:
        """Yield the ids of proposals; the others have only comments on documents."""
        return (id for id in ids if self._replay_cached(id, discussion.events_of(id)) is not None)

    def _make_not_found_error(self, name: str, discussion: Discussion) -> ProposalNotFound:
        shown_name = name if len(name) <= _MAX_NAME_CHARACTERS else name[:_MAX_NAME_CHARACTERS] + "…"

        def select_opened(ids: Iterable[str]) -> list[str]:
            return [*islice(self._select_opened(discussion, ids), _MAX_LISTED_IDS)]

        nearest_ids = select_opened(find_nearest(name, discussion.proposals))
        ids = nearest_ids or select_opened(discussion.proposals)
        if nearest_ids:
            fix = f"Did you mean '{nearest_ids[0]}'?"
        elif ids:
            fix = f"Name one by its id, such as '{ids[0]}'."
        else:
            fix = "There are no proposals yet: open one first."
        return ProposalNotFound(
            f"no proposal '{shown_name}'",
            fix=fix,
            candidates=ids,
        )

    def _list_current(self, discussion: Discussion, ids: Iterable[str]) -> tuple[Proposal, ...]:
        self._graph.refresh()
        tips = Tips(self._git)
        contents = {
            id: content
            for id in ids
            if (content := self._replay_cached(id, discussion.events_of(id))) is not None
        }
        tips_by_id = {id: tips.find(content.branch) for id, content in contents.items()}
        merge_records: dict[str, MergeRecord] = {}
        for target in sorted({content.target for content in contents.values()}):
            candidates = {
                id: MergeCandidate(content.find_base(tips_by_id[id]), tips_by_id[id])
                for id, content in contents.items()
                if content.target == target
            }
            commit = tips.find(target)
            if commit is not None:
                merge_records |= self._detector.find(commit, candidates)
        proposals = (
            self._build_proposal(content, tips_by_id[id], merge_records.get(id), discussion.events_of(id))
            for id, content in contents.items()
        )
        return tuple(
            sorted(proposals, key=lambda proposal: (proposal.content.opened_at, proposal.id), reverse=True),
        )

    def _replay_cached(self, id: str, proposal_events: ProposalEvents) -> ProposalContent | None:
        cached = self._contents.find(id)
        if cached is None or cached[0] is not proposal_events:
            cached = proposal_events, replay_events(proposal_events.events)
            self._contents.put(id, cached)
        return cached[1]

    def _list_contained_commits(self, content: ProposalContent, tip: str | None) -> frozenset[str]:
        """Return the known commits of a proposal that its tip still contains."""
        if tip is None:
            return frozenset()
        commits = frozenset([*content.known_commits, *(review.commit for review in content.reviews)])
        if self._contained_commits.find(content.id) == (tip, commits):
            return commits
        contained_commits = select_reachable(self._graph, tip, commits)
        if (
            contained_commits == commits
        ):  # a missing commit may be fetched later, as when a shallow clone is deepened
            self._contained_commits.put(content.id, (tip, commits))
        return contained_commits

    def _build_proposal(
        self,
        content: ProposalContent,
        tip: str | None,
        record: MergeRecord | None,
        proposal_events: ProposalEvents,
    ) -> Proposal:
        contained_commits = self._list_contained_commits(content, tip)
        reviews = tuple(
            ReviewStatus(
                review,
                _determine_relation(review.commit, tip, contained_commits),
                review.author.is_same(content.author),
            )
            for review in content.reviews
        )
        is_rewritten = (
            tip is not None
            and bool(content.known_commits)
            and content.known_commits[-1] not in contained_commits
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
            proposal_events.unreadable_count,
            proposal_events.unread_event_count,
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
    if any(status.requests_changes for status in reviews):
        return ProposalState.CHANGES_REQUESTED
    return ProposalState.APPROVED if any(status.approves for status in reviews) else ProposalState.OPEN


def _determine_relation(commit: str, tip: str | None, contained_commits: frozenset[str]) -> CommitRelation:
    if tip is None:
        return CommitRelation.GONE
    if commit == tip:
        return CommitRelation.CURRENT
    return CommitRelation.EDITED if commit in contained_commits else CommitRelation.REWRITTEN
