"""Which verdicts on a proposal hold, by what was said of it and by the tokens that are known here.

What an event says of its author proves nothing; a seal does. So an approval counts only with one, and words
without one take back nothing that was said with one. A request for changes is heard from anybody: a forged
one only keeps what is protected as it is.

Seals: what proves that a verdict was given by whoever holds a token.

A file in Git proves nothing: whoever can push can write one in anyone's name. A seal is 32 random hex digits
and the HMAC-SHA256 (RFC 2104), in hex, of what was said; its key is the digest of the token's secret, which
only the holder and those who trust the token have. The random part makes each seal another, so that one that
is found twice was copied: an old approval cannot be said again by someone else.

Who wrote the commits of a proposal, so that nobody approves what is their own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import commits_between
from workspace.git.messages import HAND, PERSON, read_trailers
from workspace.proposals.events import Author, KnownBy, Reviewed, Submitted, Verdict
from workspace.proposals.proposal import Bond

if TYPE_CHECKING:
    from workspace.git.ancestry import Graph
    from workspace.git.objects import Commit
    from workspace.git.reader import GitReader
    from workspace.policy.tokens import Keyring, Known, Person
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import BoundReview, Proposal

_NONCE = 32


_VERSION = "docyard verdict 1"


def seal(key: bytes, *, proposal: str, target: str, verdict: Verdict, commit: str, token: str) -> str:
    """A new seal on a verdict: on a proposal to the branch `target`, at a commit, by a token of this name."""
    nonce = secrets.token_hex(_NONCE // 2)
    return nonce + _mac(key, nonce, proposal, target, verdict, commit, token)


def is_sealed(
    found: str | None, key: bytes, *, proposal: str, target: str, verdict: Verdict, commit: str, token: str
) -> bool:
    """Return True if this is a seal, made with the key, on just this verdict."""
    if found is None:
        return False
    expected = _mac(key, found[:_NONCE], proposal, target, verdict, commit, token)
    return hmac.compare_digest(found[_NONCE:].encode(), expected.encode())


def _mac(
    key: bytes, nonce: str, proposal: str, target: str, verdict: Verdict, commit: str, token: str
) -> str:
    # As JSON, no two lists of texts are the same bytes.
    said = json.dumps([_VERSION, nonce, proposal, target, verdict.value, commit, token])
    return hmac.new(key, said.encode(), hashlib.sha256).hexdigest()


_Key = tuple[KnownBy, str, bool]


"""One who speaks: how they are known, their address or label, and whether that is proven."""


class Void(StrEnum):
    """Why a verdict does not count."""

    NO_TOKEN = "no_token"  # it was given without a token
    UNKNOWN_TOKEN = "unknown_token"  # no token of this name is known here
    UNSEALED = "unsealed"  # it has no seal of that token, or one on something else
    COPIED = "copied"  # another event has the same seal
    REPLACED = "replaced"  # the same person gave another verdict later
    OUTDATED = "outdated"  # the proposal is at another commit by now
    UNSEEN = "unseen"  # the merge would bring text under a rule that is not in the commit it was given on
    OWN = "own"  # it is on the person's own proposal, or on commits of their own
    REWRITTEN = "rewritten"  # the proposal no longer has the commit that it was given on
    GONE = "gone"  # the proposal has no branch any more
    ANSWERED = "answered"  # changes were asked for, and made, or no longer asked for


_BONDS = {Bond.EDITED: Void.OUTDATED, Bond.REWRITTEN: Void.REWRITTEN, Bond.GONE: Void.GONE}


class Verdicts(NamedTuple):
    """The verdicts that hold: who approves, each token of a person by itself, and who asks for changes.

    `void` says of every other approval why it does not count, by the id of its event.
    """

    approving: tuple[Person, ...]
    asking: tuple[Author, ...]
    void: Mapping[str, Void]


class _Approval(NamedTuple):
    event: str
    commit: str
    person: Person


def verdicts(
    proposal: Proposal,
    said: Sequence[Event],
    tokens: Keyring,
    own: frozenset[str] = frozenset(),
    *,
    is_all_seen: bool = True,
) -> Verdicts:
    """Return the verdicts on a proposal.

    `said` are its events in order, `own` the addresses of people who wrote commits of it by hand. With
    `is_all_seen` False, the merge would bring more under a rule than the tip has: no approval holds.
    Raises what `tokens` raises.
    """
    reading = _Reading(proposal, tokens)
    for event in said:
        reading.hear(event)
    owners = {address.casefold() for address in own}
    approving = []
    for approval in (one for by_token in reading.approvals.values() for one in by_token.values()):
        if approval.commit != proposal.tip:
            reading.void[approval.event] = Void.OUTDATED
        elif not is_all_seen:
            reading.void[approval.event] = Void.UNSEEN
        elif _is_own(proposal.words.author, approval.person) or approval.person.email.casefold() in owners:
            reading.void[approval.event] = Void.OWN
        else:
            approving.append(approval.person)
    asking = tuple(author for some in reading.asking.values() for author in some.values())
    return Verdicts(tuple(sorted(approving)), asking, reading.void)


def why_void(bound: BoundReview, void_by: Mapping[str, Void]) -> Void | None:
    """Return why a verdict does not count for the proposal as it is; None if it does.

    `void_by` says it of approvals by the id of their event, as far as tokens tell.
    """
    review = bound.review
    match review.verdict:
        case Verdict.APPROVE:
            if (reason := void_by.get(review.id)) is not None:
                return reason
            if not review.is_last:
                return Void.REPLACED
            return Void.OWN if bound.is_own else _BONDS.get(bound.bond)
        case Verdict.REQUEST_CHANGES:
            return None if review.is_last else Void.ANSWERED
        case Verdict.COMMENT:
            return None


def address_of(person: Person) -> str:
    """Return what tells whether two tokens are one person's."""
    return person.email.casefold()


def _is_own(author: Author, person: Person) -> bool:
    """Return True if a person opened the proposal; a client did so itself, in whoever's name it commits."""
    if author.known_by is KnownBy.CLIENT:
        return False
    is_same_token = author.known_by is KnownBy.TOKEN and author.label == person.token
    return is_same_token or author.email.casefold() == address_of(person)


class _Reading:
    """What the events come to as they are heard; each costs the same, however many there are."""

    def __init__(self, proposal: Proposal, tokens: Keyring) -> None:
        self.approvals: dict[str, dict[str, _Approval]] = {}  # by person, by token
        self.asking: dict[str, dict[_Key, Author]] = {}  # by commit: what a submission answers
        self.void: dict[str, Void] = {}
        self._place: dict[_Key, str] = {}  # the commit at which each one asks
        self._seals: set[str] = set()
        self._known: dict[str, Known | None] = {}
        self._proposal = proposal
        self._tokens = tokens

    def hear(self, event: Event) -> None:
        match event.words:
            case Submitted() as words:
                # Other content answers; the same content again does not.
                self.asking = {at: self.asking[at] for at in words.unanswered if at in self.asking}
            case Reviewed() as words if words.verdict is not Verdict.COMMENT:
                proven = self._proven(event.author, words)
                if isinstance(proven, Void):
                    self._claimed(event, words, proven)
                else:
                    self._said(event, words, proven)

    def _said(self, event: Event, words: Reviewed, person: Person) -> None:
        """A person's own words, which take the place of their earlier ones."""
        address = address_of(person)
        mine: _Key = (KnownBy.TOKEN, address, True)
        for key in (mine, (KnownBy.TOKEN, person.token, False), (KnownBy.GIT, address, False)):
            self._lift(key)
        approvals = self.approvals.setdefault(address, {})
        if words.verdict is Verdict.APPROVE:
            self._replace(approvals.pop(person.token, None))
            approvals[person.token] = _Approval(event.id, words.commit, person)
            return
        for approval in approvals.values():
            self._replace(approval)
        approvals.clear()
        self._ask(mine, event.author, words.commit)

    def _claimed(self, event: Event, words: Reviewed, reason: Void) -> None:
        """Words in somebody's name: a request is heard, an approval counts for nothing."""
        known_by, name = event.author.key
        key: _Key = (known_by, name, False)
        self._lift(key)
        if words.verdict is Verdict.APPROVE:
            self.void[event.id] = reason
        else:
            self._ask(key, event.author, words.commit)

    def _proven(self, author: Author, words: Reviewed) -> Person | Void:
        if author.known_by is not KnownBy.TOKEN:
            return Void.NO_TOKEN
        token = author.label
        if token not in self._known:
            self._known[token] = self._tokens.known(token)
        known = self._known[token]
        if known is None:
            return Void.UNKNOWN_TOKEN
        about = self._proposal.words
        if words.seal is None or not is_sealed(
            words.seal,
            known.key,
            proposal=about.id,
            target=about.target,
            verdict=words.verdict,
            commit=words.commit,
            token=token,
        ):
            return Void.UNSEALED
        # A copied request is heard in full: set before the person's approval, it would else hide the one that
        # took that back.
        if words.seal in self._seals and words.verdict is Verdict.APPROVE:
            return Void.COPIED
        self._seals.add(words.seal)
        return known.person

    def _ask(self, key: _Key, author: Author, commit: str) -> None:
        self._place[key] = commit
        self.asking.setdefault(commit, {})[key] = author

    def _lift(self, key: _Key) -> None:
        commit = self._place.pop(key, None)
        if commit is not None:
            self.asking.get(commit, {}).pop(key, None)

    def _replace(self, approval: _Approval | None) -> None:
        if approval is not None:
            self.void[approval.event] = Void.REPLACED


_CLIENT = "Docyard-Client"


_MOST = 50_000  # commits of a proposal that are looked at


def own_hands(git: GitReader, graph: Graph, tip: str, target: str) -> frozenset[str]:
    """The e-mail addresses, in lower case, of who wrote the commits that `tip` has and `target` has not.

    What a client wrote is in the name of whoever runs it, who may not have seen it: it counts only where a
    token has proved the author. Who amended it, or took it over with git-rebase, has it in hand.
    """
    found = set()
    for id in commits_between(graph, tip, target, most=_MOST)[0]:
        commit = git.commit(id)
        if not _is_of_client(commit):
            found |= {commit.author.email.casefold(), commit.committer.email.casefold()}
    return frozenset(found)


def _is_of_client(commit: Commit) -> bool:
    """Whether a commit is as a client made it: Git keeps the words, and the author, of what it makes anew."""
    trailers = read_trailers(commit.message)
    is_told = _CLIENT in trailers and not {PERSON, HAND} & trailers.keys()
    return is_told and commit.author == commit.committer
