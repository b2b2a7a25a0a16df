"""A proposal's state is derived from its events and its branches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.workspace.proposals.event_writer import ADA, AGENT, BEA, COMMIT, ID, EventWriter, make_opening
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
from workspace.proposals.proposal import CommitRelation, Proposal, ProposalNotFound, Proposals, ProposalState

BRANCH = f"proposals/{ID}"
OTHER_ID = "z0000001"


class Scene:
    """A repository with a proposal that an agent opened, and methods to change it with Git."""

    def __init__(self, path: Path) -> None:
        self.repo = repositories.normal(path)
        self.writer = EventWriter(self.repo.path)
        self.base = self.repo.head()
        self.repo.git("branch", BRANCH)
        self.writer.append(make_opening(base=self.base), by=AGENT)
        self.proposals = Proposals(self.writer.store)

    def now(self, id: str = ID) -> Proposal:
        """Return the current proposal; check that a cached and a fresh reader agree."""
        discussion = self.writer.log.read()
        found = self.proposals.find(discussion, id)
        assert found == Proposals(self.writer.store).find(discussion, id)
        return found

    def change(self, text: str, path: str = "new.md", branch: str = BRANCH, message: str = "Change") -> str:
        """Commit a file to a branch."""
        self.repo.git("checkout", "-q", branch)
        commit = self.repo.commit({path: text}, message)
        self.repo.git("checkout", "-q", "main")
        return commit

    def submit(self, text: str = "One\n") -> str:
        """Commit to the proposal and submit it."""
        commit = self.change(text)
        self.writer.append(Submitted(commit), by=AGENT)
        return commit

    def review(self, verdict: ReviewDecision, commit: str, by: Author = BEA) -> None:
        self.writer.append(Reviewed(verdict, "", commit), by=by)

    def merge(self, message: str = "Merge", *options: str) -> str:
        self.repo.git("merge", "-q", *(options or ("--no-ff",)), "-m", message, BRANCH)
        return self.repo.head()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo")


def test_state_changes_from_draft_to_merged(scene: Scene) -> None:
    assert scene.now().state is ProposalState.DRAFT
    first = scene.submit()
    assert scene.now().state is ProposalState.OPEN
    scene.review(ReviewDecision.REQUEST_CHANGES, first)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED
    second = scene.change("Two\n")
    assert scene.now().state is ProposalState.CHANGES_REQUESTED, "an edit alone does not answer"
    scene.writer.append(Submitted(second), by=AGENT)
    assert scene.now().state is ProposalState.OPEN
    scene.review(ReviewDecision.APPROVE, second)
    approved = scene.now()
    assert approved.state is ProposalState.APPROVED
    assert [review.author for review in approved.approvals] == [BEA]
    assert [bound.relation for bound in approved.reviews] == [CommitRelation.EDITED, CommitRelation.CURRENT]
    merge_result = scene.merge()
    now = scene.now()
    assert (now.state, now.merge_record, now.is_ahead) == (
        ProposalState.MERGED,
        (merge_result, second),
        False,
    )
    assert now.content.title == "Say more of retries"
    assert now.content.author == AGENT


def test_empty_proposal_is_not_merged_by_target_commits(scene: Scene) -> None:
    scene.change("Elsewhere\n", "other.md", "main")
    assert scene.now().state is ProposalState.DRAFT
    scene.repo.git("checkout", "-q", BRANCH)
    scene.repo.git("merge", "-q", "--ff-only", "main")
    scene.repo.git("checkout", "-q", "main")
    tip = scene.repo.head()
    scene.writer.append(Refreshed(tip, tip), by=AGENT)
    scene.change("More\n", "other.md", "main")
    assert scene.now().state is ProposalState.DRAFT


def test_edit_voids_approval(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.change("Two\n")
    now = scene.now()
    assert (now.state, now.approvals) == (ProposalState.OPEN, ())
    assert now.reviews[0].relation is CommitRelation.EDITED
    assert not now.is_rewritten


@pytest.mark.parametrize("pruned", [False, True])
def test_rewritten_branch_is_reported(scene: Scene, pruned: bool) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.repo.git("checkout", "-q", BRANCH)
    scene.repo.git("commit", "-q", "--amend", "-m", "Another message")
    scene.repo.git("checkout", "-q", "main")
    if pruned:
        scene.repo.git("reflog", "expire", "--expire=now", "--all")
        scene.repo.git("gc", "-q", "--prune=now")
    now = scene.now()
    assert (now.state, now.is_rewritten, now.reviews[0].relation) == (
        ProposalState.OPEN,
        True,
        CommitRelation.REWRITTEN,
    )


def test_deleted_branch_is_reported(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.repo.git("branch", "-q", "-D", BRANCH)
    now = scene.now()
    assert (now.state, now.tip, now.reviews[0].relation) == (ProposalState.GONE, None, CommitRelation.GONE)
    scene.repo.git("branch", BRANCH, first)
    assert scene.now().state is ProposalState.APPROVED


def test_approval_of_own_proposal_does_not_count(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first, by=AGENT)
    now = scene.now()
    assert (now.state, now.approvals, now.reviews[0].is_own) == (ProposalState.OPEN, (), True)


def test_last_review_of_each_person_counts(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first, by=ADA)
    scene.review(ReviewDecision.REQUEST_CHANGES, first)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED
    scene.review(ReviewDecision.COMMENT, first)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED, "a comment does not withdraw the request"
    scene.review(ReviewDecision.APPROVE, first)
    now = scene.now()
    assert now.state is ProposalState.APPROVED
    assert [review.author.name for review in now.approvals] == ["Ada", "Bea"]
    scene.writer.append(Submitted(first), by=AGENT)
    scene.review(ReviewDecision.REQUEST_CHANGES, first, by=ADA)
    assert [review.author.name for review in scene.now().approvals] == ["Bea"]
    scene.writer.append(Submitted(first), by=AGENT)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED, "submitted again as it was"


def test_closed_proposal_can_be_reopened(scene: Scene) -> None:
    scene.submit()
    scene.writer.append(Closed("Not now."), by=BEA)
    closed = scene.now()
    assert (closed.state, closed.content.closed_by) == (ProposalState.CLOSED, BEA)
    scene.repo.git("branch", "-q", "-m", BRANCH, "kept")
    assert scene.now().state is ProposalState.CLOSED
    scene.repo.git("branch", "-q", "-m", "kept", BRANCH)
    scene.writer.append(Reopened(), by=AGENT)
    assert scene.now().state is ProposalState.OPEN


def test_wrong_clock_does_not_close_reopened_proposal(scene: Scene) -> None:
    scene.submit()
    late = scene.writer.clock().replace(year=9999)
    scene.writer.append(Closed(), now=lambda: late)
    scene.writer.append(Reopened())
    assert scene.now().state is ProposalState.OPEN


def test_title_and_description_are_edited(scene: Scene) -> None:
    scene.writer.append(Edited(title="Another"))
    scene.writer.append(Edited(description="Why."))
    words = scene.now().content
    assert (words.title, words.description, words.branch) == ("Another", "Why.", BRANCH)


def test_merge_with_trailer_is_detected_without_branch(scene: Scene) -> None:
    first = scene.submit()
    merge_result = scene.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    scene.change("Later\n", "later.md", "main")
    scene.repo.git("branch", "-q", "-D", BRANCH)
    now = scene.now()
    assert (now.state, now.merge_record, now.tip) == (ProposalState.MERGED, (merge_result, first), None)


def merge_from_other_line(scene: Scene, *messages: str) -> list[str]:
    """Merge the proposal into another line after each new commit, and merge that line into `main`."""
    repo = scene.repo
    repo.git("branch", "theirs")
    merges = []
    for number, message in enumerate(messages):
        scene.change(f"{number}\n", "more.md")
        repo.git("checkout", "-q", "theirs")
        merges.append(scene.merge(message))
        repo.git("checkout", "-q", "main")
    scene.change("Ours\n", "ours.md", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge 'main' of origin", "theirs")
    repo.git("branch", "-q", "-D", "theirs")
    return merges


@pytest.mark.parametrize("deleted", [True, False])
def test_merge_from_another_line_is_detected_by_trailer(scene: Scene, deleted: bool) -> None:
    scene.submit()
    assert scene.now().state is ProposalState.OPEN
    (merged,) = merge_from_other_line(scene, f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    tip = scene.repo.git("rev-parse", BRANCH).strip()
    if deleted:
        scene.repo.git("branch", "-q", "-D", BRANCH)
    else:
        scene.change("Two\n")
    scene.change("Later\n", "later.md", "main")
    now = scene.now()
    assert (now.state, now.merge_record, now.is_ahead) == (ProposalState.MERGED, (merged, tip), not deleted)


def test_merge_in_first_parent_history_takes_precedence(scene: Scene) -> None:
    scene.submit()
    trailer = f"Merge\n\nText.\n\nDocyard-Proposal: {ID}"
    merge_from_other_line(scene, trailer)
    tip = scene.change("Two\n")
    here = scene.merge(trailer)
    scene.repo.git("branch", "-q", "-D", BRANCH)
    assert scene.now().merge_record == (here, tip)


def test_refresh_and_unrelated_merge_are_not_detected_as_merges(scene: Scene) -> None:
    """Merge a refresh, and a commit that does not descend from the proposal's base."""
    repo = scene.repo
    merge_from_other_line(scene, f"Merge\n\nText.\n\nDocyard-Proposal: {ID}\nDocyard-Refresh: {ID}")
    repo.git("checkout", "-q", "--orphan", "root")
    repo.commit({"root.md": "Root\n"}, "Another root")
    repo.git("checkout", "-q", "-b", "theirs", "main")
    message = f"Merge\n\nText.\n\nDocyard-Proposal: {ID}"
    repo.git("merge", "-q", "--no-ff", "--allow-unrelated-histories", "-s", "ours", "-m", message, "root")
    repo.git("checkout", "-q", "main")
    scene.change("More\n", "ours.md", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge 'main' of origin", "theirs")
    repo.git("branch", "-q", "-D", BRANCH)
    assert scene.now().state is ProposalState.GONE


def test_merge_removed_by_reset_is_not_detected(scene: Scene) -> None:
    scene.submit()
    scene.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    assert scene.now().state is ProposalState.MERGED
    scene.repo.git("reset", "-q", "--hard", scene.base)
    assert scene.now().state is ProposalState.OPEN


def test_proposal_with_commits_after_merge_is_ahead(scene: Scene) -> None:
    first = scene.submit()
    scene.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    scene.change("Two\n")
    now = scene.now()
    assert (now.state, now.is_ahead, now.merge_record and now.merge_record.tip) == (
        ProposalState.MERGED,
        True,
        first,
    )


def test_manual_fast_forward_is_detected_as_merge(scene: Scene) -> None:
    first = scene.submit()
    scene.merge("", "--ff-only")
    assert scene.now().merge_record == (first, first)


def test_plain_commit_with_trailer_is_not_a_merge(scene: Scene) -> None:
    scene.submit()
    scene.change("Other\n", "other.md", "main", f"Text\n\nDocyard-Proposal: {ID}")
    assert scene.now().state is ProposalState.OPEN


def test_reset_to_before_base_is_not_a_merge(scene: Scene, tmp_path: Path) -> None:
    repo = scene.repo
    second = scene.change("Two\n", "two.md", "main")
    repo.git("branch", f"proposals/{OTHER_ID}", second)
    scene.writer.append(make_opening(base=second, id=OTHER_ID), Submitted(second), proposal=OTHER_ID)
    repo.git("branch", "-q", "-f", f"proposals/{OTHER_ID}", scene.base)
    now = scene.now(OTHER_ID)
    assert (now.state, now.is_rewritten) == (ProposalState.OPEN, True)


def test_merge_is_detected_despite_wrong_commit_times(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scene.submit()
    merge_result = scene.merge()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1990-01-01T00:00:00Z")
    for number in range(3):
        scene.change(f"{number}\n", "later.md", "main")
    assert scene.now().merge_record == (merge_result, first)


def test_fresh_clone_has_same_state(scene: Scene, tmp_path: Path) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.repo.git("clone", "-q", ".", str(tmp_path / "clone"))
    other_writer = EventWriter(tmp_path / "clone")
    assert Proposals(other_writer.store).find(other_writer.log.read(), ID) == scene.now()


def test_shallow_clone_has_same_content(scene: Scene, tmp_path: Path) -> None:
    for number in range(3):
        scene.change(f"{number}\n", "main.md", "main")
    scene.submit()
    scene.merge()
    url = f"file://{scene.repo.path}"
    scene.repo.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(tmp_path / "clone"))
    other_writer = EventWriter(tmp_path / "clone")
    now = Proposals(other_writer.store).find(other_writer.log.read(), ID)
    assert now.content == scene.now().content
    assert now.state in (ProposalState.MERGED, ProposalState.OPEN)


def test_only_proposals_with_opening_are_listed(scene: Scene) -> None:
    scene.writer.append(make_opening(base=scene.base, id=OTHER_ID), proposal=OTHER_ID)
    scene.writer.append(Commented("Of nothing"), proposal="z0000002")
    listed = scene.proposals.list_all(scene.writer.log.read())
    assert [proposal.id for proposal in listed] == [OTHER_ID, ID]
    titles = {proposal.content.title for proposal in listed}
    assert titles == {"Say more of retries"}, "two may have one title"


def test_unknown_id_returns_nearest_ids(scene: Scene) -> None:
    discussion = scene.writer.log.read()
    with pytest.raises(ProposalNotFound) as error:
        scene.proposals.find(discussion, "k7m2q9xb")
    assert error.value.details["candidates"] == [ID]
    assert error.value.fix == f"Name one by its id, such as '{ID}'."
    with pytest.raises(ProposalNotFound, match=r"no proposal 'a{60}…'"):
        scene.proposals.find(discussion, "a" * 10_000)
    assert scene.proposals.find(discussion, f"refs/heads/proposals/{ID}-any-words").id == ID


def test_threads_are_collected_and_unknown_events_counted(scene: Scene) -> None:
    question = scene.writer.append(Commented("Why?"), by=BEA).events[0]
    answer = scene.writer.append(Commented("Because.", reply_to=question.id), by=AGENT).events[0]
    scene.writer.append(Commented("I see.", reply_to=answer.id), by=BEA)
    scene.writer.append(Commented("To nobody", reply_to="0" * 16))
    threads = scene.now().content.threads
    assert [[one.comment.text, *(reply.text for reply in one.replies)] for one in threads] == [
        ["Why?", "Because.", "I see."],
        ["To nobody"],
    ]
    assert scene.now().content.unknown_events == 0


def test_proposal_to_deleted_target_is_not_merged(scene: Scene) -> None:
    scene.submit()
    scene.merge()
    scene.repo.git("checkout", "-q", "-b", "trunk")
    scene.repo.git("branch", "-q", "-D", "main")
    assert scene.now().state is ProposalState.OPEN


def test_missing_reviewed_commit_is_reported_as_rewritten(scene: Scene) -> None:
    scene.submit()
    scene.review(ReviewDecision.APPROVE, COMMIT)
    now = scene.now()
    assert (now.reviews[0].relation, now.approvals) == (CommitRelation.REWRITTEN, ())


def test_commits_of_unchanged_proposal_are_cached(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.submit()
    before = scene.now()
    monkeypatch.setattr("workspace.proposals.proposal.select_reachable", None)
    assert scene.proposals.list_all(scene.writer.log.read()) == (before,)
