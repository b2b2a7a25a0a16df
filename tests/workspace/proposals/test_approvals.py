"""Approvals that someone forged, copied or gave to something else count for nothing; requests are heard."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.loops import loop_over
from tests.workspace.policy.judged import ADA, AGENT, by, ring, said, sealed, standing
from tests.workspace.proposals.saying import COMMIT, ID, NOON, OTHER_COMMIT
from workspace.proposals.approvals import EffectiveReviews, VoidReason, evaluate_reviews
from workspace.proposals.events import (
    Author,
    Event,
    EventBody,
    KnownBy,
    ReviewDecision,
    Reviewed,
    Submitted,
    Unreadable,
    decode_event,
    encode_event,
)

TOKENS = ring(ana="ana@example.org", laptop="Ana@example.org", ben="ben@example.org")
ANA, LAPTOP, BEN = (TOKENS.people[name] for name in ("ana", "laptop", "ben"))
STRANGER = ring(carol="carol@example.org").people["carol"]

APPROVE, CHANGES = ReviewDecision.APPROVE, ReviewDecision.REQUEST_CHANGES


def held(
    *spoken: tuple[EventBody, Author], tip: str | None = COMMIT, opener: Author = AGENT, own: str = ""
) -> EffectiveReviews:
    events = said(*spoken, opener=opener)
    return evaluate_reviews(standing(events, tip), events, TOKENS, frozenset({own} if own else ()))


def names(found: EffectiveReviews) -> list[str]:
    return [person.token for person in found.approvers]


def test_a_sealed_approval_counts() -> None:
    found = held((sealed(ANA), by(ANA)), (sealed(BEN), by(BEN)))
    assert names(found) == ["ana", "ben"]
    assert (found.change_requesters, found.void_reasons) == ((), {})


@loop_over(
    ("words", "author", "reason"),
    [
        (Reviewed(APPROVE, "", COMMIT), by(ANA), VoidReason.UNSEALED),
        (Reviewed(APPROVE, "", COMMIT, "0" * 96), by(ANA), VoidReason.UNSEALED),
        (sealed(ANA), by(BEN), VoidReason.UNSEALED),
        (sealed(BEN, token="ana"), by(ANA), VoidReason.UNSEALED),
        (sealed(ANA, proposal="z7m2q9xb"), by(ANA), VoidReason.UNSEALED),
        (sealed(ANA, target="drafts"), by(ANA), VoidReason.UNSEALED),
        (sealed(ANA, on=CHANGES), by(ANA), VoidReason.UNSEALED),
        (sealed(ANA, at=OTHER_COMMIT), by(ANA), VoidReason.UNSEALED),
        (sealed(STRANGER), by(STRANGER), VoidReason.UNKNOWN_TOKEN),
        (sealed(ANA), by(ANA)._replace(label=""), VoidReason.UNKNOWN_TOKEN),
        (sealed(ANA), by(ANA)._replace(known_by=KnownBy.GIT), VoidReason.NO_TOKEN),
        (sealed(ANA), by(ANA)._replace(known_by=KnownBy.CLIENT), VoidReason.NO_TOKEN),
    ],
)
def test_a_forged_approval_does_not(words: Reviewed, author: Author, reason: VoidReason) -> None:
    found = held((words, author))
    assert names(found) == []
    assert [*found.void_reasons.values()] == [reason]


def test_the_address_is_that_of_the_token_and_not_of_the_words() -> None:
    disguised = by(ANA)._replace(email="other@example.org")
    assert names(held((sealed(ANA), disguised), own="ana@example.org")) == []


def test_an_approval_is_bound_to_its_commit() -> None:
    assert names(held((sealed(ANA), by(ANA)), tip=OTHER_COMMIT)) == []
    assert [*held((sealed(ANA), by(ANA)), tip=None).void_reasons.values()] == [VoidReason.OUTDATED]


@loop_over(
    "opener",
    [
        by(ANA),
        by(ANA)._replace(email="x@example.org"),
        Author("Ana", "ANA@example.org", KnownBy.GIT),
        by(LAPTOP),
    ],
)
def test_nobody_approves_what_they_opened(opener: Author) -> None:
    found = held((sealed(ANA), by(ANA)), (sealed(BEN), by(BEN)), opener=opener)
    assert names(found) == ["ben"]
    assert VoidReason.OWN in found.void_reasons.values()


def test_nobody_approves_commits_of_their_own() -> None:
    assert names(held((sealed(ANA), by(ANA)), (sealed(BEN), by(BEN)), own="BEN@example.org")) == ["ana"]


def test_what_a_client_opened_in_someones_name_they_may_approve() -> None:
    agent = Author("Ana", "ana@example.org", KnownBy.CLIENT, "an agent")
    assert names(held((sealed(ANA), by(ANA)), opener=agent)) == ["ana"]


def test_the_last_word_of_a_person_counts_whichever_token_they_use() -> None:
    found = held((sealed(ANA), by(ANA)), (sealed(LAPTOP, CHANGES), by(LAPTOP)))
    assert names(found) == []
    assert [*found.void_reasons.values()] == [VoidReason.REPLACED]
    assert [author.label for author in found.change_requesters] == ["laptop"]
    again = held((sealed(ANA, CHANGES), by(ANA)), (sealed(LAPTOP), by(LAPTOP)))
    assert (names(again), again.change_requesters) == (["laptop"], ())


def test_an_old_approval_cannot_be_said_again() -> None:
    approval = sealed(ANA), by(ANA)
    found = held(approval, (sealed(ANA, CHANGES), by(ANA)), approval)
    assert names(found) == []
    assert len(found.change_requesters) == 1
    assert sorted(found.void_reasons.values()) == [VoidReason.COPIED, VoidReason.REPLACED]


def test_a_request_that_is_copied_to_before_the_approval_is_still_taken_back_by_nobody_else() -> None:
    asks, forged = (sealed(ANA, CHANGES), by(ANA)), (Reviewed(APPROVE, "", COMMIT), by(ANA))
    found = held(asks, (sealed(ANA), by(ANA)), asks, forged)
    assert (names(found), len(found.change_requesters)) == ([], 1)
    assert sorted(found.void_reasons.values()) == [VoidReason.REPLACED, VoidReason.UNSEALED]


def test_words_without_a_seal_take_back_nothing_that_has_one() -> None:
    forged = Reviewed(APPROVE, "", COMMIT), by(ANA)
    assert len(held((sealed(ANA, CHANGES), by(ANA)), forged).change_requesters) == 1
    moved = Reviewed(CHANGES, "", OTHER_COMMIT), by(ANA)
    found = held((sealed(ANA, CHANGES), by(ANA)), moved, (Submitted(COMMIT), AGENT))
    assert [author.label for author in found.change_requesters] == ["ana"], (
        "a forged request was answered, hers was not"
    )


def test_a_request_is_answered_by_other_content_only() -> None:
    asks = sealed(ANA, CHANGES), by(ANA)
    assert len(held(asks, (Submitted(COMMIT), AGENT)).change_requesters) == 1
    assert held(asks, (Submitted(OTHER_COMMIT), AGENT)).change_requesters == ()
    assert (
        len(held(asks, (Submitted(OTHER_COMMIT), AGENT), (sealed(ANA, CHANGES), by(ANA))).change_requesters)
        == 1
    )


def test_who_asked_by_git_can_approve_by_token() -> None:
    git = Author("Ana", "ana@example.org", KnownBy.GIT)
    asks = Reviewed(CHANGES, "", COMMIT), git
    assert held(asks).change_requesters == (git,)
    assert held(asks, (sealed(ANA), by(ANA))).change_requesters == ()
    assert held(asks, (sealed(BEN), by(BEN))).change_requesters == (git,)
    assert held(asks, (Reviewed(APPROVE, "", COMMIT), git)).change_requesters == ()


def test_a_remark_is_no_verdict() -> None:
    remark = sealed(ANA, ReviewDecision.COMMENT), by(ANA)
    assert names(held((sealed(ANA), by(ANA)), remark)) == ["ana"]
    assert len(held((sealed(ANA, CHANGES), by(ANA)), remark).change_requesters) == 1


def test_each_seal_is_another() -> None:
    seals = sorted(sealed(ANA).seal or "" for _ in range(50))
    assert all(len(one) == 96 and one != other for one, other in pairwise(seals))


def test_a_seal_is_kept_with_the_event_and_what_is_none_is_refused() -> None:
    name, data = encode_event(ID, sealed(ANA), by(ANA), NOON)
    assert decode_event(ID, name, data).body == Reviewed(
        APPROVE, "", COMMIT, json.loads(data)["words"]["seal"]
    )
    plain = encode_event(ID, Reviewed(APPROVE, "", COMMIT), by(ANA), NOON)[1]
    assert json.loads(plain)["words"] == {"verdict": "approve", "text": "", "commit": COMMIT}
    for seal in ("", "0" * 64, "0" * 95 + "x", "0" * 97):
        with pytest.raises(Unreadable):
            encode_event(ID, Reviewed(APPROVE, "", COMMIT, seal), by(ANA), NOON)


def test_words_cost_the_same_however_many_there_are() -> None:
    """Submissions and requests in turn, which a look at all earlier ones at each would never end."""
    asks = Reviewed(CHANGES, "", COMMIT)
    one, *_ = said((asks, ADA))
    people = [ADA._replace(email=f"{number}@example.org") for number in range(50_000)]
    events: list[Event] = [one]
    events += [one._replace(id=f"{number:016x}", author=who, body=asks) for number, who in enumerate(people)]
    events += [one._replace(body=Submitted(COMMIT))] * 50_000
    assert len(evaluate_reviews(standing([one]), events, TOKENS).change_requesters) == 50_000
