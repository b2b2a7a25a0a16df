"""A review with comments is one commit of the discussion: all of its events, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import RULE, ProposalSetup
from workspace.edits.text import ReplaceText
from workspace.errors import WorkspaceError
from workspace.proposals.actions.discuss import MAX_REVIEW_COMMENTS, ProposalMoved, ReviewComment
from workspace.proposals.actions.repository import ProposalEnded
from workspace.proposals.approvals import OwnProposal
from workspace.proposals.events import Commented, InvalidEventText, ReviewDecision, Reviewed
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.writing.idempotency import KeyReused
from workspace.writing.plan import BatchMode

DISCUSSION = "docyard/discussion"
COMMENTS = (
    ReviewComment("Why?", "guide.md", "use", "Use it."),
    ReviewComment("Say ünder what.", "notes.md"),
    ReviewComment("In general, yes.", None),
)


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", RULE)


def count_discussion_commits(setup: ProposalSetup) -> int:
    return len(setup.log("--format=%h", DISCUSSION))


def list_new_bodies(setup: ProposalSetup, proposal: Proposal) -> list[object]:
    """Return the bodies of the events after the submission."""
    return [event.body for event in setup.proposal_actions.list_events(proposal)][2:]


@pytest.mark.parametrize("decision", [*ReviewDecision])
def test_review_with_comments_is_one_commit(setup: ProposalSetup, decision: ReviewDecision) -> None:
    proposal = setup.submit_proposal()
    count = count_discussion_commits(setup)
    result = setup.proposal_actions.review(
        proposal.id, setup.person(), decision, comments=COMMENTS, commit=proposal.tip
    )
    assert count_discussion_commits(setup) == count + 1
    review, *comments = list_new_bodies(setup, proposal)
    assert isinstance(review, Reviewed)
    assert (review.verdict, review.text, review.commit) == (decision, "", proposal.tip)
    assert [item.text for item in comments if isinstance(item, Commented)] == [item.text for item in COMMENTS]
    assert len(result.event_ids) == 4
    states = {"approve": ProposalState.APPROVED, "request_changes": ProposalState.CHANGES_REQUESTED}
    assert result.proposal.state is states.get(decision.value, ProposalState.OPEN)
    [thread, _, _] = result.proposal.content.threads
    assert thread.comment.target is not None
    assert (thread.comment.target.slug, thread.comment.target.quote) == ("use", "Use it.")


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        (ReviewComment(" ", "guide.md", "use"), "comment 2 on guide.md#use: the comment is empty"),
        (
            ReviewComment("x", "guide.md", "use", "Not there"),
            "comment 2 on guide.md#use: the quote is not in",
        ),
        (ReviewComment("x", "missing.md"), "comment 2 on missing.md: "),
        (ReviewComment("x", "guide.md", "missing"), "comment 2 on guide.md#missing: "),
        (ReviewComment("x" * 65_537, None), "comment 2: the comment has 65,537 characters"),
    ],
    ids=["empty", "quote", "document", "section", "long"],
)
def test_invalid_comment_refuses_the_whole_review(
    setup: ProposalSetup, comment: ReviewComment, message: str
) -> None:
    proposal = setup.submit_proposal()
    with pytest.raises(WorkspaceError) as caught:
        setup.proposal_actions.review(
            proposal.id, setup.person(), ReviewDecision.APPROVE, comments=(COMMENTS[0], comment)
        )
    assert message in caught.value.message
    assert caught.value.details["comment"] == 2
    assert list_new_bodies(setup, proposal) == []


def test_refused_decision_sends_no_comment(setup: ProposalSetup) -> None:
    own_proposal = setup.proposal_actions.open("Mine", "", setup.person())
    setup.append(own_proposal.id, "One.")
    with pytest.raises(OwnProposal):
        setup.proposal_actions.review(
            own_proposal.id, setup.person(), ReviewDecision.APPROVE, comments=COMMENTS
        )
    proposal = setup.submit_proposal()
    setup.append(proposal.id, "Unseen.")
    with pytest.raises(ProposalMoved):
        setup.proposal_actions.review(
            proposal.id, setup.person(), ReviewDecision.APPROVE, comments=COMMENTS, commit=proposal.tip
        )
    for item in (own_proposal, proposal):
        assert setup.proposal_actions.find(item.id).content.threads == ()


def test_too_many_comments_are_refused(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    comments = [ReviewComment("x", None)] * (MAX_REVIEW_COMMENTS + 1)
    with pytest.raises(InvalidEventText, match="the limit is 100"):
        setup.proposal_actions.review(proposal.id, setup.person(), ReviewDecision.COMMENT, comments=comments)


def test_repeated_review_is_appended_once(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    actor, key = setup.person(), "k" * 32

    def review(text: str, comments: tuple[ReviewComment, ...]) -> tuple[str, ...]:
        return setup.proposal_actions.review(
            proposal.id, actor, ReviewDecision.APPROVE, text, comments=comments, key=key
        ).event_ids

    ids = review("Good.", COMMENTS)
    setup.append(proposal.id, "Later.")  # a retry is recognized also after the proposal has changed
    assert review("Good.", COMMENTS) == ids
    for text, comments in [("Other.", COMMENTS), ("Good.", COMMENTS[:2]), ("Good.", COMMENTS[::-1])]:
        with pytest.raises(KeyReused):
            review(text, comments)
    assert len(list_new_bodies(setup, proposal)) == 4


def test_comment_on_an_earlier_commit_keeps_that_commit(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal("More of it.")
    branch = setup.proposal_actions.open_branch(proposal.id)
    branch.write(
        [ReplaceText(file="guide.md", old="More of it.", new="Less.")],
        mode=BatchMode.ALL,
        tool="edit_document",
        client="an agent",
    )
    comment = ReviewComment("How much?", "guide.md", "use", "More of it.", proposal.tip)
    result = setup.proposal_actions.review(
        proposal.id, setup.person(), ReviewDecision.COMMENT, comments=[comment]
    )
    [thread] = result.proposal.content.threads
    assert thread.comment.commit == proposal.tip
    [located] = setup.workspace.proposal_reviews().comments(result.proposal).threads
    assert located.location is not None
    assert located.location.status.value == "outdated"


@pytest.mark.parametrize("commit", ["0" * 40, "main", "-x", ""])
def test_comment_on_a_foreign_commit_is_on_the_tip(setup: ProposalSetup, commit: str) -> None:
    proposal = setup.submit_proposal()
    comment = ReviewComment("Why?", "guide.md", "use", "Use it.", commit)
    result = setup.proposal_actions.review(
        proposal.id, setup.person(), ReviewDecision.COMMENT, comments=[comment]
    )
    [thread] = result.proposal.content.threads
    assert thread.comment.commit == proposal.tip


@pytest.mark.parametrize("state", ["merged", "closed", "gone"])
def test_ended_proposal_accepts_the_comments_of_a_review(setup: ProposalSetup, state: str) -> None:
    proposal = setup.submit_proposal()
    if state == "merged":
        setup.proposal_actions.merge(proposal.id, setup.person())
    elif state == "closed":
        setup.proposal_actions.close(proposal.id, setup.person())
    else:
        setup.repo.git("branch", "-D", proposal.content.branch)
    comments = COMMENTS if state != "gone" else COMMENTS[2:]
    with pytest.raises(ProposalEnded):
        setup.proposal_actions.review(proposal.id, setup.person(), ReviewDecision.APPROVE, comments=comments)
    for _ in range(2):
        result = setup.proposal_actions.review(
            proposal.id, setup.person(), ReviewDecision.COMMENT, "Late.", comments=comments, key="a-key"
        )
    threads = result.proposal.content.threads
    assert [thread.comment.text for thread in threads] == ["Late.", *(item.text for item in comments)]
    assert result.proposal.reviews == ()
