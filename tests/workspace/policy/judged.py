"""People with tokens, and proposals with words, for tests of the policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.workspace.proposals.saying import ADA, AGENT, COMMIT, ID, event, opening
from workspace.policy.tokens import KnownPerson, Person
from workspace.proposals.approvals import create_seal
from workspace.proposals.events import Author, Event, EventBody, KnownBy, ReviewDecision, Reviewed
from workspace.proposals.proposal import Proposal, ProposalState, replay_events

__all__ = ["ADA", "AGENT", "COMMIT", "ID", "Check", "Ring", "by", "ring", "said", "sealed", "standing"]


class Ring(NamedTuple):
    """A keyring in memory."""

    people: Mapping[str, KnownPerson]

    def find_known(self, token: str) -> KnownPerson | None:
        return self.people.get(token)


class Check(NamedTuple):
    """What came of a check."""

    name: str
    passed: bool


def ring(**addresses: str) -> Ring:
    """Tokens by name, each with its person's address; a key is the digest of the token's name."""
    return Ring(
        {
            token: KnownPerson(Person(token, token.title(), address), hashlib.sha256(token.encode()).digest())
            for token, address in addresses.items()
        }
    )


def by(known: KnownPerson) -> Author:
    """How a person with a token speaks."""
    return Author(known.person.name, known.person.email, KnownBy.TOKEN, known.person.token)


def sealed(
    known: KnownPerson,
    verdict: ReviewDecision = ReviewDecision.APPROVE,
    commit: str = COMMIT,
    *,
    on: ReviewDecision | None = None,
    at: str | None = None,
    proposal: str = ID,
    target: str = "main",
    token: str | None = None,
) -> Reviewed:
    """A verdict with a person's seal, which may be on another verdict, at another commit, and so on."""
    mark = create_seal(
        known.key,
        proposal=proposal,
        target=target,
        verdict=on or verdict,
        commit=at or commit,
        token=token or known.person.token,
    )
    return Reviewed(verdict, "", commit, mark)


def said(*spoken: tuple[EventBody, Author], opener: Author = AGENT) -> tuple[Event, ...]:
    """The events of a proposal: its opening, and what was said after it, in order."""
    return tuple(
        event(words, minutes, author)
        for minutes, (words, author) in enumerate([(opening(), opener), *spoken])
    )


def standing(events: Sequence[Event], tip: str | None = COMMIT) -> Proposal:
    """The proposal that events make, at a tip."""
    words = replay_events(events)
    assert words is not None
    return Proposal(words, ProposalState.OPEN, tip, None, False, False, (), 0)
