"""A proposal concerns its owner, the reviewers of rules and CODEOWNERS, and mentioned people."""

from __future__ import annotations

from collections.abc import Sequence

from tests.loops import loop_over
from tests.workspace.policy.review_events import (
    CLIENT_AUTHOR,
    make_author,
    make_events,
    make_keyring,
    make_proposal,
    seal_review,
)
from tests.workspace.proposals.event_writer import COMMIT, OTHER_COMMIT
from workspace.config.tables import Protection
from workspace.policy.protection import GoverningRule
from workspace.proposals.approvals import evaluate_reviews
from workspace.proposals.attention import (
    ApprovalCount,
    Attention,
    AttentionReason,
    ProposalFacts,
    ReviewerSource,
    determine_attention,
)
from workspace.proposals.events import (
    Author,
    Commented,
    Edited,
    EventBody,
    IdentitySource,
    Resolved,
    ReviewDecision,
    Reviewed,
    Submitted,
)
from workspace.proposals.participants import Participants
from workspace.proposals.proposal import CommitRelation, Proposal, ProposalState, ReviewStatus

KEYRING = make_keyring(ana="ana@example.org", ben="ben@example.org", cid="cid@example.org")
ANA, BEN, CID = KEYRING.people.values()
PEOPLE = Participants([owner.person for owner in KEYRING.people.values()])
AGENT_OF_ANA = Author("Ana", "ana@example.org", IdentitySource.CLIENT, "an agent")
BY_ANA, BY_BEN = make_author(ANA), make_author(BEN)
SUBMITTED = Submitted(COMMIT), BY_ANA
REQUEST = seal_review(BEN, ReviewDecision.REQUEST_CHANGES), BY_BEN
APPROVE = seal_review(BEN), BY_BEN

REVIEW, CHANGES, CONFLICTS, MENTIONED, READY = AttentionReason


def determine(
    *events: tuple[EventBody, Author],
    opener: Author = BY_ANA,
    rules: Sequence[Protection] = (),
    owner_groups: Sequence[tuple[str, ...]] = (),
    has_conflicts: bool = False,
    state: ProposalState | None = None,
    commit_authors: frozenset[str] = frozenset(),
) -> Attention:
    all_events = make_events(*events, opener=opener)
    proposal = add_state(make_proposal(all_events), state)
    return determine_attention(
        ProposalFacts(
            proposal,
            all_events,
            evaluate_reviews(proposal, all_events, KEYRING, commit_authors),
            commit_authors,
            [GoverningRule(rule, number, ("a.md",)) for number, rule in enumerate(rules, 1)],
            owner_groups,
            has_conflicts,
        ),
        PEOPLE,
    )


def add_state(proposal: Proposal, state: ProposalState | None) -> Proposal:
    """Return a proposal with the states of its reviews, and its own."""
    statuses = tuple(
        ReviewStatus(
            review,
            CommitRelation.CURRENT if review.commit == COMMIT else CommitRelation.EDITED,
            review.author.is_same(proposal.content.author),
        )
        for review in proposal.content.reviews
    )
    if state is None and proposal.content.submitted_commit is None:
        state = ProposalState.DRAFT
    if state is None and any(status.requests_changes for status in statuses):
        state = ProposalState.CHANGES_REQUESTED
    if state is None and any(status.approves for status in statuses):
        state = ProposalState.APPROVED
    return proposal._replace(state=state or ProposalState.OPEN, reviews=statuses)


def list_reasons(attention: Attention) -> dict[str, list[AttentionReason]]:
    """Return the reasons of each person, by the first letters of the names."""
    reasons = {
        person.name[0].lower(): [*attention.find_reasons(person)]
        for person in PEOPLE
        if attention.find_reasons(person)
    }
    return reasons


def test_draft_waits_for_no_one() -> None:
    assert list_reasons(determine(owner_groups=[("@ben",)])) == {}


def test_proposal_without_named_reviewers_waits_for_anyone_but_its_author() -> None:
    attention = determine(SUBMITTED)
    assert attention.awaits_anyone
    assert list_reasons(attention) == {"b": [REVIEW], "c": [REVIEW]}
    assert attention.list_concerned() == {}


def test_proposal_of_a_client_waits_for_the_person_in_whose_name_it_writes() -> None:
    attention = determine((Submitted(COMMIT), AGENT_OF_ANA), opener=AGENT_OF_ANA)
    assert (attention.owner.email, attention.is_by_client) == ("ana@example.org", True)
    assert list_reasons(attention) == {"a": [REVIEW], "b": [REVIEW], "c": [REVIEW]}


def test_author_of_a_commit_is_not_awaited() -> None:
    attention = determine(SUBMITTED, commit_authors=frozenset({"cid@example.org"}))
    assert list_reasons(attention) == {"b": [REVIEW]}


def test_approved_proposal_without_a_rule_waits_for_no_one() -> None:
    attention = determine(SUBMITTED, APPROVE)
    assert list_reasons(attention) == {}
    assert [person.name for person in attention.approved_by] == ["Ben"]
    assert attention.approvals == ApprovalCount(1, 0)


def test_approval_without_a_token_counts_only_without_a_rule() -> None:
    by_git = Author("Dan", "dan@example.org", IdentitySource.GIT)
    review = Reviewed(ReviewDecision.APPROVE, "", COMMIT), by_git
    assert [person.name for person in determine(SUBMITTED, review).approved_by] == ["Dan"]
    assert determine(SUBMITTED, review, rules=[Protection()]).approved_by == ()


def test_forged_approval_does_not_count() -> None:
    forged = Reviewed(ReviewDecision.APPROVE, "", COMMIT), BY_BEN
    assert determine(SUBMITTED, forged).approved_by == ()


def test_approval_of_an_earlier_commit_does_not_count() -> None:
    earlier = seal_review(BEN, commit=OTHER_COMMIT), BY_BEN
    assert list_reasons(determine(SUBMITTED, earlier)) == {"b": [REVIEW], "c": [REVIEW]}


def test_rule_names_its_approvers() -> None:
    rules = [Protection(approvers=("ben", "zoe"), approvals=1)]
    attention = determine(SUBMITTED, rules=rules)
    assert list_reasons(attention) == {"b": [REVIEW]}
    assert [(reviewer.name, reviewer.is_awaited) for reviewer in attention.reviewers] == [
        ("@ben", True),
        ("@zoe", True),
    ]
    assert attention.reviewers[1].person is None
    assert attention.approvals == ApprovalCount(0, 1)
    attention = determine(SUBMITTED, APPROVE, rules=rules)
    assert list_reasons(attention) == {}
    assert attention.reviewers[0].decision is ReviewDecision.APPROVE


def test_rule_that_needs_two_approvals_waits_for_the_second() -> None:
    attention = determine(SUBMITTED, APPROVE, rules=[Protection(approvals=2), Protection(approvals=1)])
    assert list_reasons(attention) == {"c": [REVIEW]}
    assert attention.approvals == ApprovalCount(1, 2)


def test_rule_without_approvals_waits_for_no_one() -> None:
    assert list_reasons(determine(SUBMITTED, rules=[Protection(approvals=0)])) == {}


def test_code_owners_are_named_as_reviewers() -> None:
    attention = determine(SUBMITTED, owner_groups=[("@ben", "@cid"), ("@ben", "@acme/docs")])
    assert list_reasons(attention) == {"b": [REVIEW], "c": [REVIEW]}
    assert [(reviewer.name, reviewer.sources) for reviewer in attention.reviewers] == [
        ("@ben", (ReviewerSource.CODE_OWNERS,)),
        ("@cid", (ReviewerSource.CODE_OWNERS,)),
        ("@acme/docs", (ReviewerSource.CODE_OWNERS,)),
    ]
    assert list_reasons(determine(SUBMITTED, APPROVE, owner_groups=[("@ben", "@cid")])) == {}
    attention = determine(SUBMITTED, APPROVE, owner_groups=[("@ben",), ("cid@example.org",)])
    assert list_reasons(attention) == {"c": [REVIEW]}


def test_owner_who_is_the_author_is_not_awaited() -> None:
    attention = determine(SUBMITTED, owner_groups=[("@ana",)])
    assert list_reasons(attention) == {"b": [REVIEW], "c": [REVIEW]}


def test_code_owners_do_not_replace_the_rule() -> None:
    rules = [Protection(approvers=("cid",), approvals=1)]
    attention = determine(SUBMITTED, APPROVE, rules=rules, owner_groups=[("@ben",)])
    assert list_reasons(attention) == {"c": [REVIEW]}


@loop_over("owner", ["@acme/docs", "@nobody"])
def test_unknown_owner_leaves_the_review_to_anyone(owner: str) -> None:
    assert determine(SUBMITTED, owner_groups=[(owner,)]).awaits_anyone


def test_address_in_code_owners_is_a_person_without_a_token() -> None:
    attention = determine(SUBMITTED, owner_groups=[("dan@example.org",)])
    assert [person.email for person in attention.awaited_people] == ["dan@example.org"]
    assert not attention.awaits_anyone


def test_requested_changes_need_the_owner_and_no_reviewer() -> None:
    attention = determine(SUBMITTED, REQUEST, owner_groups=[("@ben",), ("@cid",)])
    assert list_reasons(attention) == {"a": [CHANGES]}
    attention = determine(SUBMITTED, REQUEST, (Submitted(OTHER_COMMIT), BY_ANA), owner_groups=[("@ben",)])
    assert list_reasons(attention) == {"b": [REVIEW]}


def test_request_of_a_client_is_no_decision_of_its_user() -> None:
    by_agent = Author("Ben", "ben@example.org", IdentitySource.CLIENT, "an agent")
    attention = determine(SUBMITTED, (Reviewed(ReviewDecision.REQUEST_CHANGES, "", COMMIT), by_agent))
    assert attention.deciders == frozenset()
    assert list_reasons(attention) == {"a": [CHANGES]}


def test_conflicts_need_the_owner() -> None:
    assert list_reasons(determine(has_conflicts=True)) == {"a": [CONFLICTS]}


def test_ready_proposal_needs_those_who_may_merge() -> None:
    rules = [Protection(merge=("ana", "cid")), Protection(merge=("ben", "cid"), approvals=1)]
    attention = determine(SUBMITTED, APPROVE, rules=rules)
    assert (attention.is_ready, list_reasons(attention)) == (None, {})
    assert list_reasons(attention._replace(is_ready=True)) == {"c": [READY]}
    assert determine(SUBMITTED, rules=rules).is_ready is False
    free = determine(SUBMITTED, APPROVE)._replace(is_ready=True)
    assert list_reasons(free) == {"a": [READY], "b": [READY], "c": [READY]}


def test_mention_needs_the_person_until_an_answer() -> None:
    mention = Commented("@cid and @ana, see this"), BY_ANA
    assert list_reasons(determine(mention)) == {"c": [MENTIONED]}
    by_agent = Author("Cid", "cid@example.org", IdentitySource.CLIENT, "an agent")
    assert list_reasons(determine(mention, (Commented("I do"), by_agent))) == {"c": [MENTIONED]}
    answered = determine(mention, (Commented("Done"), make_author(CID)))
    assert list_reasons(answered) == {}
    assert [item.is_answered for item in answered.mentions] == [True]


def test_resolved_thread_answers_its_mentions() -> None:
    mention = Commented("@cid?"), BY_BEN
    thread = make_events(mention, opener=BY_ANA)[1].id
    assert list_reasons(determine(mention, (Resolved(thread), BY_ANA))) == {}


def test_only_the_current_description_mentions() -> None:
    first, second = (Edited(description="@ben"), BY_ANA), (Edited(description="@cid"), BY_ANA)
    attention = determine(first, second, (Edited(title="T"), BY_ANA))
    assert list_reasons(attention) == {"c": [MENTIONED]}


@loop_over("state", [ProposalState.MERGED, ProposalState.CLOSED, ProposalState.GONE])
def test_ended_proposal_needs_no_one(state: ProposalState) -> None:
    attention = determine(SUBMITTED, REQUEST, (Commented("@cid"), BY_ANA), has_conflicts=True, state=state)
    assert list_reasons(attention) == {}
    assert [mention.person.name for mention in attention.mentions] == ["Cid"]


def test_proposal_of_an_unknown_client_has_an_owner() -> None:
    assert determine(opener=CLIENT_AUTHOR).owner.email == "docyard@localhost"
