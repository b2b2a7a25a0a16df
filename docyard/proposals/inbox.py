"""The people whom each proposal of a repository concerns, read from its branches, rules, tokens and events.

Results are cached for each proposal, until its events, its commits, its target, the tokens or the people
change.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.lru_cache import LRUCache
from workspace.policy.protection import find_governing_rules
from workspace.policy.tokens import TokenOwners
from workspace.proposals.approvals import EffectiveReviews, evaluate_reviews
from workspace.proposals.attention import (
    Attention,
    AttentionReason,
    ProposalFacts,
    determine_attention,
)
from workspace.proposals.code_owners import CodeOwners, find_code_owners_file, read_code_owners
from workspace.proposals.participants import Participant, Participants

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.config.config import WorkspaceConfig
    from workspace.policy.protection import GoverningRule
    from workspace.policy.tokens import KnownPerson, Person
    from workspace.proposals.events import Author, Event
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.review import TargetTips
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_MAX_CACHED_PROPOSALS = 10_000
_MAX_CACHED_TARGETS = 8

REASON_LABELS = {
    AttentionReason.REVIEW: "Waits for your review",
    AttentionReason.CHANGES_REQUESTED: "Changes are requested",
    AttentionReason.CONFLICTS: "Conflicts with its target",
    AttentionReason.MENTIONED: "You are mentioned",
    AttentionReason.READY: "Ready to merge",
}
"""The reasons why a proposal needs a person, as text for this person."""


class _Target(NamedTuple):
    """The rules and the owners at the tip of a target branch; `config` is None for invalid settings."""

    tip: str
    config: WorkspaceConfig | None
    code_owners: CodeOwners | None


class _CachedAttention(NamedTuple):
    """The people of a proposal, and what they were determined from; events are compared as objects."""

    events: Sequence[Event]
    tip: str | None
    state: str
    target: _Target | None
    participants: Participants
    tokens: Mapping[str, KnownPerson]
    attention: Attention


class _CachedReadiness(NamedTuple):
    """The readiness of the proposal with this attention; a new attention needs a new evaluation."""

    attention: Attention
    is_ready: bool


class NeededProposals(NamedTuple):
    """The proposals that need a person: the reasons by the ids of the proposals.

    `unchecked` are the open proposals that were not read, own ones whose conflicts are unknown, and approved
    ones whose merge was not tried.
    """

    reasons: Mapping[str, tuple[AttentionReason, ...]]
    unchecked: tuple[Proposal, ...]


class Inbox:
    """The people whom the proposals of a workspace concern. Thread-safe."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._actions, self._reviews = workspace.proposal_actions(), workspace.proposal_reviews()
        self._tokens = workspace.tokens
        self._attentions: LRUCache[str, _CachedAttention] = LRUCache(_MAX_CACHED_PROPOSALS)
        self._readiness: LRUCache[str, _CachedReadiness] = LRUCache(_MAX_CACHED_PROPOSALS)
        self._targets: LRUCache[str, _Target] = LRUCache(_MAX_CACHED_TARGETS)
        self._code_owners: LRUCache[tuple[str, str], CodeOwners | None] = LRUCache(_MAX_CACHED_TARGETS)
        self._participants = Participants()
        self._people: tuple[Mapping[str, KnownPerson], frozenset[Author]] = {}, frozenset()
        self._last_events: tuple[Sequence[Proposal], Mapping[str, Sequence[Event]]] = (), {}
        self._lock = threading.Lock()

    def identify(self, person: Person | None) -> Participant:
        """Return the owner of a token; without a token, the author that Git's settings name."""
        if person is not None:
            return Participant(person.name, person.email, (person.token,))
        return Participant(*self._workspace.author())

    def list_people(self, proposals: Sequence[Proposal]) -> Participants:
        """Return the owners of tokens and the authors of proposals and of their comments."""
        return self._update_participants(self._read_tokens(), self._list_events(proposals))

    def find_needed(
        self,
        proposals: Sequence[Proposal],
        person: Participant,
        *,
        max_merge_s: float | None = None,
        max_read_s: float | None = None,
    ) -> NeededProposals:
        """Return the open proposals that need a person; `proposals` are all of the repository.

        The limits are those of `read_all`.
        """
        open_proposals = [proposal for proposal in proposals if proposal.is_open]
        attentions = self.read_all(
            open_proposals, proposals, max_merge_s=max_merge_s, max_read_s=max_read_s, person=person
        )
        reasons = {id: attention.find_reasons(person) for id, attention in attentions.items()}
        return NeededProposals(
            {id: found for id, found in reasons.items() if found},
            tuple(
                proposal
                for proposal in open_proposals
                if proposal.id not in attentions or _is_unchecked(attentions[proposal.id], person)
            ),
        )

    def read_all(
        self,
        selected_proposals: Iterable[Proposal],
        proposals: Sequence[Proposal],
        *,
        max_merge_s: float | None = None,
        max_read_s: float | None = None,
        person: Participant | None = None,
    ) -> dict[str, Attention]:
        """Return the people whom the selected proposals concern, by the ids of the proposals.

        `proposals` are all of the repository. If `person` is given, conflicts are searched only in proposals
        that this person owns, and approved proposals that this person may merge are checked for being ready.
        Merges are computed for at most `max_merge_s` seconds; further conflicts are
        unknown. After `max_read_s` seconds, the remaining proposals are omitted.
        """
        tokens = self._read_tokens()
        events = self._list_events(proposals)
        participants = self._update_participants(tokens, events)
        tips: TargetTips = {}
        targets: dict[str, _Target | None] = {}
        start = time.monotonic()
        attentions: dict[str, Attention] = {}
        for proposal in selected_proposals:
            if _is_over(start, max_read_s):
                break
            branch = proposal.content.target
            if branch not in targets:
                targets[branch] = self._read_target(branch)
            facts_key = (events.get(proposal.id, ()), targets[branch], participants, tokens)
            attention = determined = self._determine(proposal, *facts_key, tips)
            if proposal.is_open and (person is None or person.key == attention.owner.key):
                may_merge = not _is_over(start, max_merge_s)
                attention = attention._replace(
                    has_conflicts=self._reviews.has_conflicts(proposal, tips, may_merge=may_merge)
                )
            if determined.is_ready is None and person is not None and determined.may_merge(person):
                may_merge = not _is_over(start, max_merge_s)
                attention = attention._replace(
                    is_ready=self._check_readiness(proposal, determined, may_merge=may_merge)
                )
            attentions[proposal.id] = attention
        return attentions

    def _check_readiness(self, proposal: Proposal, attention: Attention, *, may_merge: bool) -> bool | None:
        """Return True if no requirement of a merge is missing; None if it is unknown and is not tried."""
        cached = self._readiness.find(proposal.id)
        if cached is not None and cached.attention is attention:
            return cached.is_ready
        if not may_merge:
            return None
        requirements = self._actions.find_merge_requirements(proposal, self._reviews.preview(proposal))
        is_ready = all(blocker.only_clients for blocker in requirements.blockers)
        self._readiness.put(proposal.id, _CachedReadiness(attention, is_ready))
        return is_ready

    def _list_events(self, proposals: Sequence[Proposal]) -> Mapping[str, Sequence[Event]]:
        """Return the events of all proposals; those of the last call if it had the same object."""
        last_proposals, events = self._last_events
        if last_proposals is not proposals or not proposals:
            events = self._actions.list_events_by_id(proposal.id for proposal in proposals)
            self._last_events = proposals, events
        return events

    def _read_tokens(self) -> Mapping[str, KnownPerson]:
        try:
            return self._tokens.read_all()
        except WorkspaceError:  # `docyard doctor` and each decision report it
            return {}

    def _update_participants(
        self, tokens: Mapping[str, KnownPerson], events: Mapping[str, Sequence[Event]]
    ) -> Participants:
        """Return the people of the repository; the same object while they are unchanged."""
        authors = frozenset(event.author for proposal_events in events.values() for event in proposal_events)
        with self._lock:
            if self._people != (tokens, authors):
                owners = [owner.person for _, owner in sorted(tokens.items())]
                self._participants = Participants(owners, sorted(authors))
                self._people = tokens, authors
            return self._participants

    def _read_target(self, branch: str) -> _Target | None:
        """Return the rules and owners of a target; None if it was deleted or cannot be read."""
        try:
            tip = self._workspace.git.tip(branch)
            return self._targets.get(tip, self._build_target, tip) if tip is not None else None
        except WorkspaceError:
            return None

    def _build_target(self, tip: str) -> _Target:
        snapshot = self._workspace.snapshot(tip)
        try:
            config: WorkspaceConfig | None = snapshot.config
        except WorkspaceError:  # the page of the proposal shows the error
            config = None
        return _Target(tip, config, self._read_code_owners(snapshot))

    def _read_code_owners(self, snapshot: Snapshot) -> CodeOwners | None:
        found = find_code_owners_file(snapshot)
        return self._code_owners.get(found, read_code_owners, snapshot) if found is not None else None

    def _determine(
        self,
        proposal: Proposal,
        events: Sequence[Event],
        target: _Target | None,
        participants: Participants,
        tokens: Mapping[str, KnownPerson],
        tips: TargetTips,
    ) -> Attention:
        cached = self._attentions.find(proposal.id)
        if (
            cached is not None
            and cached.events is events
            and (cached.tip, cached.state) == (proposal.tip, proposal.state.value)
            and cached.target is target
            and cached.participants is participants
            and cached.tokens is tokens
        ):
            return cached.attention
        attention = determine_attention(
            self._read_facts(proposal, events, target, tokens, tips), participants
        )
        self._attentions.put(
            proposal.id,
            _CachedAttention(
                events, proposal.tip, proposal.state.value, target, participants, tokens, attention
            ),
        )
        return attention

    def _read_facts(
        self,
        proposal: Proposal,
        events: Sequence[Event],
        target: _Target | None,
        tokens: Mapping[str, KnownPerson],
        tips: TargetTips,
    ) -> ProposalFacts:
        commit_authors: frozenset[str] = frozenset()
        governing_rules: Sequence[GoverningRule] = ()
        owner_groups: Sequence[tuple[str, ...]] = ()
        try:
            if proposal.is_open and target is not None:
                commit_authors = self._reviews.commit_authors(proposal, tips)
                if target.config is not None and target.config.protect:
                    touched_paths = self._reviews.find_touched_paths(proposal, target.config, tips)
                    governing_rules = find_governing_rules(target.config, touched_paths)
                if target.code_owners is not None:
                    paths = self._reviews.changed_paths(proposal, tips)
                    owner_groups = target.code_owners.list_owner_groups(paths)
        except WorkspaceError:  # such as a commit that a shallow clone lacks
            pass
        reviews = (
            evaluate_reviews(proposal, events, TokenOwners(lambda: tokens), commit_authors)
            if proposal.reviews
            else EffectiveReviews((), (), {})
        )
        notes = target.code_owners.problems if target is not None and target.code_owners is not None else ()
        return ProposalFacts(
            proposal, events, reviews, commit_authors, governing_rules, owner_groups, notes=notes
        )


def _is_over(start: float, limit_s: float | None) -> bool:
    """Return True if a time limit since `start` is over; without a limit, it never is."""
    return limit_s is not None and time.monotonic() - start >= limit_s


def _is_unchecked(attention: Attention, person: Participant) -> bool:
    """Return True if the conflicts of a person's own proposal are unknown, or a merge was not tried."""
    lacks_conflicts = attention.has_conflicts is None and attention.owner.key == person.key
    return lacks_conflicts or (attention.is_ready is None and attention.may_merge(person))


def get_inbox(workspace: Workspace) -> Inbox:
    """Return the inbox of a workspace; all branches have the same object."""
    return workspace.shared(Inbox, lambda: Inbox(workspace.served_branch))
