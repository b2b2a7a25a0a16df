"""No sequence of events lets a merge bypass the requirements of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.policy.review_events import (
    CLIENT_AUTHOR,
    GIT_AUTHOR,
    Check,
    make_author,
    make_events,
    make_keyring,
    make_proposal,
    seal_review,
)
from tests.workspace.proposals.event_writer import COMMIT, OTHER_COMMIT
from workspace.config.tables import ALL_CHECKS, Protection
from workspace.policy.protection import GoverningRule
from workspace.policy.tokens import READ_SCOPE, WRITE_SCOPE, KnownPerson, Person
from workspace.proposals.actions.merge_gate import (
    MergeEvaluation,
    evaluate_requirements,
    find_blocker_for_actor,
)
from workspace.proposals.approvals import VoidReason
from workspace.proposals.events import Author, EventBody, IdentitySource, ReviewDecision, Reviewed, Submitted

KEYRING = make_keyring(
    ana="ana@example.org", laptop="Ana@example.org", ben="ben@example.org", cid="cid@example.org"
)
ANA, ANA_LAPTOP, BEN, CID = (KEYRING.people[name] for name in ("ana", "laptop", "ben", "cid"))
PASSED_CHECKS = [Check(name, True) for name in ALL_CHECKS]

APPROVE, REQUEST_CHANGES = ReviewDecision.APPROVE, ReviewDecision.REQUEST_CHANGES


def evaluate(
    rules: Sequence[Protection],
    *reviews: tuple[EventBody, Author],
    checks: Sequence[Check] = PASSED_CHECKS,
    commit_authors: frozenset[str] = frozenset(),
    opener: Author = CLIENT_AUTHOR,
) -> MergeEvaluation:
    events = make_events(*reviews, opener=opener)
    governed = [GoverningRule(rule, number, ("specs/a.md",)) for number, rule in enumerate(rules, 1)]
    return evaluate_requirements(make_proposal(events), events, governed, checks, KEYRING, commit_authors)


def build_approvals(*people: KnownPerson) -> list[tuple[EventBody, Author]]:
    return [(seal_review(known_person), make_author(known_person)) for known_person in people]


def list_codes(evaluation: MergeEvaluation) -> list[str]:
    return [blocker.code for blocker in evaluation.blockers]


def test_without_rules_any_actor_may_merge() -> None:
    evaluation = evaluate(())
    assert (evaluation.requirements, evaluation.blockers) == ((), ())
    assert find_blocker_for_actor(evaluation, None, may_review=True) is None


def test_rule_requires_approval_and_person() -> None:
    rule = Protection()
    assert list_codes(evaluate([rule])) == ["NEEDS_APPROVAL"]
    evaluation = evaluate([rule], *build_approvals(ANA))
    assert [requirement.approved_by for requirement in evaluation.requirements] == [("ana",)]
    assert evaluation.requirements[0].is_met
    assert find_blocker_for_actor(evaluation, BEN.person, may_review=True) is None
    blocker = find_blocker_for_actor(evaluation, None, may_review=True)
    assert blocker is not None
    assert blocker.code == "NEEDS_PERSON"


def test_rule_without_approvals_still_requires_person() -> None:
    evaluation = evaluate([Protection(approvals=0)])
    assert evaluation.blockers == ()
    assert find_blocker_for_actor(evaluation, ANA.person, may_review=True) is None
    assert (blocker := find_blocker_for_actor(evaluation, None, may_review=True)) is not None
    assert blocker.code == "NEEDS_PERSON"


def test_two_tokens_of_one_person_are_one_approval() -> None:
    rule = Protection(approvals=2)
    assert list_codes(evaluate([rule], *build_approvals(ANA, ANA_LAPTOP))) == ["NEEDS_APPROVAL"]
    assert list_codes(evaluate([rule], *build_approvals(ANA, BEN))) == []
    rule_with_approvers = Protection(approvals=2, approvers=("ana", "laptop", "ben"))
    assert list_codes(evaluate([rule_with_approvers], *build_approvals(ANA, ANA_LAPTOP))) == [
        "NEEDS_APPROVAL"
    ]


def test_only_named_approvers_count() -> None:
    rule = Protection(approvers=("ana",))
    assert list_codes(evaluate([rule], *build_approvals(BEN))) == ["NEEDS_APPROVAL"]
    assert list_codes(evaluate([rule], *build_approvals(ANA))) == []


def test_approver_without_token_is_reported() -> None:
    evaluation = evaluate(
        [Protection(approvers=("ana", "zoe"), approvals=2, merge=("max",))], *build_approvals(ANA)
    )
    [requirement], [blocker] = evaluation.requirements, evaluation.blockers
    assert requirement.unknown == ("zoe", "max")
    assert blocker.message == (
        "specs/a.md needs 2 approvals by ana or zoe of the proposal as it is now, and has 1 (ana); "
        "no token of zoe is known here"
    )


def test_rule_lacks_an_approver_if_each_one_is_an_author() -> None:
    authors = frozenset({"cid@example.org"})
    for approvers, is_missing in ((("cid",), True), (("cid", "ana"), False), ((), False)):
        evaluation = evaluate([Protection(approvers=approvers)], commit_authors=authors)
        assert evaluation.requirements[0].lacks_approver == is_missing
        assert ("cid is an author of it, and cannot approve it" in evaluation.blockers[0].message) == (
            "cid" in approvers
        )


def test_blocker_lists_reasons_of_void_approvals() -> None:
    reviews = [
        *build_approvals(CID),
        (seal_review(ANA, commit=OTHER_COMMIT), make_author(ANA)),
        (seal_review(BEN), make_author(ANA)),
    ]
    [blocker] = evaluate([Protection()], *reviews, commit_authors=frozenset({"cid@example.org"})).blockers
    assert blocker.message.endswith(
        "and has 0; not counted are approvals "
        "without a seal that proves them, of another commit, of one's own work"
    )


def test_every_rule_must_be_fulfilled() -> None:
    rules = [Protection(approvers=("ana",)), Protection(approvers=("ben",)), Protection(approvals=3)]
    counts = [
        len(evaluate(rules, *build_approvals(*people)).blockers)
        for people in [(ANA,), (ANA, BEN), (ANA, BEN, CID)]
    ]
    assert counts == [2, 1, 0]


def test_only_named_persons_may_merge() -> None:
    rules = [Protection(approvals=0, merge=("ana", "ben")), Protection(approvals=0, merge=("ben",))]
    evaluation = evaluate(rules)
    for known_person, code in [(ANA, "NOT_ALLOWED"), (CID, "NOT_ALLOWED"), (BEN, None)]:
        blocker = find_blocker_for_actor(evaluation, known_person.person, may_review=True)
        assert (blocker and blocker.code) == code


@loop_over(
    "checks",
    [
        [],
        PASSED_CHECKS[:3],
        [*PASSED_CHECKS[:3], Check("tasks", False)],
        [*PASSED_CHECKS, Check("links", False)],
        [Check("links", False), *PASSED_CHECKS],
    ],
)
def test_failed_or_missing_check_blocks_merge(checks: list[Check]) -> None:
    assert list_codes(evaluate([Protection()], *build_approvals(ANA), checks=checks)) == ["CHECKS_FAILED"]
    assert list_codes(evaluate([Protection(checks=())], *build_approvals(ANA), checks=checks)) == []


def test_change_request_of_client_blocks_clients_only() -> None:
    request = Reviewed(REQUEST_CHANGES, "", COMMIT)
    for author, blocks_people in [(GIT_AUTHOR, True), (make_author(ANA), True), (CLIENT_AUTHOR, False)]:
        evaluation = evaluate((), (request, author))
        assert list_codes(evaluation) == ["CHANGES_REQUESTED"]
        assert (find_blocker_for_actor(evaluation, BEN.person, may_review=True) is not None) is blocks_people
        assert (
            find_blocker_for_actor(evaluation, None, may_review=True, is_client=False) is not None
        ) is blocks_people
        assert find_blocker_for_actor(evaluation, None, may_review=True) is not None
        assert find_blocker_for_actor(evaluation, BEN.person, may_review=True, is_client=True) is not None


def test_blocker_messages_are_bounded() -> None:
    paths = tuple(f"specs/{number}.md" for number in range(10_000))
    events = make_events((Reviewed(REQUEST_CHANGES, "", COMMIT), GIT_AUTHOR._replace(name="x" * 900)))
    rule = Protection(approvers=tuple(f"p{number}" for number in range(100)))
    evaluation = evaluate_requirements(
        make_proposal(events), events, [GoverningRule(rule, 1, paths)], [], KEYRING, frozenset()
    )
    assert all(len(blocker.message) < 400 for blocker in evaluation.blockers)


PEOPLE = st.sampled_from([ANA, ANA_LAPTOP, BEN, CID])
NAMES = st.lists(st.sampled_from([*KEYRING.people, "zoe"]), max_size=4, unique=True).map(tuple)
DECISIONS, COMMITS = st.sampled_from(ReviewDecision), st.sampled_from([COMMIT, OTHER_COMMIT])
SEAL_KINDS = st.sampled_from(
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
    """An event, its claimed author, and True if that author really wrote it."""

    body: EventBody
    author: Author
    is_genuine: bool = False


@st.composite
def review_events(draw: st.DrawFn) -> list[ReviewEvent]:
    events: list[ReviewEvent] = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.integers(0, 5)) == 0:
            events.append(ReviewEvent(Submitted(draw(COMMITS)), CLIENT_AUTHOR))
            continue
        known_person, verdict, commit, seal_kind = (
            draw(item) for item in (PEOPLE, DECISIONS, COMMITS, SEAL_KINDS)
        )
        author = make_author(known_person)
        sealed_events = [item for item in events if isinstance(item.body, Reviewed) and item.body.seal]
        match seal_kind:
            case "genuine":
                events.append(ReviewEvent(seal_review(known_person, verdict, commit), author, True))
            case "copied" if sealed_events:
                events.append(draw(st.sampled_from(sealed_events))._replace(is_genuine=False))
            case "forged":
                events.append(ReviewEvent(Reviewed(verdict, "", commit, "ab" * 48), author))
            case "other proposal":
                events.append(
                    ReviewEvent(seal_review(known_person, verdict, commit, proposal="z7m2q9xb"), author)
                )
            case "other commit":
                events.append(
                    ReviewEvent(
                        seal_review(known_person, verdict, COMMIT, sealed_commit=OTHER_COMMIT), author
                    )
                )
            case "other verdict":
                events.append(
                    ReviewEvent(
                        seal_review(known_person, APPROVE, commit, sealed_verdict=REQUEST_CHANGES), author
                    )
                )
            case _:
                author = author._replace(known_by=draw(st.sampled_from(IdentitySource)))
                events.append(ReviewEvent(Reviewed(verdict, "", commit), author))
    return events


def find_valid_approvals(reviews: Sequence[ReviewEvent], owners: set[str]) -> dict[str, set[str]]:
    """Return the tokens with a valid approval of the commit, by the person's email address."""
    tokens_by_email: dict[str, set[str]] = {}
    for body, author, is_genuine in reviews:
        if not is_genuine or not isinstance(body, Reviewed) or body.verdict is ReviewDecision.COMMENT:
            continue
        tokens = tokens_by_email.setdefault(author.email.casefold(), set())
        if body.verdict is REQUEST_CHANGES:
            tokens.clear()
        else:
            tokens.discard(author.label)
            tokens |= {author.label} if body.commit == COMMIT else set()
    return {email: tokens for email, tokens in tokens_by_email.items() if tokens and email not in owners}


@given(
    protection_rules=st.lists(rules(), min_size=1, max_size=3),
    reviews=review_events(),
    opener=st.sampled_from(
        [
            CLIENT_AUTHOR,
            make_author(ANA),
            make_author(ANA_LAPTOP),
            Author("Ben", "ben@example.org", IdentitySource.GIT),
        ]
    ),
    commit_authors=st.sets(st.sampled_from(["ana@example.org", "CID@example.org"])),
    passed_checks=st.sets(st.sampled_from(ALL_CHECKS)),
    person=st.none() | PEOPLE.map(lambda known_person: known_person.person),
)
def test_random_events_never_bypass_rules(
    protection_rules: list[Protection],
    reviews: list[ReviewEvent],
    opener: Author,
    commit_authors: set[str],
    passed_checks: set[str],
    person: Person | None,
) -> None:
    owners = {email.casefold() for email in commit_authors}
    owners |= set() if opener.known_by is IdentitySource.CLIENT else {opener.email.casefold()}
    people = find_valid_approvals(reviews, owners)
    unmet_rules = [
        rule
        for rule in protection_rules
        if sum(1 for tokens in people.values() if not rule.approvers or tokens & {*rule.approvers})
        < rule.approvals
    ]
    evaluation = evaluate(
        protection_rules,
        *((review.body, review.author) for review in reviews),
        checks=[Check(name, name in passed_checks) for name in ALL_CHECKS],
        commit_authors=frozenset(commit_authors),
        opener=opener,
    )
    assert list_codes(evaluation).count("NEEDS_APPROVAL") == len(unmet_rules)
    if find_blocker_for_actor(evaluation, person, may_review=True) is None:
        assert person is not None
        assert not unmet_rules
        assert all({*rule.checks} <= passed_checks for rule in protection_rules)
        assert all(not rule.merge or person.token in rule.merge for rule in protection_rules)


def test_token_without_the_scope_for_reviews_neither_approves_nor_merges() -> None:
    rule = Protection(paths=("specs/**",), approvals=1)
    evaluation = evaluate([rule], *build_approvals(BEN))
    assert find_blocker_for_actor(evaluation, ANA.person, may_review=True) is None
    blocker = find_blocker_for_actor(evaluation, ANA.person, may_review=False)
    assert blocker is not None
    assert blocker.code == "NEEDS_PERSON"
    assert "docs:review" in blocker.message
    # A seal made with the secret of such a token proves nothing.
    agent = BEN._replace(scopes=frozenset({READ_SCOPE, WRITE_SCOPE}))
    events = make_events(*build_approvals(agent), opener=CLIENT_AUTHOR)
    governed = [GoverningRule(rule, 1, ("specs/a.md",))]
    keyring = KEYRING._replace(people={**KEYRING.people, "ben": agent})
    evaluation = evaluate_requirements(
        make_proposal(events), events, governed, PASSED_CHECKS, keyring, frozenset()
    )
    assert list_codes(evaluation) == ["NEEDS_APPROVAL"]
    assert list(evaluation.void_reasons.values()) == [VoidReason.NO_SCOPE]
