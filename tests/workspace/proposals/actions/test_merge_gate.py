"""Nothing passes without what its rules ask for, whatever else is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from tests.workspace.policy.judged import ADA, AGENT, Check, by, ring, said, sealed, standing
from tests.workspace.proposals.saying import COMMIT, OTHER_COMMIT
from workspace.config.tables import ALL_CHECKS, Protection
from workspace.policy.protection import GoverningRule
from workspace.policy.tokens import KnownPerson, Person
from workspace.proposals.actions.merge_gate import MergeEvaluation, find_blocker_for_actor, judge
from workspace.proposals.events import Author, EventBody, KnownBy, ReviewDecision, Reviewed, Submitted

TOKENS = ring(ana="ana@example.org", laptop="Ana@example.org", ben="ben@example.org", cid="cid@example.org")
ANA, LAPTOP, BEN, CID = (TOKENS.people[name] for name in ("ana", "laptop", "ben", "cid"))
PASSED = [Check(name, True) for name in ALL_CHECKS]

APPROVE, CHANGES = ReviewDecision.APPROVE, ReviewDecision.REQUEST_CHANGES


def judged(
    rules: Sequence[Protection],
    *spoken: tuple[EventBody, Author],
    checks: Sequence[Check] = PASSED,
    own: frozenset[str] = frozenset(),
    opener: Author = AGENT,
) -> MergeEvaluation:
    events = said(*spoken, opener=opener)
    governed = [GoverningRule(rule, number, ("specs/a.md",)) for number, rule in enumerate(rules, 1)]
    return judge(standing(events), events, governed, checks, TOKENS, own)


def approval(*people: KnownPerson) -> list[tuple[EventBody, Author]]:
    return [(sealed(known), by(known)) for known in people]


def codes(judgement: MergeEvaluation) -> list[str]:
    return [block.code for block in judgement.blockers]


def test_without_a_rule_anyone_merges() -> None:
    judgement = judged(())
    assert (judgement.requirements, judgement.blockers) == ((), ())
    assert find_blocker_for_actor(judgement, None) is None


def test_an_approval_and_a_person() -> None:
    rule = Protection()
    assert codes(judged([rule])) == ["NEEDS_APPROVAL"]
    judgement = judged([rule], *approval(ANA))
    assert [demand.approved_by for demand in judgement.requirements] == [("ana",)]
    assert judgement.requirements[0].is_met
    assert find_blocker_for_actor(judgement, BEN.person) is None
    block = find_blocker_for_actor(judgement, None)
    assert block is not None
    assert block.code == "NEEDS_PERSON"


def test_no_approvals_still_ask_for_a_person() -> None:
    judgement = judged([Protection(approvals=0)])
    assert judgement.blockers == ()
    assert find_blocker_for_actor(judgement, ANA.person) is None
    assert (block := find_blocker_for_actor(judgement, None)) is not None
    assert block.code == "NEEDS_PERSON"


def test_two_tokens_of_one_person_are_one_approval() -> None:
    two = Protection(approvals=2)
    assert codes(judged([two], *approval(ANA, LAPTOP))) == ["NEEDS_APPROVAL"]
    assert codes(judged([two], *approval(ANA, BEN))) == []
    named = Protection(approvals=2, approvers=("ana", "laptop", "ben"))
    assert codes(judged([named], *approval(ANA, LAPTOP))) == ["NEEDS_APPROVAL"]


def test_only_those_who_are_named_count() -> None:
    rule = Protection(approvers=("ana",))
    assert codes(judged([rule], *approval(BEN))) == ["NEEDS_APPROVAL"]
    assert codes(judged([rule], *approval(ANA))) == []


def test_a_named_approver_without_a_token_is_told_of() -> None:
    judgement = judged([Protection(approvers=("ana", "zoe"), approvals=2, merge=("max",))], *approval(ANA))
    [demand], [block] = judgement.requirements, judgement.blockers
    assert demand.unknown == ("zoe", "max")
    assert block.message == (
        "specs/a.md needs 2 approvals by ana or zoe of the proposal as it is now, and has 1 (ana); "
        "no token of zoe is known here"
    )


def test_why_an_approval_does_not_count_is_said() -> None:
    spoken = [*approval(CID), (sealed(ANA, commit=OTHER_COMMIT), by(ANA)), (sealed(BEN), by(ANA))]
    [block] = judged([Protection()], *spoken, own=frozenset({"cid@example.org"})).blockers
    assert block.message.endswith(
        "and has 0; not counted are approvals "
        "without a seal that proves them, of another commit, of one's own work"
    )


def test_every_rule_must_be_fulfilled() -> None:
    rules = [Protection(approvers=("ana",)), Protection(approvers=("ben",)), Protection(approvals=3)]
    found = [
        len(judged(rules, *approval(*people)).blockers) for people in [(ANA,), (ANA, BEN), (ANA, BEN, CID)]
    ]
    assert found == [2, 1, 0]


def test_who_may_merge() -> None:
    rules = [Protection(approvals=0, merge=("ana", "ben")), Protection(approvals=0, merge=("ben",))]
    judgement = judged(rules)
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
def test_a_check_that_failed_or_did_not_run_blocks(checks: list[Check]) -> None:
    assert codes(judged([Protection()], *approval(ANA), checks=checks)) == ["CHECKS_FAILED"]
    assert codes(judged([Protection(checks=())], *approval(ANA), checks=checks)) == []


def test_a_person_who_asks_for_changes_stops_all_a_client_only_clients() -> None:
    asks = Reviewed(CHANGES, "", COMMIT)
    for author, stops_people in [(ADA, True), (by(ANA), True), (AGENT, False)]:
        judgement = judged((), (asks, author))
        assert codes(judgement) == ["CHANGES_REQUESTED"]
        assert (find_blocker_for_actor(judgement, BEN.person) is not None) is stops_people
        assert (find_blocker_for_actor(judgement, None, is_client=False) is not None) is stops_people
        assert find_blocker_for_actor(judgement, None) is not None
        assert find_blocker_for_actor(judgement, BEN.person, is_client=True) is not None


def test_messages_are_bounded() -> None:
    paths = tuple(f"specs/{number}.md" for number in range(10_000))
    events = said((Reviewed(CHANGES, "", COMMIT), ADA._replace(name="x" * 900)))
    rule = Protection(approvers=tuple(f"p{number}" for number in range(100)))
    judgement = judge(standing(events), events, [GoverningRule(rule, 1, paths)], [], TOKENS, frozenset())
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


class Spoken(NamedTuple):
    """Words, who they are said to be of, and whether they are that person's own."""

    words: EventBody
    author: Author
    is_genuine: bool = False


@st.composite
def speeches(draw: st.DrawFn) -> list[Spoken]:
    found: list[Spoken] = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.integers(0, 5)) == 0:
            found.append(Spoken(Submitted(draw(COMMITS)), AGENT))
            continue
        known, verdict, commit, mark = (draw(one) for one in (PEOPLE, VERDICTS, COMMITS, MARKS))
        author = by(known)
        earlier = [one for one in found if isinstance(one.words, Reviewed) and one.words.seal]
        match mark:
            case "genuine":
                found.append(Spoken(sealed(known, verdict, commit), author, True))
            case "copied" if earlier:
                found.append(draw(st.sampled_from(earlier))._replace(is_genuine=False))
            case "forged":
                found.append(Spoken(Reviewed(verdict, "", commit, "ab" * 48), author))
            case "other proposal":
                found.append(Spoken(sealed(known, verdict, commit, proposal="z7m2q9xb"), author))
            case "other commit":
                found.append(Spoken(sealed(known, verdict, COMMIT, at=OTHER_COMMIT), author))
            case "other verdict":
                found.append(Spoken(sealed(known, APPROVE, commit, on=CHANGES), author))
            case _:
                author = author._replace(known_by=draw(st.sampled_from(KnownBy)))
                found.append(Spoken(Reviewed(verdict, "", commit), author))
    return found


def approving(spoken: Sequence[Spoken], owners: set[str]) -> dict[str, set[str]]:
    """By person, the tokens whose approval of the commit stands: as one would say it."""
    found: dict[str, set[str]] = {}
    for words, author, is_genuine in spoken:
        if not is_genuine or not isinstance(words, Reviewed) or words.verdict is ReviewDecision.COMMENT:
            continue
        tokens = found.setdefault(author.email.casefold(), set())
        if words.verdict is CHANGES:
            tokens.clear()
        else:
            tokens.discard(author.label)
            tokens |= {author.label} if words.commit == COMMIT else set()
    return {address: tokens for address, tokens in found.items() if tokens and address not in owners}


@given(
    policy=st.lists(rules(), min_size=1, max_size=3),
    spoken=speeches(),
    opener=st.sampled_from([AGENT, by(ANA), by(LAPTOP), Author("Ben", "ben@example.org", KnownBy.GIT)]),
    own=st.sets(st.sampled_from(["ana@example.org", "CID@example.org"])),
    passed=st.sets(st.sampled_from(ALL_CHECKS)),
    person=st.none() | PEOPLE.map(lambda known: known.person),
)
def test_nothing_passes_without_what_the_rules_ask_for(
    policy: list[Protection],
    spoken: list[Spoken],
    opener: Author,
    own: set[str],
    passed: set[str],
    person: Person | None,
) -> None:
    owners = {address.casefold() for address in own}
    owners |= set() if opener.known_by is KnownBy.CLIENT else {opener.email.casefold()}
    people = approving(spoken, owners)
    lacking = [
        rule
        for rule in policy
        if sum(1 for tokens in people.values() if not rule.approvers or tokens & {*rule.approvers})
        < rule.approvals
    ]
    judgement = judged(
        policy,
        *((one.words, one.author) for one in spoken),
        checks=[Check(name, name in passed) for name in ALL_CHECKS],
        own=frozenset(own),
        opener=opener,
    )
    assert codes(judgement).count("NEEDS_APPROVAL") == len(lacking)
    if find_blocker_for_actor(judgement, person) is None:
        assert person is not None
        assert not lacking
        assert all({*rule.checks} <= passed for rule in policy)
        assert all(not rule.merge or person.token in rule.merge for rule in policy)
