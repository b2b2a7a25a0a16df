"""A proposal's state is derived from its events and its branches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.workspace.proposals.event_writer import (
    CLIENT_AUTHOR,
    COMMIT,
    GIT_AUTHOR,
    PROPOSAL_ID,
    TOKEN_AUTHOR,
    EventWriter,
    make_opening,
)
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    Edited,
    Refreshed,
    Reopened,
    ReviewDecision,
    Reviewed,
    Submitted,
)
from workspace.proposals.proposal import (
    AmbiguousProposal,
    CommitRelation,
    Proposal,
    ProposalNotFound,
    Proposals,
    ProposalState,
)

BRANCH = f"proposals/{PROPOSAL_ID}"
OTHER_ID = "z0000001"


class ProposalSetup:
    """A repository with a proposal that an agent opened, and methods to change it with Git."""

    def __init__(self, path: Path) -> None:
        self.repo = repositories.create_repository(path)
        self.writer = EventWriter(self.repo.path)
        self.base = self.repo.head()
        self.repo.git("branch", BRANCH)
        self.writer.append(make_opening(base=self.base), by=CLIENT_AUTHOR)
        self.proposals = Proposals(self.writer.store)

    def find_proposal(self, id: str = PROPOSAL_ID) -> Proposal:
        """Return the current proposal; check that a cached and a new reader return the same."""
        discussion = self.writer.log.read()
        proposal = self.proposals.find(discussion, id)
        assert proposal == Proposals(self.writer.store).find(discussion, id)
        return proposal

    def commit_file(
        self, text: str, path: str = "new.md", branch: str = BRANCH, message: str = "Change"
    ) -> str:
        """Commit a file to a branch, and return the commit."""
        self.repo.git("checkout", "-q", branch)
        commit = self.repo.commit({path: text}, message)
        self.repo.git("checkout", "-q", "main")
        return commit

    def submit(self, text: str = "One\n") -> str:
        """Commit to the proposal, submit it, and return the commit."""
        commit = self.commit_file(text)
        self.writer.append(Submitted(commit), by=CLIENT_AUTHOR)
        return commit

    def review(self, verdict: ReviewDecision, commit: str, by: Author = TOKEN_AUTHOR) -> None:
        self.writer.append(Reviewed(verdict, "", commit), by=by)

    def merge(self, message: str = "Merge", *options: str) -> str:
        self.repo.git("merge", "-q", *(options or ("--no-ff",)), "-m", message, BRANCH)
        return self.repo.head()


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo")


def test_state_changes_from_draft_to_merged(setup: ProposalSetup) -> None:
    assert setup.find_proposal().state is ProposalState.DRAFT
    first_commit = setup.submit()
    assert setup.find_proposal().state is ProposalState.OPEN
    setup.review(ReviewDecision.REQUEST_CHANGES, first_commit)
    assert setup.find_proposal().state is ProposalState.CHANGES_REQUESTED
    second_commit = setup.commit_file("Two\n")
    assert setup.find_proposal().state is ProposalState.CHANGES_REQUESTED, "an edit alone does not answer"
    setup.writer.append(Submitted(second_commit), by=CLIENT_AUTHOR)
    assert setup.find_proposal().state is ProposalState.OPEN
    setup.review(ReviewDecision.APPROVE, second_commit)
    approved_proposal = setup.find_proposal()
    assert approved_proposal.state is ProposalState.APPROVED
    assert [review.author for review in approved_proposal.approvals] == [TOKEN_AUTHOR]
    assert [review.relation for review in approved_proposal.reviews] == [
        CommitRelation.EDITED,
        CommitRelation.CURRENT,
    ]
    merge_commit = setup.merge()
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.merge_record, proposal.is_ahead) == (
        ProposalState.MERGED,
        (merge_commit, second_commit),
        False,
    )
    assert proposal.content.title == "Say more of retries"
    assert proposal.content.author == CLIENT_AUTHOR


def test_empty_proposal_is_not_merged_by_target_commits(setup: ProposalSetup) -> None:
    setup.commit_file("Elsewhere\n", "other.md", "main")
    assert setup.find_proposal().state is ProposalState.DRAFT
    setup.repo.git("checkout", "-q", BRANCH)
    setup.repo.git("merge", "-q", "--ff-only", "main")
    setup.repo.git("checkout", "-q", "main")
    tip = setup.repo.head()
    setup.writer.append(Refreshed(tip, tip), by=CLIENT_AUTHOR)
    setup.commit_file("More\n", "other.md", "main")
    assert setup.find_proposal().state is ProposalState.DRAFT


def test_edit_voids_approval(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    setup.review(ReviewDecision.APPROVE, first_commit)
    setup.commit_file("Two\n")
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.approvals) == (ProposalState.OPEN, ())
    assert proposal.reviews[0].relation is CommitRelation.EDITED
    assert not proposal.is_rewritten


@pytest.mark.parametrize("is_pruned", [False, True])
def test_rewritten_branch_is_reported(setup: ProposalSetup, is_pruned: bool) -> None:
    first_commit = setup.submit()
    setup.review(ReviewDecision.APPROVE, first_commit)
    setup.repo.git("checkout", "-q", BRANCH)
    setup.repo.git("commit", "-q", "--amend", "-m", "Another message")
    setup.repo.git("checkout", "-q", "main")
    if is_pruned:
        setup.repo.git("reflog", "expire", "--expire=now", "--all")
        setup.repo.git("gc", "-q", "--prune=now")
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.is_rewritten, proposal.reviews[0].relation) == (
        ProposalState.OPEN,
        True,
        CommitRelation.REWRITTEN,
    )


def test_deleted_branch_is_reported(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    setup.review(ReviewDecision.APPROVE, first_commit)
    setup.repo.git("branch", "-q", "-D", BRANCH)
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.tip, proposal.reviews[0].relation) == (
        ProposalState.GONE,
        None,
        CommitRelation.GONE,
    )
    setup.repo.git("branch", BRANCH, first_commit)
    assert setup.find_proposal().state is ProposalState.APPROVED


def test_approval_of_own_proposal_does_not_count(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    setup.review(ReviewDecision.APPROVE, first_commit, by=CLIENT_AUTHOR)
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.approvals, proposal.reviews[0].is_own) == (ProposalState.OPEN, (), True)


def test_last_review_of_each_person_counts(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    setup.review(ReviewDecision.APPROVE, first_commit, by=GIT_AUTHOR)
    setup.review(ReviewDecision.REQUEST_CHANGES, first_commit)
    assert setup.find_proposal().state is ProposalState.CHANGES_REQUESTED
    setup.review(ReviewDecision.COMMENT, first_commit)
    assert setup.find_proposal().state is ProposalState.CHANGES_REQUESTED, (
        "a comment does not withdraw the request"
    )
    setup.review(ReviewDecision.APPROVE, first_commit)
    proposal = setup.find_proposal()
    assert proposal.state is ProposalState.APPROVED
    assert [review.author.name for review in proposal.approvals] == ["Ada", "Bea"]
    setup.writer.append(Submitted(first_commit), by=CLIENT_AUTHOR)
    setup.review(ReviewDecision.REQUEST_CHANGES, first_commit, by=GIT_AUTHOR)
    assert [review.author.name for review in setup.find_proposal().approvals] == ["Bea"]
    setup.writer.append(Submitted(first_commit), by=CLIENT_AUTHOR)
    assert setup.find_proposal().state is ProposalState.CHANGES_REQUESTED, (
        "an unchanged proposal was submitted again"
    )


def test_closed_proposal_can_be_reopened(setup: ProposalSetup) -> None:
    setup.submit()
    setup.writer.append(Closed("Not now."), by=TOKEN_AUTHOR)
    closed_proposal = setup.find_proposal()
    assert (closed_proposal.state, closed_proposal.content.closed_by) == (ProposalState.CLOSED, TOKEN_AUTHOR)
    setup.repo.git("branch", "-q", "-m", BRANCH, "renamed")
    assert setup.find_proposal().state is ProposalState.CLOSED
    setup.repo.git("branch", "-q", "-m", "renamed", BRANCH)
    setup.writer.append(Reopened(), by=CLIENT_AUTHOR)
    assert setup.find_proposal().state is ProposalState.OPEN


def test_wrong_clock_does_not_close_reopened_proposal(setup: ProposalSetup) -> None:
    setup.submit()
    wrong_time = setup.writer.read_clock().replace(year=9999)
    setup.writer.append(Closed(), now=lambda: wrong_time)
    setup.writer.append(Reopened())
    assert setup.find_proposal().state is ProposalState.OPEN


def test_title_and_description_are_edited(setup: ProposalSetup) -> None:
    setup.writer.append(Edited(title="Another"))
    setup.writer.append(Edited(description="Why."))
    content = setup.find_proposal().content
    assert (content.title, content.description, content.branch) == ("Another", "Why.", BRANCH)


def test_merge_with_trailer_is_detected_without_branch(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    merge_commit = setup.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}")
    setup.commit_file("Later\n", "later.md", "main")
    setup.repo.git("branch", "-q", "-D", BRANCH)
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.merge_record, proposal.tip) == (
        ProposalState.MERGED,
        (merge_commit, first_commit),
        None,
    )


def merge_from_other_branch(setup: ProposalSetup, *messages: str) -> list[str]:
    """Merge the proposal into another branch after each new commit, and that branch into `main`."""
    repo = setup.repo
    repo.git("branch", "theirs")
    merges = []
    for number, message in enumerate(messages):
        setup.commit_file(f"{number}\n", "more.md")
        repo.git("checkout", "-q", "theirs")
        merges.append(setup.merge(message))
        repo.git("checkout", "-q", "main")
    setup.commit_file("Ours\n", "ours.md", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge 'main' of origin", "theirs")
    repo.git("branch", "-q", "-D", "theirs")
    return merges


@pytest.mark.parametrize("is_deleted", [True, False])
def test_merge_from_another_branch_is_detected_by_trailer(setup: ProposalSetup, is_deleted: bool) -> None:
    setup.submit()
    assert setup.find_proposal().state is ProposalState.OPEN
    (merge_commit,) = merge_from_other_branch(setup, f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}")
    tip = setup.repo.git("rev-parse", BRANCH).strip()
    if is_deleted:
        setup.repo.git("branch", "-q", "-D", BRANCH)
    else:
        setup.commit_file("Two\n")
    setup.commit_file("Later\n", "later.md", "main")
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.merge_record, proposal.is_ahead) == (
        ProposalState.MERGED,
        (merge_commit, tip),
        not is_deleted,
    )


def test_merge_in_first_parent_history_takes_precedence(setup: ProposalSetup) -> None:
    setup.submit()
    trailer = f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}"
    merge_from_other_branch(setup, trailer)
    tip = setup.commit_file("Two\n")
    merge_commit = setup.merge(trailer)
    setup.repo.git("branch", "-q", "-D", BRANCH)
    assert setup.find_proposal().merge_record == (merge_commit, tip)


def test_refresh_and_unrelated_merge_are_not_detected_as_merges(setup: ProposalSetup) -> None:
    """Merge a refresh, and a commit that does not descend from the proposal's base."""
    repo = setup.repo
    merge_from_other_branch(
        setup, f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}\nDocyard-Refresh: {PROPOSAL_ID}"
    )
    repo.git("checkout", "-q", "--orphan", "root")
    repo.commit({"root.md": "Root\n"}, "Another root")
    repo.git("checkout", "-q", "-b", "theirs", "main")
    message = f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}"
    repo.git("merge", "-q", "--no-ff", "--allow-unrelated-histories", "-s", "ours", "-m", message, "root")
    repo.git("checkout", "-q", "main")
    setup.commit_file("More\n", "ours.md", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge 'main' of origin", "theirs")
    repo.git("branch", "-q", "-D", BRANCH)
    assert setup.find_proposal().state is ProposalState.GONE


def test_merge_removed_by_reset_is_not_detected(setup: ProposalSetup) -> None:
    setup.submit()
    setup.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}")
    assert setup.find_proposal().state is ProposalState.MERGED
    setup.repo.git("reset", "-q", "--hard", setup.base)
    assert setup.find_proposal().state is ProposalState.OPEN


def test_proposal_with_commits_after_merge_is_ahead(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    setup.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {PROPOSAL_ID}")
    setup.commit_file("Two\n")
    proposal = setup.find_proposal()
    assert (proposal.state, proposal.is_ahead, proposal.merge_record and proposal.merge_record.tip) == (
        ProposalState.MERGED,
        True,
        first_commit,
    )


def test_manual_fast_forward_is_detected_as_merge(setup: ProposalSetup) -> None:
    first_commit = setup.submit()
    setup.merge("", "--ff-only")
    assert setup.find_proposal().merge_record == (first_commit, first_commit)


def test_plain_commit_with_trailer_is_not_a_merge(setup: ProposalSetup) -> None:
    setup.submit()
    setup.commit_file("Other\n", "other.md", "main", f"Text\n\nDocyard-Proposal: {PROPOSAL_ID}")
    assert setup.find_proposal().state is ProposalState.OPEN


def test_reset_to_before_base_is_not_a_merge(setup: ProposalSetup, tmp_path: Path) -> None:
    repo = setup.repo
    second_commit = setup.commit_file("Two\n", "two.md", "main")
    repo.git("branch", f"proposals/{OTHER_ID}", second_commit)
    setup.writer.append(
        make_opening(base=second_commit, id=OTHER_ID), Submitted(second_commit), proposal=OTHER_ID
    )
    repo.git("branch", "-q", "-f", f"proposals/{OTHER_ID}", setup.base)
    proposal = setup.find_proposal(OTHER_ID)
    assert (proposal.state, proposal.is_rewritten) == (ProposalState.OPEN, True)


def test_merge_is_detected_despite_wrong_commit_times(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_commit = setup.submit()
    merge_commit = setup.merge()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1990-01-01T00:00:00Z")
    for number in range(3):
        setup.commit_file(f"{number}\n", "later.md", "main")
    assert setup.find_proposal().merge_record == (merge_commit, first_commit)


def test_fresh_clone_has_same_state(setup: ProposalSetup, tmp_path: Path) -> None:
    first_commit = setup.submit()
    setup.review(ReviewDecision.APPROVE, first_commit)
    setup.repo.git("clone", "-q", ".", str(tmp_path / "clone"))
    other_writer = EventWriter(tmp_path / "clone")
    assert Proposals(other_writer.store).find(other_writer.log.read(), PROPOSAL_ID) == setup.find_proposal()


def test_shallow_clone_has_same_content(setup: ProposalSetup, tmp_path: Path) -> None:
    for number in range(3):
        setup.commit_file(f"{number}\n", "main.md", "main")
    setup.submit()
    setup.merge()
    url = f"file://{setup.repo.path}"
    setup.repo.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(tmp_path / "clone"))
    other_writer = EventWriter(tmp_path / "clone")
    proposal = Proposals(other_writer.store).find(other_writer.log.read(), PROPOSAL_ID)
    assert proposal.content == setup.find_proposal().content
    assert proposal.state in (ProposalState.MERGED, ProposalState.OPEN)


def test_only_proposals_with_opening_are_listed(setup: ProposalSetup) -> None:
    setup.writer.append(make_opening(base=setup.base, id=OTHER_ID), proposal=OTHER_ID)
    setup.writer.append(Commented("Of nothing"), proposal="z0000002")
    proposals = setup.proposals.list_all(setup.writer.log.read())
    assert [proposal.id for proposal in proposals] == [OTHER_ID, PROPOSAL_ID]
    titles = {proposal.content.title for proposal in proposals}
    assert titles == {"Say more of retries"}, "two proposals may have the same title"


def test_unknown_id_returns_nearest_ids(setup: ProposalSetup) -> None:
    discussion = setup.writer.log.read()
    with pytest.raises(ProposalNotFound) as error_info:
        setup.proposals.find(discussion, "k7m2q9xb")
    assert error_info.value.details["candidates"] == [PROPOSAL_ID]
    assert error_info.value.fix == f"Did you mean '{PROPOSAL_ID}'?"
    with pytest.raises(ProposalNotFound, match=r"no proposal 'a{60}…'"):
        setup.proposals.find(discussion, "a" * 10_000)
    assert setup.proposals.find(discussion, f"refs/heads/proposals/{PROPOSAL_ID}-any-words").id == PROPOSAL_ID


def test_prefix_of_an_id_names_its_proposal_unless_it_is_ambiguous(setup: ProposalSetup) -> None:
    assert setup.find_proposal(PROPOSAL_ID[:4]).id == PROPOSAL_ID
    similar_id = f"{PROPOSAL_ID[:5]}000"
    setup.writer.append(make_opening(base=setup.base, id=similar_id), proposal=similar_id)
    discussion = setup.writer.log.read()
    with pytest.raises(AmbiguousProposal, match=f"begin with '{PROPOSAL_ID[:4]}'") as error_info:
        setup.proposals.find(discussion, PROPOSAL_ID[:4])
    assert error_info.value.details["candidates"] == sorted([PROPOSAL_ID, similar_id])
    assert error_info.value.fix == f"Name one of {', '.join(sorted([PROPOSAL_ID, similar_id]))}."
    assert setup.find_proposal(PROPOSAL_ID[:6]).id == PROPOSAL_ID
    assert setup.find_proposal(PROPOSAL_ID).id == PROPOSAL_ID
    with pytest.raises(ProposalNotFound):
        setup.proposals.find(discussion, PROPOSAL_ID[:3])


def test_comments_on_documents_do_not_make_a_prefix_ambiguous(setup: ProposalSetup) -> None:
    setup.writer.append(Commented("Of nothing"), proposal=f"{PROPOSAL_ID[:5]}000")
    assert setup.find_proposal(PROPOSAL_ID[:4]).id == PROPOSAL_ID


def test_threads_are_collected_and_unknown_events_counted(setup: ProposalSetup) -> None:
    question = setup.writer.append(Commented("Why?"), by=TOKEN_AUTHOR).events[0]
    reply = setup.writer.append(Commented("Because.", reply_to=question.id), by=CLIENT_AUTHOR).events[0]
    setup.writer.append(Commented("I see.", reply_to=reply.id), by=TOKEN_AUTHOR)
    setup.writer.append(Commented("To nobody", reply_to="0" * 16))
    threads = setup.find_proposal().content.threads
    assert [
        [thread.comment.text, *(later_reply.text for later_reply in thread.replies)] for thread in threads
    ] == [
        ["Why?", "Because.", "I see."],
        ["To nobody"],
    ]
    assert setup.find_proposal().content.unknown_event_count == 0


def test_proposal_to_deleted_target_is_not_merged(setup: ProposalSetup) -> None:
    setup.submit()
    setup.merge()
    setup.repo.git("checkout", "-q", "-b", "trunk")
    setup.repo.git("branch", "-q", "-D", "main")
    assert setup.find_proposal().state is ProposalState.OPEN


def test_missing_reviewed_commit_is_reported_as_rewritten(setup: ProposalSetup) -> None:
    setup.submit()
    setup.review(ReviewDecision.APPROVE, COMMIT)
    proposal = setup.find_proposal()
    assert (proposal.reviews[0].relation, proposal.approvals) == (CommitRelation.REWRITTEN, ())


def test_commits_of_unchanged_proposal_are_cached(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.submit()
    old_proposal = setup.find_proposal()
    monkeypatch.setattr("workspace.proposals.proposal.select_reachable", None)
    assert setup.proposals.list_all(setup.writer.log.read()) == (old_proposal,)
