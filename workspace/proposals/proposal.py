"""A proposal as it stands now, from what was said of it and from where the branches are.

State is derived each time and stored nowhere: who moves, merges or deletes a branch by hand has said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import nearest
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, reached
from workspace.git.tips import Tips
from workspace.lru_cache import LRUCache
from workspace.proposal_ids import read_id
from workspace.proposals.events import Verdict
from workspace.proposals.landing import Asked, Landing, Landings
from workspace.proposals.told import Review, Told, told

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.proposals.discussion import Discussion, Said

_SHOWN = 60
_LISTED = 5
_REMEMBERED = 10_000


class ProposalNotFound(WorkspaceError):
    """No proposal has this id. `candidates` are the nearest ids."""

    code = "PROPOSAL_NOT_FOUND"


class State(StrEnum):
    """Where a proposal is on its way; of several that hold, the first of these counts."""

    MERGED = "merged"  # the target has taken it in
    CLOSED = "closed"  # it was given up
    GONE = "gone"  # its branch was deleted
    DRAFT = "draft"  # no review was asked for yet
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"  # by someone else, as it is now; how many are needed is the policy's
    OPEN = "open"


_ENDED = (State.MERGED, State.CLOSED, State.GONE)


class Bond(StrEnum):
    """How a verdict holds to the commit that it was given on."""

    CURRENT = "current"  # the proposal is at that commit
    EDITED = "edited"  # it has gone on from there
    REWRITTEN = "rewritten"  # it no longer has that commit: rebased, or reset
    GONE = "gone"  # it has no branch any more


class BoundReview(NamedTuple):
    """A verdict, whether it holds for the proposal as it is, and whether it is on one's own proposal."""

    review: Review
    bond: Bond
    is_own: bool

    @property
    def approves(self) -> bool:
        """Whether this is another person's approval of just what the proposal is now."""
        return self._counts(Verdict.APPROVE) and self.bond is Bond.CURRENT and not self.is_own

    @property
    def asks_for_changes(self) -> bool:
        """Whether changes are asked for that were not answered yet; an edit alone is no answer."""
        return self._counts(Verdict.REQUEST_CHANGES)

    def _counts(self, verdict: Verdict) -> bool:
        return self.review.verdict is verdict and self.review.is_last


class Proposal(NamedTuple):
    """A proposal: its words, its state, and its tip (None where its branch is gone).

    `landing` is where the target took it in; `is_ahead` says that it went on after that. `is_rewritten` says
    that it no longer has a commit that it was known to have. `unreadable` counts files that are no events,
    and `unread` those of them that may be.
    """

    words: Told
    state: State
    tip: str | None
    landing: Landing | None
    is_ahead: bool
    is_rewritten: bool
    reviews: tuple[BoundReview, ...]
    unreadable: int
    unread: int = 0

    @property
    def id(self) -> str:
        """Its short name, which nothing changes."""
        return self.words.id

    @property
    def is_open(self) -> bool:
        """Whether it may still be written to and merged: it has not ended."""
        return self.state not in _ENDED

    @property
    def approvals(self) -> tuple[Review, ...]:
        """The approvals that hold."""
        return tuple(bound.review for bound in self.reviews if bound.approves)


class Proposals:
    """The proposals of a repository. Safe in several threads; what is known of commits is kept."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        self._landings = Landings(git, self._graph)
        self._told: LRUCache[str, tuple[Said, Told | None]] = LRUCache(_REMEMBERED)
        self._had: LRUCache[str, tuple[str, frozenset[str]]] = LRUCache(_REMEMBERED)

    def all(self, discussion: Discussion) -> tuple[Proposal, ...]:
        """Every proposal of which an opening can be read, the one that was opened last first."""
        return self._standing(discussion, discussion.proposals)

    def one(self, discussion: Discussion, name: str) -> Proposal:
        """The proposal of an id, or of a branch that is named after it. Raises ProposalNotFound."""
        id = read_id(name)
        found = self._standing(discussion, (id,)) if id is not None else ()
        if not found:
            raise _not_found(name, discussion.proposals)
        return found[0]

    def _standing(self, discussion: Discussion, ids: Iterable[str]) -> tuple[Proposal, ...]:
        self._graph.look()
        tips = Tips(self._git)
        known = {id: words for id in ids if (words := self._words(id, discussion.of(id))) is not None}
        at = {id: tips.of(words.branch) for id, words in known.items()}
        landed: dict[str, Landing] = {}
        for target in sorted({words.target for words in known.values()}):
            asked = {
                id: Asked(words.base_of(at[id]), at[id])
                for id, words in known.items()
                if words.target == target
            }
            commit = tips.of(target)
            if commit is not None:
                landed |= self._landings.find(commit, asked)
        found = (self._one(words, at[id], landed.get(id), discussion.of(id)) for id, words in known.items())
        return tuple(
            sorted(found, key=lambda one: (one.words.opened, one.id), reverse=True),
        )

    def _words(self, id: str, said: Said) -> Told | None:
        kept = self._told.find(id)
        if kept is None or kept[0] is not said:
            kept = said, told(said.events)
            self._told.put(id, kept)
        return kept[1]

    def _commits_of(self, words: Told, tip: str | None) -> frozenset[str]:
        """Those of the commits that a proposal is known to have had that its tip still has."""
        if tip is None:
            return frozenset()
        commits = frozenset([*words.commits, *(review.commit for review in words.reviews)])
        if self._had.find(words.id) == (tip, commits):
            return commits
        had = reached(self._graph, tip, commits)
        if had == commits:  # what is missing may come yet, as when a shallow clone is deepened
            self._had.put(words.id, (tip, commits))
        return had

    def _one(self, words: Told, tip: str | None, landing: Landing | None, said: Said) -> Proposal:
        had = self._commits_of(words, tip)
        reviews = tuple(
            BoundReview(review, _bond(review.commit, tip, had), review.author.is_same(words.author))
            for review in words.reviews
        )
        is_rewritten = tip is not None and bool(words.commits) and words.commits[-1] not in had
        is_ahead = landing is not None and tip is not None and tip != landing.tip
        return Proposal(
            words,
            _state(words, tip, landing, reviews),
            tip,
            landing,
            is_ahead,
            is_rewritten,
            reviews,
            said.unreadable,
            said.unread,
        )


def _state(words: Told, tip: str | None, landing: Landing | None, reviews: Sequence[BoundReview]) -> State:
    if landing is not None:
        return State.MERGED
    if words.closed is not None:
        return State.CLOSED
    if tip is None:
        return State.GONE
    if words.submitted is None:
        return State.DRAFT
    if any(bound.asks_for_changes for bound in reviews):
        return State.CHANGES_REQUESTED
    return State.APPROVED if any(bound.approves for bound in reviews) else State.OPEN


def _bond(commit: str, tip: str | None, had: frozenset[str]) -> Bond:
    if tip is None:
        return Bond.GONE
    if commit == tip:
        return Bond.CURRENT
    return Bond.EDITED if commit in had else Bond.REWRITTEN


def _not_found(name: str, ids: Sequence[str]) -> ProposalNotFound:
    shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    close = nearest(name, ids) or [*ids[:_LISTED]]
    return ProposalNotFound(
        f"no proposal '{shown}'",
        fix=f"Name one by its id, such as '{close[0]}'." if close else "There is none yet: open one first.",
        candidates=close,
    )
