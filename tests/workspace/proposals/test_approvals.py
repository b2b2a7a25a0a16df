"""Forged, copied and outdated approvals are void, and the last review of each person decides."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.loops import loop_over
from tests.workspace.policy.review_events import (
    CLIENT_AUTHOR,
    GIT_AUTHOR,
    MemoryKeyring,
    make_author,
    make_events,
    make_keyring,
    make_proposal,
    seal_review,
)
from tests.workspace.proposals.event_writer import COMMIT, NOON, OTHER_COMMIT, PROPOSAL_ID
from workspace.proposals.approvals import EffectiveReviews, VoidReason, evaluate_reviews
from workspace.proposals.events import (
    Author,
    Event,
    EventBody,
    IdentitySource,
    ReviewDecision,
    Reviewed,
    Submitted,
    UnreadableEvent,
    decode_event,
    encode_event,
)

KEYRING = make_keyring(ana="ana@example.org", laptop="Ana@example.org", ben="ben@example.org")
ANA, ANA_LAPTOP, BEN = (KEYRING.people[name] for name in ("ana", "laptop", "ben"))
SEAL_LENGTH = 96
STRANGER = make_keyring(carol="carol@example.org").people["carol"]

APPROVE, REQUEST_CHANGES = ReviewDecision.APPROVE, ReviewDecision.REQUEST_CHANGES


def evaluate(
    *reviews: tuple[EventBody, Author],
    tip: str | None = COMMIT,
    opener: Author = CLIENT_AUTHOR,
    own_email: str = "",
) -> EffectiveReviews:
    events = make_events(*reviews, opener=opener)
    return evaluate_reviews(
        make_proposal(events, tip), events, KEYRING, frozenset({own_email} if own_email else ())
    )


def list_approvers(evaluation: EffectiveReviews) -> list[str]:
    return [person.token for person in evaluation.approvers]


def test_sealed_approval_counts() -> None:
    evaluation = evaluate((seal_review(ANA), make_author(ANA)), (seal_review(BEN), make_author(BEN)))
    assert list_approvers(evaluation) == ["ana", "ben"]
    assert (evaluation.change_requesters, evaluation.void_reasons) == ((), {})


def test_approval_with_the_key_before_a_rotation_counts() -> None:
    events = make_events((seal_review(ANA), make_author(ANA)), (seal_review(BEN), make_author(BEN)))
    rotated = {
        "ana": ANA._replace(key=b"n" * 32, old_keys=(b"x" * 32, ANA.key)),
        "ben": BEN._replace(key=b"n" * 32),
    }
    evaluation = evaluate_reviews(make_proposal(events), events, MemoryKeyring(rotated), frozenset())
    assert list_approvers(evaluation) == ["ana"]
    assert list(evaluation.void_reasons.values()) == [VoidReason.UNSEALED]


@loop_over(
    ("review", "author", "reason"),
    [
        (Reviewed(APPROVE, "", COMMIT), make_author(ANA), VoidReason.UNSEALED),
        (Reviewed(APPROVE, "", COMMIT, "0" * 96), make_author(ANA), VoidReason.UNSEALED),
        (seal_review(ANA), make_author(BEN), VoidReason.UNSEALED),
        (seal_review(BEN, token="ana"), make_author(ANA), VoidReason.UNSEALED),
        (seal_review(ANA, proposal="z7m2q9xb"), make_author(ANA), VoidReason.UNSEALED),
        (seal_review(ANA, target="drafts"), make_author(ANA), VoidReason.UNSEALED),
        (seal_review(ANA, sealed_verdict=REQUEST_CHANGES), make_author(ANA), VoidReason.UNSEALED),
        (seal_review(ANA, sealed_commit=OTHER_COMMIT), make_author(ANA), VoidReason.UNSEALED),
        (seal_review(STRANGER), make_author(STRANGER), VoidReason.UNKNOWN_TOKEN),
        (seal_review(ANA), make_author(ANA)._replace(label=""), VoidReason.UNKNOWN_TOKEN),
        (seal_review(ANA), make_author(ANA)._replace(known_by=IdentitySource.GIT), VoidReason.NO_TOKEN),
        (seal_review(ANA), make_author(ANA)._replace(known_by=IdentitySource.CLIENT), VoidReason.NO_TOKEN),
    ],
)
def test_forged_approval_is_void(review: Reviewed, author: Author, reason: VoidReason) -> None:
    evaluation = evaluate((review, author))
    assert list_approvers(evaluation) == []
    assert [*evaluation.void_reasons.values()] == [reason]


def test_email_of_token_overrides_email_of_event() -> None:
    author = make_author(ANA)._replace(email="other@example.org")
    assert list_approvers(evaluate((seal_review(ANA), author), own_email="ana@example.org")) == []


def test_approval_is_bound_to_its_commit() -> None:
    assert list_approvers(evaluate((seal_review(ANA), make_author(ANA)), tip=OTHER_COMMIT)) == []
    assert [*evaluate((seal_review(ANA), make_author(ANA)), tip=None).void_reasons.values()] == [
        VoidReason.OUTDATED
    ]


@loop_over(
    "opener",
    [
        make_author(ANA),
        make_author(ANA)._replace(email="x@example.org"),
        Author("Ana", "ANA@example.org", IdentitySource.GIT),
        make_author(ANA_LAPTOP),
    ],
)
def test_approval_by_opener_is_void(opener: Author) -> None:
    evaluation = evaluate(
        (seal_review(ANA), make_author(ANA)), (seal_review(BEN), make_author(BEN)), opener=opener
    )
    assert list_approvers(evaluation) == ["ben"]
    assert VoidReason.OWN in evaluation.void_reasons.values()


def test_approval_by_commit_author_is_void() -> None:
    assert list_approvers(
        evaluate(
            (seal_review(ANA), make_author(ANA)),
            (seal_review(BEN), make_author(BEN)),
            own_email="BEN@example.org",
        )
    ) == ["ana"]


def test_person_may_approve_proposal_of_own_client() -> None:
    agent = Author("Ana", "ana@example.org", IdentitySource.CLIENT, "an agent")
    assert list_approvers(evaluate((seal_review(ANA), make_author(ANA)), opener=agent)) == ["ana"]


def test_last_review_of_person_counts_for_all_tokens() -> None:
    evaluation = evaluate(
        (seal_review(ANA), make_author(ANA)),
        (seal_review(ANA_LAPTOP, REQUEST_CHANGES), make_author(ANA_LAPTOP)),
    )
    assert list_approvers(evaluation) == []
    assert [*evaluation.void_reasons.values()] == [VoidReason.REPLACED]
    assert [author.label for author in evaluation.change_requesters] == ["laptop"]
    second_evaluation = evaluate(
        (seal_review(ANA, REQUEST_CHANGES), make_author(ANA)),
        (seal_review(ANA_LAPTOP), make_author(ANA_LAPTOP)),
    )
    assert (list_approvers(second_evaluation), second_evaluation.change_requesters) == (["laptop"], ())


def test_copied_approval_is_void() -> None:
    approval = seal_review(ANA), make_author(ANA)
    evaluation = evaluate(approval, (seal_review(ANA, REQUEST_CHANGES), make_author(ANA)), approval)
    assert list_approvers(evaluation) == []
    assert len(evaluation.change_requesters) == 1
    assert sorted(evaluation.void_reasons.values()) == [VoidReason.COPIED, VoidReason.REPLACED]


def test_copied_change_request_is_withdrawn_only_by_its_author() -> None:
    request, forged_approval = (
        (seal_review(ANA, REQUEST_CHANGES), make_author(ANA)),
        (Reviewed(APPROVE, "", COMMIT), make_author(ANA)),
    )
    evaluation = evaluate(request, (seal_review(ANA), make_author(ANA)), request, forged_approval)
    assert (list_approvers(evaluation), len(evaluation.change_requesters)) == ([], 1)
    assert sorted(evaluation.void_reasons.values()) == [VoidReason.REPLACED, VoidReason.UNSEALED]


def test_unsealed_review_does_not_replace_sealed_review() -> None:
    forged_approval = Reviewed(APPROVE, "", COMMIT), make_author(ANA)
    assert (
        len(
            evaluate((seal_review(ANA, REQUEST_CHANGES), make_author(ANA)), forged_approval).change_requesters
        )
        == 1
    )
    forged_request = Reviewed(REQUEST_CHANGES, "", OTHER_COMMIT), make_author(ANA)
    evaluation = evaluate(
        (seal_review(ANA, REQUEST_CHANGES), make_author(ANA)),
        forged_request,
        (Submitted(COMMIT), CLIENT_AUTHOR),
    )
    assert [author.label for author in evaluation.change_requesters] == ["ana"], (
        "only the forged request was answered"
    )


def test_only_changed_content_answers_change_request() -> None:
    request = seal_review(ANA, REQUEST_CHANGES), make_author(ANA)
    assert len(evaluate(request, (Submitted(COMMIT), CLIENT_AUTHOR)).change_requesters) == 1
    assert evaluate(request, (Submitted(OTHER_COMMIT), CLIENT_AUTHOR)).change_requesters == ()
    assert (
        len(
            evaluate(
                request,
                (Submitted(OTHER_COMMIT), CLIENT_AUTHOR),
                (seal_review(ANA, REQUEST_CHANGES), make_author(ANA)),
            ).change_requesters
        )
        == 1
    )


def test_token_approval_withdraws_git_change_request() -> None:
    git_author = Author("Ana", "ana@example.org", IdentitySource.GIT)
    request = Reviewed(REQUEST_CHANGES, "", COMMIT), git_author
    assert evaluate(request).change_requesters == (git_author,)
    assert evaluate(request, (seal_review(ANA), make_author(ANA))).change_requesters == ()
    assert evaluate(request, (seal_review(BEN), make_author(BEN))).change_requesters == (git_author,)
    assert evaluate(request, (Reviewed(APPROVE, "", COMMIT), git_author)).change_requesters == ()


def test_comment_review_does_not_replace_decision() -> None:
    comment_review = seal_review(ANA, ReviewDecision.COMMENT), make_author(ANA)
    assert list_approvers(evaluate((seal_review(ANA), make_author(ANA)), comment_review)) == ["ana"]
    assert (
        len(evaluate((seal_review(ANA, REQUEST_CHANGES), make_author(ANA)), comment_review).change_requesters)
        == 1
    )


def test_seals_are_unique() -> None:
    seals = sorted(seal_review(ANA).seal or "" for _ in range(50))
    assert all(len(seal) == SEAL_LENGTH and seal != next_seal for seal, next_seal in pairwise(seals))


def test_event_preserves_seal_and_invalid_seal_is_refused() -> None:
    name, data = encode_event(PROPOSAL_ID, seal_review(ANA), make_author(ANA), NOON)
    assert decode_event(PROPOSAL_ID, name, data).body == Reviewed(
        APPROVE, "", COMMIT, json.loads(data)["words"]["seal"]
    )
    unsealed_data = encode_event(PROPOSAL_ID, Reviewed(APPROVE, "", COMMIT), make_author(ANA), NOON)[1]
    assert json.loads(unsealed_data)["words"] == {"verdict": "approve", "text": "", "commit": COMMIT}
    for seal in ("", "0" * 64, "0" * 95 + "x", "0" * 97):
        with pytest.raises(UnreadableEvent):
            encode_event(PROPOSAL_ID, Reviewed(APPROVE, "", COMMIT, seal), make_author(ANA), NOON)


def test_reviews_of_many_events_take_linear_time() -> None:
    """A search through all earlier events for each review would take minutes."""
    request = Reviewed(REQUEST_CHANGES, "", COMMIT)
    event, *_ = make_events((request, GIT_AUTHOR))
    people = [GIT_AUTHOR._replace(email=f"{number}@example.org") for number in range(50_000)]
    events: list[Event] = [event]
    events += [
        event._replace(id=f"{number:016x}", author=author, body=request)
        for number, author in enumerate(people)
    ]
    events += [event._replace(body=Submitted(COMMIT))] * 50_000
    assert len(evaluate_reviews(make_proposal([event]), events, KEYRING).change_requesters) == 50_000
