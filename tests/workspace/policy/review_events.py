"""People with tokens, and events of proposals, for tests of the review policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.workspace.proposals.event_writer import (
    CLIENT_AUTHOR,
    COMMIT,
    GIT_AUTHOR,
    PROPOSAL_ID,
    make_event,
    make_opening,
)
from workspace.policy.tokens import KnownPerson, Person
from workspace.proposals.approvals import create_seal
from workspace.proposals.events import Author, Event, EventBody, IdentitySource, ReviewDecision, Reviewed
from workspace.proposals.proposal import Proposal, ProposalState, replay_events

__all__ = [
    "CLIENT_AUTHOR",
    "COMMIT",
    "GIT_AUTHOR",
    "PROPOSAL_ID",
    "Check",
    "MemoryKeyring",
    "make_author",
    "make_events",
    "make_keyring",
    "make_proposal",
    "seal_review",
]


class MemoryKeyring(NamedTuple):
    """A keyring in memory: people by the names of their tokens."""

    people: Mapping[str, KnownPerson]

    def find_owner(self, token: str) -> KnownPerson | None:
        return self.people.get(token)


class Check(NamedTuple):
    """The result of a check: its name, and True if it passed."""

    name: str
    passed: bool


def make_keyring(**emails: str) -> MemoryKeyring:
    """Return a keyring with a person for each TOKEN=EMAIL; the key is the SHA-256 digest of the token."""
    return MemoryKeyring(
        {
            token: KnownPerson(Person(token, token.title(), email), hashlib.sha256(token.encode()).digest())
            for token, email in emails.items()
        }
    )


def make_author(known_person: KnownPerson) -> Author:
    """Return the author of an event that a person with a token writes."""
    return Author(
        known_person.person.name, known_person.person.email, IdentitySource.TOKEN, known_person.person.token
    )


def seal_review(
    known_person: KnownPerson,
    verdict: ReviewDecision = ReviewDecision.APPROVE,
    commit: str = COMMIT,
    *,
    sealed_verdict: ReviewDecision | None = None,
    sealed_commit: str | None = None,
    proposal: str = PROPOSAL_ID,
    target: str = "main",
    token: str | None = None,
) -> Reviewed:
    """Return a review with a person's seal; the seal may be for another decision, commit, target or token."""
    seal = create_seal(
        known_person.key,
        proposal=proposal,
        target=target,
        verdict=sealed_verdict or verdict,
        commit=sealed_commit or commit,
        token=token or known_person.person.token,
    )
    return Reviewed(verdict, "", commit, seal)


def make_events(*reviews: tuple[EventBody, Author], opener: Author = CLIENT_AUTHOR) -> tuple[Event, ...]:
    """Return the events of a proposal: its opening, and then the reviews in order."""
    return tuple(
        make_event(body, minutes, author)
        for minutes, (body, author) in enumerate([(make_opening(), opener), *reviews])
    )


def make_proposal(events: Sequence[Event], tip: str | None = COMMIT) -> Proposal:
    """Return an open proposal with these events and this tip."""
    content = replay_events(events)
    assert content is not None
    return Proposal(content, ProposalState.OPEN, tip, None, False, False, (), 0)
