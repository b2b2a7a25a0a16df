"""A proposal's state: derived from its words and its branches, whatever happened to either."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.workspace.proposals.saying import ADA, AGENT, BEA, COMMIT, ID, Speaker, opening
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
    """A repository with a proposal that was opened by an agent, and a person's hands."""

    def __init__(self, path: Path) -> None:
        self.repo = repositories.normal(path)
        self.speaker = Speaker(self.repo.path)
        self.base = self.repo.head()
        self.repo.git("branch", BRANCH)
        self.speaker.say(opening(base=self.base), by=AGENT)
        self.proposals = Proposals(self.speaker.store)

    def now(self, id: str = ID) -> Proposal:
        """The proposal as it stands, to one that knows the repository and to one that does not."""
        discussion = self.speaker.log.read()
        found = self.proposals.find(discussion, id)
        assert found == Proposals(self.speaker.store).find(discussion, id)
        return found

    def change(self, text: str, path: str = "new.md", branch: str = BRANCH, message: str = "Change") -> str:
        """Commit a file to a branch."""
        self.repo.git("checkout", "-q", branch)
        commit = self.repo.commit({path: text}, message)
        self.repo.git("checkout", "-q", "main")
        return commit

    def submit(self, text: str = "One\n") -> str:
        """Commit to the proposal, and submit it."""
        commit = self.change(text)
        self.speaker.say(Submitted(commit), by=AGENT)
        return commit

    def review(self, verdict: ReviewDecision, commit: str, by: Author = BEA) -> None:
        self.speaker.say(Reviewed(verdict, "", commit), by=by)

    def merge(self, message: str = "Merge", *options: str) -> str:
        self.repo.git("merge", "-q", *(options or ("--no-ff",)), "-m", message, BRANCH)
        return self.repo.head()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo")


def test_from_draft_to_merged(scene: Scene) -> None:
    assert scene.now().state is ProposalState.DRAFT
    first = scene.submit()
    assert scene.now().state is ProposalState.OPEN
    scene.review(ReviewDecision.REQUEST_CHANGES, first)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED
    second = scene.change("Two\n")
    assert scene.now().state is ProposalState.CHANGES_REQUESTED, "an edit alone is no answer"
    scene.speaker.say(Submitted(second), by=AGENT)
    assert scene.now().state is ProposalState.OPEN
    scene.review(ReviewDecision.APPROVE, second)
    approved = scene.now()
    assert approved.state is ProposalState.APPROVED
    assert [review.author for review in approved.approvals] == [BEA]
    assert [bound.relation for bound in approved.reviews] == [CommitRelation.EDITED, CommitRelation.CURRENT]
    merged = scene.merge()
    now = scene.now()
    assert (now.state, now.merge_record, now.is_ahead) == (ProposalState.MERGED, (merged, second), False)
    assert now.content.title == "Say more of retries"
    assert now.content.author == AGENT


def test_an_empty_proposal_is_not_merged_when_its_target_goes_on(scene: Scene) -> None:
    scene.change("Elsewhere\n", "other.md", "main")
    assert scene.now().state is ProposalState.DRAFT
    scene.repo.git("checkout", "-q", BRANCH)
    scene.repo.git("merge", "-q", "--ff-only", "main")
    scene.repo.git("checkout", "-q", "main")
    tip = scene.repo.head()
    scene.speaker.say(Refreshed(tip, tip), by=AGENT)
    scene.change("More\n", "other.md", "main")
    assert scene.now().state is ProposalState.DRAFT


def test_an_edit_voids_an_approval(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.change("Two\n")
    now = scene.now()
    assert (now.state, now.approvals) == (ProposalState.OPEN, ())
    assert now.reviews[0].relation is CommitRelation.EDITED
    assert not now.is_rewritten


@pytest.mark.parametrize("pruned", [False, True])
def test_a_branch_that_is_rewritten_is_told(scene: Scene, pruned: bool) -> None:
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


def test_a_branch_that_is_deleted_is_told(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.repo.git("branch", "-q", "-D", BRANCH)
    now = scene.now()
    assert (now.state, now.tip, now.reviews[0].relation) == (ProposalState.GONE, None, CommitRelation.GONE)
    scene.repo.git("branch", BRANCH, first)
    assert scene.now().state is ProposalState.APPROVED


def test_nobody_approves_their_own(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first, by=AGENT)
    now = scene.now()
    assert (now.state, now.approvals, now.reviews[0].is_own) == (ProposalState.OPEN, (), True)


def test_the_last_verdict_of_each_person_counts(scene: Scene) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first, by=ADA)
    scene.review(ReviewDecision.REQUEST_CHANGES, first)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED
    scene.review(ReviewDecision.COMMENT, first)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED, "a remark takes nothing back"
    scene.review(ReviewDecision.APPROVE, first)
    now = scene.now()
    assert now.state is ProposalState.APPROVED
    assert [review.author.name for review in now.approvals] == ["Ada", "Bea"]
    scene.speaker.say(Submitted(first), by=AGENT)
    scene.review(ReviewDecision.REQUEST_CHANGES, first, by=ADA)
    assert [review.author.name for review in scene.now().approvals] == ["Bea"]
    scene.speaker.say(Submitted(first), by=AGENT)
    assert scene.now().state is ProposalState.CHANGES_REQUESTED, "submitted again as it was"


def test_closed_and_taken_up_again(scene: Scene) -> None:
    scene.submit()
    scene.speaker.say(Closed("Not now."), by=BEA)
    closed = scene.now()
    assert (closed.state, closed.content.closed_by) == (ProposalState.CLOSED, BEA)
    scene.repo.git("branch", "-q", "-m", BRANCH, "kept")
    assert scene.now().state is ProposalState.CLOSED
    scene.repo.git("branch", "-q", "-m", "kept", BRANCH)
    scene.speaker.say(Reopened(), by=AGENT)
    assert scene.now().state is ProposalState.OPEN


def test_a_clock_that_lies_does_not_close_what_was_reopened(scene: Scene) -> None:
    scene.submit()
    late = scene.speaker.clock().replace(year=9999)
    scene.speaker.say(Closed(), now=lambda: late)
    scene.speaker.say(Reopened())
    assert scene.now().state is ProposalState.OPEN


def test_words_are_edited(scene: Scene) -> None:
    scene.speaker.say(Edited(title="Another"))
    scene.speaker.say(Edited(description="Why."))
    words = scene.now().content
    assert (words.title, words.description, words.branch) == ("Another", "Why.", BRANCH)


def test_a_merge_is_told_by_its_trailer_when_the_branch_is_gone(scene: Scene) -> None:
    first = scene.submit()
    merged = scene.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    scene.change("Later\n", "later.md", "main")
    scene.repo.git("branch", "-q", "-D", BRANCH)
    now = scene.now()
    assert (now.state, now.merge_record, now.tip) == (ProposalState.MERGED, (merged, first), None)


def beside(scene: Scene, *messages: str) -> list[str]:
    """Merges of the proposal into another line, each after a commit to it, which `main` then takes in."""
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
def test_a_merge_that_came_in_from_elsewhere_is_told_by_its_trailer(scene: Scene, deleted: bool) -> None:
    scene.submit()
    assert scene.now().state is ProposalState.OPEN
    (merged,) = beside(scene, f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    tip = scene.repo.git("rev-parse", BRANCH).strip()
    if deleted:
        scene.repo.git("branch", "-q", "-D", BRANCH)
    else:
        scene.change("Two\n")
    scene.change("Later\n", "later.md", "main")
    now = scene.now()
    assert (now.state, now.merge_record, now.is_ahead) == (ProposalState.MERGED, (merged, tip), not deleted)


def test_the_way_itself_says_best_what_was_merged(scene: Scene) -> None:
    scene.submit()
    trailer = f"Merge\n\nText.\n\nDocyard-Proposal: {ID}"
    beside(scene, trailer)
    tip = scene.change("Two\n")
    here = scene.merge(trailer)
    scene.repo.git("branch", "-q", "-D", BRANCH)
    assert scene.now().merge_record == (here, tip)


def test_other_merges_that_come_in_take_nothing_in(scene: Scene) -> None:
    """A refresh, and one of what never stood on the proposal's beginning."""
    repo = scene.repo
    beside(scene, f"Merge\n\nText.\n\nDocyard-Proposal: {ID}\nDocyard-Refresh: {ID}")
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


def test_a_merge_that_is_reset_away_is_none(scene: Scene) -> None:
    scene.submit()
    scene.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    assert scene.now().state is ProposalState.MERGED
    scene.repo.git("reset", "-q", "--hard", scene.base)
    assert scene.now().state is ProposalState.OPEN


def test_a_proposal_that_goes_on_after_its_merge_is_ahead(scene: Scene) -> None:
    first = scene.submit()
    scene.merge(f"Merge\n\nText.\n\nDocyard-Proposal: {ID}")
    scene.change("Two\n")
    now = scene.now()
    assert (now.state, now.is_ahead, now.merge_record and now.merge_record.tip) == (
        ProposalState.MERGED,
        True,
        first,
    )


def test_a_fast_forward_by_hand_is_a_merge(scene: Scene) -> None:
    first = scene.submit()
    scene.merge("", "--ff-only")
    assert scene.now().merge_record == (first, first)


def test_a_commit_that_only_names_a_proposal_takes_nothing_in(scene: Scene) -> None:
    scene.submit()
    scene.change("Other\n", "other.md", "main", f"Text\n\nDocyard-Proposal: {ID}")
    assert scene.now().state is ProposalState.OPEN


def test_a_reset_to_before_the_base_is_no_merge(scene: Scene, tmp_path: Path) -> None:
    repo = scene.repo
    second = scene.change("Two\n", "two.md", "main")
    repo.git("branch", f"proposals/{OTHER_ID}", second)
    scene.speaker.say(opening(base=second, id=OTHER_ID), Submitted(second), proposal=OTHER_ID)
    repo.git("branch", "-q", "-f", f"proposals/{OTHER_ID}", scene.base)
    now = scene.now(OTHER_ID)
    assert (now.state, now.is_rewritten) == (ProposalState.OPEN, True)


def test_commits_whose_clocks_lie(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scene.submit()
    merged = scene.merge()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1990-01-01T00:00:00Z")
    for number in range(3):
        scene.change(f"{number}\n", "later.md", "main")
    assert scene.now().merge_record == (merged, first)


def test_a_fresh_clone_tells_the_same(scene: Scene, tmp_path: Path) -> None:
    first = scene.submit()
    scene.review(ReviewDecision.APPROVE, first)
    scene.repo.git("clone", "-q", ".", str(tmp_path / "clone"))
    there = Speaker(tmp_path / "clone")
    assert Proposals(there.store).find(there.log.read(), ID) == scene.now()


def test_a_shallow_clone_tells_what_it_can(scene: Scene, tmp_path: Path) -> None:
    for number in range(3):
        scene.change(f"{number}\n", "main.md", "main")
    scene.submit()
    scene.merge()
    url = f"file://{scene.repo.path}"
    scene.repo.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(tmp_path / "clone"))
    there = Speaker(tmp_path / "clone")
    now = Proposals(there.store).find(there.log.read(), ID)
    assert now.content == scene.now().content
    assert now.state in (ProposalState.MERGED, ProposalState.OPEN)


def test_all_are_listed_and_what_has_no_opening_is_not(scene: Scene) -> None:
    scene.speaker.say(opening(base=scene.base, id=OTHER_ID), proposal=OTHER_ID)
    scene.speaker.say(Commented("Of nothing"), proposal="z0000002")
    listed = scene.proposals.list_all(scene.speaker.log.read())
    assert [proposal.id for proposal in listed] == [OTHER_ID, ID]
    titles = {proposal.content.title for proposal in listed}
    assert titles == {"Say more of retries"}, "two may have one title"


def test_an_unknown_id_is_answered_with_the_nearest(scene: Scene) -> None:
    discussion = scene.speaker.log.read()
    with pytest.raises(ProposalNotFound) as error:
        scene.proposals.find(discussion, "k7m2q9xb")
    assert error.value.details["candidates"] == [ID]
    assert error.value.fix == f"Name one by its id, such as '{ID}'."
    with pytest.raises(ProposalNotFound, match=r"no proposal 'a{60}…'"):
        scene.proposals.find(discussion, "a" * 10_000)
    assert scene.proposals.find(discussion, f"refs/heads/proposals/{ID}-any-words").id == ID


def test_threads_and_unknown_words(scene: Scene) -> None:
    question = scene.speaker.say(Commented("Why?"), by=BEA).events[0]
    answer = scene.speaker.say(Commented("Because.", reply_to=question.id), by=AGENT).events[0]
    scene.speaker.say(Commented("I see.", reply_to=answer.id), by=BEA)
    scene.speaker.say(Commented("To nobody", reply_to="0" * 16))
    threads = scene.now().content.threads
    assert [[one.comment.text, *(reply.text for reply in one.replies)] for one in threads] == [
        ["Why?", "Because.", "I see."],
        ["To nobody"],
    ]
    assert scene.now().content.unknown_events == 0


def test_a_target_that_is_gone_takes_nothing_in(scene: Scene) -> None:
    scene.submit()
    scene.merge()
    scene.repo.git("checkout", "-q", "-b", "trunk")
    scene.repo.git("branch", "-q", "-D", "main")
    assert scene.now().state is ProposalState.OPEN


def test_commits_that_never_were_are_told_as_rewritten(scene: Scene) -> None:
    scene.submit()
    scene.review(ReviewDecision.APPROVE, COMMIT)
    now = scene.now()
    assert (now.reviews[0].relation, now.approvals) == (CommitRelation.REWRITTEN, ())


def test_the_commits_of_a_proposal_that_did_not_move_are_not_looked_for_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.submit()
    before = scene.now()
    monkeypatch.setattr("workspace.proposals.proposal.select_reachable", None)
    assert scene.proposals.list_all(scene.speaker.log.read()) == (before,)
