"""The people whom a proposal concerns: its owner, its reviewers, those who are mentioned; and the reasons.

Reviewers are named by the rules of `docyard.toml` and by CODEOWNERS. Only the rules decide whether a merge
is allowed. If nobody is named, or the named reviewers have decided and a rule needs more approvals, any
person may review.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.proposals.approvals import VoidReason
from workspace.proposals.events import (
    Closed,
    Commented,
    Edited,
    IdentitySource,
    Opened,
    Reopened,
    ReviewDecision,
    Reviewed,
)
from workspace.proposals.participants import Participant, Participants
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from workspace.policy.protection import GoverningRule
    from workspace.proposals.approvals import EffectiveReviews
    from workspace.proposals.events import Author, Event
    from workspace.proposals.proposal import Proposal, Review

_MAX_MENTIONS = 1_000  # of one proposal


class AttentionReason(StrEnum):
    """The reason why a proposal needs a person."""

    REVIEW = "review"  # it waits for the person's review
    CHANGES_REQUESTED = "changes_requested"  # the person's own proposal has a change request
    CONFLICTS = "conflicts"  # the person's own proposal conflicts with its target
    MENTIONED = "mentioned"  # the person has not answered a mention
    READY = "ready"  # it is approved, and the person may merge it


class ReviewerSource(StrEnum):
    """The file that names a reviewer."""

    RULE = "rule"  # `approvers` of a rule of docyard.toml
    CODE_OWNERS = "codeowners"


class Reviewer(NamedTuple):
    """A named reviewer: `name` as the file names it, and the person; None for a team or an unknown name.

    `decision` is the person's decision on the current commit. `is_awaited` is True if the proposal waits for
    the review.
    """

    name: str
    person: Participant | None
    sources: tuple[ReviewerSource, ...]
    decision: ReviewDecision | None = None
    is_awaited: bool = False


class PersonMention(NamedTuple):
    """A mention of a person: the event whose text has it, and that event's author and time.

    `is_answered` is True if the person wrote in the proposal later, or the thread is resolved.
    """

    person: Participant
    event_id: str
    author: Participant
    time: datetime
    is_answered: bool


class ApprovalCount(NamedTuple):
    """The approvals of the current commit, and how many the rule needs that lacks most; 0 without a rule."""

    given: int
    needed: int

    @property
    def is_met(self) -> bool:
        """Return True if no rule lacks an approval."""
        return self.given >= self.needed


class Attention(NamedTuple):
    """The people whom a proposal concerns.

    `owner` opened it, or a client did in the owner's name (`is_by_client`). `authors` are the keys of people
    who cannot approve it. `awaits_anyone` is True if it waits for a review by any person but its authors and
    `deciders`, the keys of people who decided on the current commit. `has_conflicts` is None if it is
    unknown. `notes` are problems of CODEOWNERS. `is_ready` is True if no requirement of a merge is missing;
    None if it has its approvals, and the merge was not tried. `merge_tokens` are the names of tokens that
    each rule permits to merge; an empty list permits all.
    """

    owner: Participant
    is_by_client: bool
    authors: frozenset[str]
    deciders: frozenset[str]
    reviewers: tuple[Reviewer, ...]
    awaits_anyone: bool
    approvals: ApprovalCount
    approved_by: tuple[Participant, ...]
    changes_requested_by: tuple[Participant, ...]
    mentions: tuple[PersonMention, ...]
    has_conflicts: bool | None
    notes: tuple[str, ...] = ()
    is_ready: bool | None = False
    merge_tokens: tuple[tuple[str, ...], ...] = ()

    @property
    def awaited_people(self) -> tuple[Participant, ...]:
        """The named reviewers whose review the proposal waits for."""
        return tuple(
            reviewer.person
            for reviewer in self.reviewers
            if reviewer.is_awaited and reviewer.person is not None
        )

    def find_reasons(self, person: Participant) -> tuple[AttentionReason, ...]:
        """Return the reasons why the proposal needs a person; empty if it does not."""
        key = person.key
        is_owner = key == self.owner.key
        conditions = {
            AttentionReason.REVIEW: self._awaits(key),
            AttentionReason.CHANGES_REQUESTED: is_owner and bool(self.changes_requested_by),
            AttentionReason.CONFLICTS: is_owner and self.has_conflicts is True,
            AttentionReason.MENTIONED: any(
                mention.person.key == key and not mention.is_answered for mention in self.mentions
            ),
            AttentionReason.READY: self.is_ready is True and self.may_merge(person),
        }
        return tuple(reason for reason, applies in conditions.items() if applies)

    def may_merge(self, person: Participant) -> bool:
        """Return True if the rules permit a person to merge; without a rule, every person may."""
        return not self.merge_tokens or any(
            all(not names or token in names for names in self.merge_tokens) for token in person.tokens
        )

    def list_concerned(self) -> Mapping[Participant, tuple[AttentionReason, ...]]:
        """Return the people who are named by the proposal and needed by it, with the reasons.

        If `awaits_anyone` is True, it also waits for a review by any other person.
        """
        people = (self.owner, *self.awaited_people, *(mention.person for mention in self.mentions))
        reasons_by_person = {person: self.find_reasons(person) for person in dict.fromkeys(people)}
        return {person: reasons for person, reasons in reasons_by_person.items() if reasons}

    def _awaits(self, key: str) -> bool:
        if any(person.key == key for person in self.awaited_people):
            return True
        return self.awaits_anyone and key not in self.authors and key not in self.deciders


class ProposalFacts(NamedTuple):
    """The facts about a proposal from which its `Attention` follows.

    `events` are in order. `commit_authors` are the case-folded addresses of people who wrote commits by hand.
    `governing_rules` are the rules that govern its paths. `owner_groups` are the owners of its paths by
    CODEOWNERS, one group for each deciding line.
    """

    proposal: Proposal
    events: Sequence[Event]
    reviews: EffectiveReviews
    commit_authors: frozenset[str] = frozenset()
    governing_rules: Sequence[GoverningRule] = ()
    owner_groups: Sequence[tuple[str, ...]] = ()
    has_conflicts: bool | None = None
    notes: tuple[str, ...] = ()


def determine_attention(facts: ProposalFacts, participants: Participants) -> Attention:
    """Return the people whom a proposal concerns. An ended proposal waits for nobody."""
    proposal = facts.proposal
    opener = proposal.content.author
    is_by_client = opener.known_by is IdentitySource.CLIENT
    owner = participants.recognize(opener)
    authors = facts.commit_authors if is_by_client else facts.commit_authors | {owner.key}
    approved_by = _list_approvers(facts, participants)
    requesters = _recognize_all(facts.reviews.change_requesters, participants)
    # A client's request is no decision of the person in whose name the client writes.
    deciders = _recognize_all(
        (
            author
            for author in facts.reviews.change_requesters
            if author.known_by is not IdentitySource.CLIENT
        ),
        participants,
    )
    needs = _ReviewNeeds(facts, participants, authors, frozenset(person.key for person in approved_by))
    awaits_review = proposal.state in (ProposalState.OPEN, ProposalState.APPROVED) and not requesters
    reviewers = _list_reviewers(needs, deciders, awaits_review=awaits_review)
    is_named_awaited = any(reviewer.is_awaited and reviewer.person is not None for reviewer in reviewers)
    return Attention(
        owner,
        is_by_client,
        authors,
        frozenset(person.key for person in (*approved_by, *deciders)),
        reviewers,
        awaits_review and not is_named_awaited and needs.may_be_met_by_anyone,
        needs.approvals,
        approved_by,
        requesters if proposal.is_open else (),
        _list_mentions(facts, participants),
        facts.has_conflicts if proposal.is_open else False,
        facts.notes,
        None if awaits_review and _is_approved(proposal, needs) else False,
        tuple(governing_rule.rule.merge for governing_rule in facts.governing_rules),
    )


def _is_approved(proposal: Proposal, needs: _ReviewNeeds) -> bool:
    return proposal.state is ProposalState.APPROVED and needs.approvals.is_met


def _recognize_all(authors: Iterable[Author], participants: Participants) -> tuple[Participant, ...]:
    return tuple(dict.fromkeys(participants.recognize(author) for author in authors))


_UNPROVEN = (VoidReason.NO_TOKEN, VoidReason.UNKNOWN_TOKEN, VoidReason.NO_SCOPE)


def _list_approvers(facts: ProposalFacts, participants: Participants) -> tuple[Participant, ...]:
    """Return the people who approved the current commit; without a rule, approvals need no proof.

    The approvals of a merged proposal stay as they were at the merge, also if a token was revoked since.
    """
    if facts.proposal.state is ProposalState.MERGED:
        return _recognize_all(
            (review.author for review in _list_merged_approvals(facts.proposal)), participants
        )
    people = [participants.find_by_token(person.token) for person in facts.reviews.approvers]
    if not facts.governing_rules:
        void_reasons = facts.reviews.void_reasons
        people += [
            participants.recognize(review.author)
            for review in facts.proposal.approvals
            if void_reasons.get(review.id, VoidReason.NO_TOKEN) in _UNPROVEN
        ]
    return tuple(dict.fromkeys(person for person in people if person is not None))


def _list_merged_approvals(proposal: Proposal) -> list[Review]:
    """Return the last approvals of the merged commit by others than the author."""
    record = proposal.merge_record
    merged_commit = record.tip if record is not None else None
    return [
        status.review
        for status in proposal.reviews
        if status.review.verdict is ReviewDecision.APPROVE
        and status.review.is_last
        and not status.is_own
        and status.review.commit == merged_commit
    ]


class _ReviewNeeds:
    """The reviews that a proposal lacks: the names that rules and CODEOWNERS give, and their people."""

    def __init__(
        self,
        facts: ProposalFacts,
        participants: Participants,
        authors: frozenset[str],
        approver_keys: frozenset[str],
    ) -> None:
        self.authors, self.approver_keys = authors, approver_keys
        self.people: dict[str, Participant | None] = {}
        self.sources: dict[str, dict[ReviewerSource, None]] = {}
        self.awaited_names: set[str] = set()
        counts = [
            self._add_rule(governing_rule, facts, participants) for governing_rule in facts.governing_rules
        ]
        for group in facts.owner_groups:
            self._add_group(group, participants)
        self.approvals = max(
            counts,
            key=lambda count: (count.needed - count.given, count.needed),
            default=ApprovalCount(len(approver_keys), 0),
        )
        needs_anyone = any(
            not governing_rule.rule.approvers and not count.is_met
            for governing_rule, count in zip(facts.governing_rules, counts, strict=True)
        )
        is_unreviewed = not facts.governing_rules and not approver_keys
        self.may_be_met_by_anyone = needs_anyone or is_unreviewed

    def _add_rule(
        self, governing_rule: GoverningRule, facts: ProposalFacts, participants: Participants
    ) -> ApprovalCount:
        rule = governing_rule.rule
        count = ApprovalCount(len(facts.reviews.list_approver_tokens(rule)), rule.approvals)
        for token in rule.approvers if rule.approvals else ():
            name = f"@{token}"
            self._add_name(name, participants.find_by_token(token), ReviewerSource.RULE)
            if not count.is_met:
                self._await(name)
        return count

    def _add_group(self, group: tuple[str, ...], participants: Participants) -> None:
        """Add the owners of some paths; one of them reviews for all."""
        for name in group:
            address = name if not name.startswith("@") else ""
            person = (
                participants.find_by_email(address) or Participant("", address)
                if address
                else participants.find_by_handle(name)
            )
            self._add_name(name, person, ReviewerSource.CODE_OWNERS)
        people = [person for name in group if (person := self.people[name]) is not None]
        if not any(person.key in self.approver_keys for person in people):
            for name in group:
                self._await(name)

    def _add_name(self, name: str, person: Participant | None, source: ReviewerSource) -> None:
        self.people.setdefault(name, person)
        self.sources.setdefault(name, {})[source] = None

    def _await(self, name: str) -> None:
        person = self.people[name]
        if person is None or person.key not in self.authors | self.approver_keys:
            self.awaited_names.add(name)


def _list_reviewers(
    needs: _ReviewNeeds, requesters: Sequence[Participant], *, awaits_review: bool
) -> tuple[Reviewer, ...]:
    requester_keys = {person.key for person in requesters}
    reviewers = []
    for name, person in needs.people.items():
        decision = None
        if person is not None and person.key in requester_keys:
            decision = ReviewDecision.REQUEST_CHANGES
        elif person is not None and person.key in needs.approver_keys:
            decision = ReviewDecision.APPROVE
        is_awaited = awaits_review and decision is None and name in needs.awaited_names
        reviewers.append(Reviewer(name, person, tuple(needs.sources[name]), decision, is_awaited))
    return tuple(reviewers)


def _list_mentions(facts: ProposalFacts, participants: Participants) -> tuple[PersonMention, ...]:
    """Return the mentions in the current description and in all comments, in order."""
    resolved_ids = {
        comment.id
        for thread in facts.proposal.content.threads
        if thread.resolution is not None
        for comment in (thread.comment, *thread.replies)
    }
    last_positions: dict[str, int] = {}  # the last event of each person
    texts: dict[str, tuple[int, str]] = {}
    for position, event in enumerate(facts.events):
        if event.author.known_by is not IdentitySource.CLIENT:
            last_positions[participants.recognize(event.author).key] = position
        match event.body:
            case Opened(description=text) | Edited(description=str(text)):
                texts["description"] = position, text
            case Commented(text=text) | Reviewed(text=text) | Closed(text=text) | Reopened(text=text):
                texts[event.id] = position, text
    mentions = []
    for position, text in texts.values():
        event = facts.events[position]
        author = participants.recognize(event.author)
        is_by_client = event.author.known_by is IdentitySource.CLIENT
        for person in participants.list_mentioned(text):
            if person.key != author.key or is_by_client:
                is_answered = (
                    last_positions.get(person.key, -1) > position
                    or event.id in resolved_ids
                    or not facts.proposal.is_open
                )
                mentions.append(PersonMention(person, event.id, author, event.time, is_answered))
    return tuple(mentions[:_MAX_MENTIONS])
