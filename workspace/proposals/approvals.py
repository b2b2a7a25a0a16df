"""The check of who may approve a proposal, and the selection of its valid reviews.

The validity of a review depends on the events, on its seal, and on the tokens of this repository. The merge
gate and the state of a proposal apply the `approvers` of a rule.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import list_commits_between
from workspace.git.messages import (
    CLIENT_TRAILER,
    DECIDED_BY_TRAILER,
    PERSON_TRAILER,
    SUGGESTED_BY_TRAILER,
    read_co_author_emails,
    read_trailers,
)
from workspace.policy.tokens import REVIEW_SCOPE
from workspace.proposals.events import Author, IdentitySource, ReviewDecision, Reviewed, Submitted
from workspace.proposals.proposal import CommitRelation

if TYPE_CHECKING:
    from workspace.config.tables import Protection
    from workspace.git.ancestry import Graph
    from workspace.git.objects import Commit
    from workspace.git.reader import GitReader
    from workspace.policy.tokens import Keyring, KnownPerson, Person
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Proposal, ReviewStatus

_NONCE_CHARACTERS = 32
_SEAL_VERSION = "docyard verdict 1"


class NeedsPerson(WorkspaceError):
    """An error: an action requires a person, proved by a token. An agent cannot do it."""

    code: ClassVar[str] = "NEEDS_PERSON"


def make_needs_person_error(name: str, action: str) -> NeedsPerson:
    """Return the error for an action that an agent cannot do, with the command for a person."""
    return NeedsPerson(
        f"only a person with a token can {action} this proposal",
        fix=f"A person runs `docyard proposals {action} {name}` in a terminal of their own.",
        command=f"docyard proposals {action} {name}",
    )


def make_needs_review_scope_error(name: str, action: str) -> NeedsPerson:
    """Return the error for a review with a token that permits none, with the ways for a person."""
    command = f"docyard proposals {action} {name}"
    return NeedsPerson(
        f"a token without the scope {REVIEW_SCOPE} cannot {action} this proposal",
        fix=f"A person does this on the proposal's page, or runs `{command}` in a terminal of their own.",
        command=command,
        scope=REVIEW_SCOPE,
    )


class OwnProposal(WorkspaceError):
    """An error: the reviewer is an author of the proposal, and cannot approve it."""

    code: ClassVar[str] = "OWN_PROPOSAL"


def check_not_own(git: GitReader, graph: Graph, proposal: Proposal, reviewer: Author) -> None:
    """Raise OwnProposal if the reviewer opened the proposal, or is an author of it by its commits."""
    target = git.tip(proposal.content.target)
    commits_by_author: Mapping[str, str] = {}
    if target is not None and proposal.tip is not None:
        commits_by_author = map_commit_authors(git, graph, proposal.tip, target)
    if reviewer.is_same(proposal.content.author):
        raise OwnProposal(
            "the author of a proposal cannot approve it: you opened this one",
            fix="Ask another person to review it.",
            proposal=proposal.id,
        )
    commit = commits_by_author.get(reviewer.email.casefold())
    if commit is not None:
        raise OwnProposal(
            f"the author of a proposal cannot approve it: you are an author by the commit {commit[:8]}",
            fix="Ask another person to review it. Conflicts that an agent resolves make no person an author.",
            proposal=proposal.id,
            author_commit=commit,
        )


def create_seal(
    key: bytes, *, proposal: str, target: str, verdict: ReviewDecision, commit: str, token: str
) -> str:
    """Return a new seal, which binds a token's decision to a proposal, its target branch and a commit."""
    nonce = secrets.token_hex(_NONCE_CHARACTERS // 2)
    return nonce + _compute_mac(key, nonce, proposal, target, verdict, commit, token)


def is_valid_seal(
    seal: str | None,
    key: bytes,
    *,
    proposal: str,
    target: str,
    verdict: ReviewDecision,
    commit: str,
    token: str,
) -> bool:
    """Return True if `seal` was made with the key for exactly this decision."""
    if seal is None:
        return False
    expected = _compute_mac(key, seal[:_NONCE_CHARACTERS], proposal, target, verdict, commit, token)
    return hmac.compare_digest(seal[_NONCE_CHARACTERS:].encode(), expected.encode())


def _compute_mac(
    key: bytes, nonce: str, proposal: str, target: str, verdict: ReviewDecision, commit: str, token: str
) -> str:
    # JSON encodes different lists of texts as different bytes.
    message = json.dumps([_SEAL_VERSION, nonce, proposal, target, verdict.value, commit, token])
    return hmac.new(key, message.encode(), hashlib.sha256).hexdigest()


_ReviewerKey = tuple[IdentitySource, str, bool]
"""A reviewer: how the reviewer is known, the address or label, and True if a token proves it."""


class VoidReason(StrEnum):
    """The reason why a review does not count."""

    NO_TOKEN = "no_token"  # it was made without a token
    UNKNOWN_TOKEN = "unknown_token"  # no token of this name is known here
    NO_SCOPE = "no_scope"  # the token of this name does not permit reviews
    UNSEALED = "unsealed"  # it has no seal of that token, or a seal for another decision
    COPIED = "copied"  # another event has the same seal
    REPLACED = "replaced"  # the same person made another decision later
    OUTDATED = "outdated"  # the proposal is at another commit now
    UNSEEN = "unseen"  # the merge would protect text that the reviewed commit does not contain
    NOT_APPROVER = "not_approver"  # no rule that needs approvals lists the person as an approver
    OWN = "own"  # the person opened the proposal, or wrote commits of it
    REWRITTEN = "rewritten"  # the proposal no longer has the reviewed commit
    GONE = "gone"  # the branch of the proposal was deleted
    ANSWERED = "answered"  # the proposal was submitted with other content after the requested changes


_REASON_BY_RELATION = {
    CommitRelation.EDITED: VoidReason.OUTDATED,
    CommitRelation.REWRITTEN: VoidReason.REWRITTEN,
    CommitRelation.GONE: VoidReason.GONE,
}


class EffectiveReviews(NamedTuple):
    """The valid reviews: approvals, separately for each token of a person, and change requests.

    `void_reasons` maps the event id of each other approval to the reason why it does not count.
    `approvals` maps the event id of each valid approval to its person.
    """

    approvers: tuple[Person, ...]
    change_requesters: tuple[Author, ...]
    void_reasons: Mapping[str, VoidReason]
    approvals: Mapping[str, Person] = MappingProxyType({})

    def list_approver_tokens(self, rule: Protection) -> tuple[str, ...]:
        """Return the names of the tokens whose approvals count for a rule, one for each person."""
        people = {
            normalize_address(person): person.token
            for person in reversed(self.approvers)
            if is_approver(rule, person)
        }
        return tuple(sorted(people.values()))


def is_approver(rule: Protection, person: Person) -> bool:
    """Return True if an approval by a person's token counts for a rule."""
    return not rule.approvers or person.token in rule.approvers


class _Approval(NamedTuple):
    event_id: str
    commit: str
    person: Person


def evaluate_reviews(
    proposal: Proposal,
    events: Sequence[Event],
    tokens: Keyring,
    commit_authors: frozenset[str] = frozenset(),
    *,
    is_all_reviewed: bool = True,
) -> EffectiveReviews:
    """Return the valid reviews of a proposal.

    `events` are its events in order. `commit_authors` are the addresses of people who wrote its commits by
    hand. If `is_all_reviewed` is False, the merge would protect text that the tip does not contain, so no
    approval is valid. Raises the errors of `tokens`.
    """
    replay = _ReviewReplay(proposal, tokens)
    for event in events:
        replay.apply(event)
    authors = {address.casefold() for address in commit_authors}
    approvals = {}
    for approval in (latest for by_token in replay.approvals.values() for latest in by_token.values()):
        if approval.commit != proposal.tip:
            replay.void_reasons[approval.event_id] = VoidReason.OUTDATED
        elif not is_all_reviewed:
            replay.void_reasons[approval.event_id] = VoidReason.UNSEEN
        elif (
            is_opened_by(proposal.content.author, approval.person)
            or approval.person.email.casefold() in authors
        ):
            replay.void_reasons[approval.event_id] = VoidReason.OWN
        else:
            approvals[approval.event_id] = approval.person
    requesters = tuple(author for by_key in replay.change_requests.values() for author in by_key.values())
    return EffectiveReviews(tuple(sorted(approvals.values())), requesters, replay.void_reasons, approvals)


def find_void_reason(status: ReviewStatus, void_reasons: Mapping[str, VoidReason]) -> VoidReason | None:
    """Return the reason why a review does not count for the current proposal; return None if it counts.

    `void_reasons` maps event ids of approvals to the reasons that depend on tokens.
    """
    review = status.review
    match review.verdict:
        case ReviewDecision.APPROVE:
            if (reason := void_reasons.get(review.id)) is not None:
                return reason
            if not review.is_last:
                return VoidReason.REPLACED
            return VoidReason.OWN if status.is_own else _REASON_BY_RELATION.get(status.relation)
        case ReviewDecision.REQUEST_CHANGES:
            if review.is_last:
                return None
            return VoidReason.ANSWERED if review.is_addressed else VoidReason.REPLACED
        case ReviewDecision.COMMENT:
            return None


def normalize_address(person: Person) -> str:
    """Return a person's case-folded address, which is equal for all tokens of that person."""
    return person.email.casefold()


def is_opened_by(author: Author, person: Person) -> bool:
    """Return True if a person opened the proposal; a client's proposal belongs to no person."""
    if author.known_by is IdentitySource.CLIENT:
        return False
    is_same_token = author.known_by is IdentitySource.TOKEN and author.label == person.token
    return is_same_token or author.email.casefold() == normalize_address(person)


class _ReviewReplay:
    """A replay of the events of a proposal. The cost of each event is constant."""

    def __init__(self, proposal: Proposal, tokens: Keyring) -> None:
        self.approvals: dict[str, dict[str, _Approval]] = {}  # by address, then by token
        self.change_requests: dict[
            str, dict[_ReviewerKey, Author]
        ] = {}  # by commit, because a submission addresses all requests of a commit
        self.void_reasons: dict[str, VoidReason] = {}
        self._request_commits: dict[_ReviewerKey, str] = {}  # the commit of each change request
        self._seals: set[str] = set()
        self._people_by_token: dict[str, KnownPerson | None] = {}
        self._proposal = proposal
        self._tokens = tokens

    def apply(self, event: Event) -> None:
        match event.body:
            case Submitted() as body:
                # The requests of these commits stay open, because the proposal was only refreshed since.
                self.change_requests = {
                    commit: self.change_requests[commit]
                    for commit in body.unaddressed_commits
                    if commit in self.change_requests
                }
            case Reviewed() as body if body.verdict is not ReviewDecision.COMMENT:
                person_or_reason = self._prove_author(event.author, body)
                if isinstance(person_or_reason, VoidReason):
                    self._apply_unproven(event, body, person_or_reason)
                else:
                    self._apply_proven(event, body, person_or_reason)

    def _apply_proven(self, event: Event, body: Reviewed, person: Person) -> None:
        """Apply a review that a token proves; it withdraws earlier change requests of the person.

        An approval replaces the earlier approval by the same token. A change request replaces all approvals
        of the person.
        """
        address = normalize_address(person)
        person_key: _ReviewerKey = (IdentitySource.TOKEN, address, True)
        for key in (
            person_key,
            (IdentitySource.TOKEN, person.token, False),
            (IdentitySource.GIT, address, False),
        ):
            self._withdraw_request(key)
        approvals = self.approvals.setdefault(address, {})
        if body.verdict is ReviewDecision.APPROVE:
            self._mark_replaced(approvals.pop(person.token, None))
            approvals[person.token] = _Approval(event.id, body.commit, person)
            return
        for approval in approvals.values():
            self._mark_replaced(approval)
        approvals.clear()
        self._add_request(person_key, event.author, body.commit)

    def _apply_unproven(self, event: Event, body: Reviewed, reason: VoidReason) -> None:
        """Apply a review of an unproven author: a change request counts, an approval does not."""
        known_by, name = event.author.key
        key: _ReviewerKey = (known_by, name, False)
        self._withdraw_request(key)
        if body.verdict is ReviewDecision.APPROVE:
            self.void_reasons[event.id] = reason
        else:
            self._add_request(key, event.author, body.commit)

    def _prove_author(self, author: Author, body: Reviewed) -> Person | VoidReason:
        if author.known_by is not IdentitySource.TOKEN:
            return VoidReason.NO_TOKEN
        token = author.label
        if token not in self._people_by_token:
            self._people_by_token[token] = self._tokens.find_owner(token)
        known_person = self._people_by_token[token]
        if known_person is None:
            return VoidReason.UNKNOWN_TOKEN
        if not known_person.may_review():
            return VoidReason.NO_SCOPE
        content = self._proposal.content
        if body.seal is None or not any(
            is_valid_seal(
                body.seal,
                key,
                proposal=content.id,
                target=content.target,
                verdict=body.verdict,
                commit=body.commit,
                token=token,
            )
            for key in (known_person.key, *known_person.old_keys)
        ):
            return VoidReason.UNSEALED
        # A copied change request counts. If it did not, a copy inserted before the approval would make the
        # person's own later request the duplicate, and the withdrawn approval would count again.
        if body.seal in self._seals and body.verdict is ReviewDecision.APPROVE:
            return VoidReason.COPIED
        self._seals.add(body.seal)
        return known_person.person

    def _add_request(self, key: _ReviewerKey, author: Author, commit: str) -> None:
        self._request_commits[key] = commit
        self.change_requests.setdefault(commit, {})[key] = author

    def _withdraw_request(self, key: _ReviewerKey) -> None:
        commit = self._request_commits.pop(key, None)
        if commit is not None:
            self.change_requests.get(commit, {}).pop(key, None)

    def _mark_replaced(self, approval: _Approval | None) -> None:
        if approval is not None:
            self.void_reasons[approval.event_id] = VoidReason.REPLACED


_MAX_READ_COMMITS = 50_000  # the maximum number of commits of a proposal that are read


def find_commit_authors(git: GitReader, graph: Graph, tip: str, target: str) -> frozenset[str]:
    """Return the lower-case addresses of the people who wrote commits in `tip` that `target` lacks."""
    return frozenset(map_commit_authors(git, graph, tip, target))


def map_commit_authors(git: GitReader, graph: Graph, tip: str, target: str) -> dict[str, str]:
    """Return the people who wrote commits in `tip` that `target` lacks, each with one such commit.

    The keys are the lower-case addresses of authors, committers and co-authors, such as the author of an
    applied suggestion.

    A client commits in the name of its user, who may not have read the commit. The author of such a commit
    counts only if a token proved the author. A user who amended or rebased such a commit counts as its
    author.
    """
    commits_by_address: dict[str, str] = {}
    for id in list_commits_between(graph, tip, target, max_commits=_MAX_READ_COMMITS)[0]:
        commit = git.commit(id)
        if not _is_client_commit(commit):
            addresses = {commit.author.email.casefold(), commit.committer.email.casefold()}
            if read_trailers(commit.message).get(SUGGESTED_BY_TRAILER) != IdentitySource.CLIENT:
                addresses |= read_co_author_emails(commit.message)
            for address in addresses:
                commits_by_address.setdefault(address, id)
    return commits_by_address


def _is_client_commit(commit: Commit) -> bool:
    """Return True if a client made a commit, and it was not rewritten.

    Git preserves the message and the author of a rewritten commit, and changes the committer.
    """
    trailers = read_trailers(commit.message)
    is_by_client = CLIENT_TRAILER in trailers and not {PERSON_TRAILER, DECIDED_BY_TRAILER} & trailers.keys()
    return is_by_client and commit.author == commit.committer
