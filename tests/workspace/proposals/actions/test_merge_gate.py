"""No merge bypasses the requirements of its rules, for any events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.policy.review_events import (
    ADA,
    AGENT,
    Check,
    author_of,
    make_events,
    make_keyring,
    make_proposal,
    sealed_review,
)
from tests.workspace.proposals.event_writer import COMMIT, OTHER_COMMIT
from workspace.config.tables import ALL_CHECKS, Protection
from workspace.policy.protection import GoverningRule
from workspace.policy.tokens import KnownPerson, Person
from workspace.proposals.actions.merge_gate import (
    MergeEvaluation,
    evaluate_requirements,
    find_blocker_for_actor,
)
from workspace.proposals.events import Author, EventBody, KnownBy, ReviewDecision, Reviewed, Submitted

TOKENS = make_keyring(
    ana="ana@example.org", laptop="Ana@example.org", ben="ben@example.org", cid="cid@example.org"
)
ANA, LAPTOP, BEN, CID = (TOKENS.people[name] for name in ("ana", "laptop", "ben", "cid"))
PASSED = [Check(name, True) for name in ALL_CHECKS]

APPROVE, CHANGES = ReviewDecision.APPROVE, ReviewDecision.REQUEST_CHANGES


def evaluate(
    rules: Sequence[Protection],
    *reviews: tuple[EventBody, Author],
    checks: Sequence[Check] = PASSED,
    commit_authors: frozenset[str] = frozenset(),
    opener: Author = AGENT,
) -> MergeEvaluation:
    events = make_events(*reviews, opener=opener)
    governed = [GoverningRule(rule, number, ("specs/a.md",)) for number, rule in enumerate(rules, 1)]
    return evaluate_requirements(make_proposal(events), events, governed, checks, TOKENS, commit_authors)


def approval(*people: KnownPerson) -> list[tuple[EventBody, Author]]:
    return [(sealed_review(known), author_of(known)) for known in people]


def codes(judgement: MergeEvaluation) -> list[str]:
    return [block.code for block in judgement.blockers]


def test_without_rules_any_actor_may_merge() -> None:
    judgement = evaluate(())
    assert (judgement.requirements, judgement.blockers) == ((), ())
    assert find_blocker_for_actor(judgement, None) is None


def test_rule_requires_approval_and_person() -> None:
    rule = Protection()
    assert codes(evaluate([rule])) == ["NEEDS_APPROVAL"]
    judgement = evaluate([rule], *approval(ANA))
    assert [demand.approved_by for demand in judgement.requirements] == [("ana",)]
    assert judgement.requirements[0].is_met
    assert find_blocker_for_actor(judgement, BEN.person) is None
    block = find_blocker_for_actor(judgement, None)
    assert block is not None
    assert block.code == "NEEDS_PERSON"


def test_rule_without_approvals_still_requires_person() -> None:
    judgement = evaluate([Protection(approvals=0)])
    assert judgement.blockers == ()
    assert find_blocker_for_actor(judgement, ANA.person) is None
    assert (block := find_blocker_for_actor(judgement, None)) is not None
    assert block.code == "NEEDS_PERSON"


def test_two_tokens_of_one_person_are_one_approval() -> None:
    two = Protection(approvals=2)
    assert codes(evaluate([two], *approval(ANA, LAPTOP))) == ["NEEDS_APPROVAL"]
    assert codes(evaluate([two], *approval(ANA, BEN))) == []
    named = Protection(approvals=2, approvers=("ana", "laptop", "ben"))
    assert codes(evaluate([named], *approval(ANA, LAPTOP))) == ["NEEDS_APPROVAL"]


def test_only_named_approvers_count() -> None:
    rule = Protection(approvers=("ana",))
    assert codes(evaluate([rule], *approval(BEN))) == ["NEEDS_APPROVAL"]
    assert codes(evaluate([rule], *approval(ANA))) == []


def test_approver_without_token_is_reported() -> None:
    judgement = evaluate([Protection(approvers=("ana", "zoe"), approvals=2, merge=("max",))], *approval(ANA))
    [demand], [block] = judgement.requirements, judgement.blockers
    assert demand.unknown == ("zoe", "max")
    assert block.message == (
        "specs/a.md needs 2 approvals by ana or zoe of the proposal as it is now, and has 1 (ana); "
        "no token of zoe is known here"
    )


def test_blocker_lists_reasons_of_void_approvals() -> None:
    reviews = [
        *approval(CID),
        (sealed_review(ANA, commit=OTHER_COMMIT), author_of(ANA)),
        (sealed_review(BEN), author_of(ANA)),
    ]
    [block] = evaluate([Protection()], *reviews, commit_authors=frozenset({"cid@example.org"})).blockers
    assert block.message.endswith(
        "and has 0; not counted are approvals "
        "without a seal that proves them, of another commit, of one's commit_authors work"
    )


def test_every_rule_must_be_fulfilled() -> None:
    rules = [Protection(approvers=("ana",)), Protection(approvers=("ben",)), Protection(approvals=3)]
    found = [
        len(evaluate(rules, *approval(*people)).blockers) for people in [(ANA,), (ANA, BEN), (ANA, BEN, CID)]
    ]
    assert found == [2, 1, 0]


def test_only_named_persons_may_merge() -> None:
    rules = [Protection(approvals=0, merge=("ana", "ben")), Protection(approvals=0, merge=("ben",))]
    judgement = evaluate(rules)
    for known, code in [(ANA, "NOT_ALLOWED"), (CID, "NOT_ALLOWED"), (BEN, None)]:
        block = find_blocker_for_actor(judgement, known.person)
        assert (block and block.code) == code


@loop_over(
    "checks",
    [
        [],
        PASSED[:3],
        [*PASSED[:3], Check("tasks", False)],
        [*PASSED, Check("links", False)],
        [Check("links", False), *PASSED],
    ],
)
def test_failed_or_missing_check_blocks_merge(checks: list[Check]) -> None:
    assert codes(evaluate([Protection()], *approval(ANA), checks=checks)) == ["CHECKS_FAILED"]
    assert codes(evaluate([Protection(checks=())], *approval(ANA), checks=checks)) == []


def test_change_request_of_client_blocks_clients_only() -> None:
    request = Reviewed(CHANGES, "", COMMIT)
    for author, stops_people in [(ADA, True), (author_of(ANA), True), (AGENT, False)]:
        judgement = evaluate((), (request, author))
        assert codes(judgement) == ["CHANGES_REQUESTED"]
        assert (find_blocker_for_actor(judgement, BEN.person) is not None) is stops_people
        assert (find_blocker_for_actor(judgement, None, is_client=False) is not None) is stops_people
        assert find_blocker_for_actor(judgement, None) is not None
        assert find_blocker_for_actor(judgement, BEN.person, is_client=True) is not None


def test_blocker_messages_are_bounded() -> None:
    paths = tuple(f"specs/{number}.md" for number in range(10_000))
    events = make_events((Reviewed(CHANGES, "", COMMIT), ADA._replace(name="x" * 900)))
    rule = Protection(approvers=tuple(f"p{number}" for number in range(100)))
    judgement = evaluate_requirements(
        make_proposal(events), events, [GoverningRule(rule, 1, paths)], [], TOKENS, frozenset()
    )
    assert all(len(block.message) < 400 for block in judgement.blockers)


PEOPLE = st.sampled_from([ANA, LAPTOP, BEN, CID])
NAMES = st.lists(st.sampled_from([*TOKENS.people, "zoe"]), max_size=4, unique=True).map(tuple)
VERDICTS, COMMITS = st.sampled_from(ReviewDecision), st.sampled_from([COMMIT, OTHER_COMMIT])
MARKS = st.sampled_from(
    ["genuine"] * 4 + ["copied", "forged", "none", "other proposal", "other commit", "other verdict"]
)


@st.composite
def rules(draw: st.DrawFn) -> Protection:
    approvers = draw(NAMES)
    return Protection(
        approvers=approvers,
        approvals=draw(st.integers(0, len(approvers) or 3)),
        merge=draw(NAMES),
        checks=tuple(draw(st.lists(st.sampled_from(ALL_CHECKS), unique=True))),
    )


class ReviewEvent(NamedTuple):
    """An event, its claimed author, and whether the author really wrote it."""

    body: EventBody
    author: Author
    is_genuine: bool = False


@st.composite
def review_events(draw: st.DrawFn) -> list[ReviewEvent]:
    found: list[ReviewEvent] = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.integers(0, 5)) == 0:
            found.append(ReviewEvent(Submitted(draw(COMMITS)), AGENT))
            continue
        known, verdict, commit, mark = (draw(one) for one in (PEOPLE, VERDICTS, COMMITS, MARKS))
        author = author_of(known)
        earlier = [one for one in found if isinstance(one.body, Reviewed) and one.body.seal]
        match mark:
            case "genuine":
                found.append(ReviewEvent(sealed_review(known, verdict, commit), author, True))
            case "copied" if earlier:
                found.append(draw(st.sampled_from(earlier))._replace(is_genuine=False))
            case "forged":
                found.append(ReviewEvent(Reviewed(verdict, "", commit, "ab" * 48), author))
            case "other proposal":
                found.append(ReviewEvent(sealed_review(known, verdict, commit, proposal="z7m2q9xb"), author))
            case "other commit":
                found.append(ReviewEvent(sealed_review(known, verdict, COMMIT, at=OTHER_COMMIT), author))
            case "other verdict":
                found.append(ReviewEvent(sealed_review(known, APPROVE, commit, on=CHANGES), author))
            case _:
                author = author._replace(known_by=draw(st.sampled_from(KnownBy)))
                found.append(ReviewEvent(Reviewed(verdict, "", commit), author))
    return found


def valid_approvals(reviews: Sequence[ReviewEvent], owners: set[str]) -> dict[str, set[str]]:
    """Return the tokens with a valid approval of the commit, by person, with a simple algorithm."""
    found: dict[str, set[str]] = {}
    for body, author, is_genuine in reviews:
        if not is_genuine or not isinstance(body, Reviewed) or body.verdict is ReviewDecision.COMMENT:
            continue
        tokens = found.setdefault(author.email.casefold(), set())
        if body.verdict is CHANGES:
            tokens.clear()
        else:
            tokens.discard(author.label)
            tokens |= {author.label} if body.commit == COMMIT else set()
    return {address: tokens for address, tokens in found.items() if tokens and address not in owners}


@given(
    policy=st.lists(rules(), min_size=1, max_size=3),
    reviews=review_events(),
    opener=st.sampled_from(
        [AGENT, author_of(ANA), author_of(LAPTOP), Author("Ben", "ben@example.org", KnownBy.GIT)]
    ),
    commit_authors=st.sets(st.sampled_from(["ana@example.org", "CID@example.org"])),
    passed=st.sets(st.sampled_from(ALL_CHECKS)),
    person=st.none() | PEOPLE.map(lambda known: known.person),
)
def test_random_events_never_bypass_rules(
    policy: list[Protection],
    reviews: list[ReviewEvent],
    opener: Author,
    commit_authors: set[str],
    passed: set[str],
    person: Person | None,
) -> None:
    owners = {address.casefold() for address in commit_authors}
    owners |= set() if opener.known_by is KnownBy.CLIENT else {opener.email.casefold()}
    people = valid_approvals(reviews, owners)
    unmet_rules = [
        rule
        for rule in policy
        if sum(1 for tokens in people.values() if not rule.approvers or tokens & {*rule.approvers})
        < rule.approvals
    ]
    judgement = evaluate(
        policy,
        *((one.body, one.author) for one in reviews),
        checks=[Check(name, name in passed) for name in ALL_CHECKS],
        commit_authors=frozenset(commit_authors),
        opener=opener,
    )
    assert codes(judgement).count("NEEDS_APPROVAL") == len(unmet_rules)
    if find_blocker_for_actor(judgement, person) is None:
        assert person is not None
        assert not unmet_rules
        assert all({*rule.checks} <= passed for rule in policy)
        assert all(not rule.merge or person.token in rule.merge for rule in policy)
