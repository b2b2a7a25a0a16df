"""Comments on documents outside of proposals: stored, answered, resolved and synchronized."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.doctor.proposals import check_proposals
from tests import repositories
from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GIT_ACTOR, GUIDE, ProposalSetup
from workspace.git.remotes.credentials import Access
from workspace.git.store import ReadOnly
from workspace.proposals.actions.document_discussion import DocumentDiscussion
from workspace.proposals.actions.repository import InvalidTarget
from workspace.proposals.answers import CommentAnswer, CommentNotFound
from workspace.proposals.comments import TextStatus
from workspace.proposals.events import InvalidEventText, ReviewDecision
from workspace.proposals.proposal import ProposalNotFound
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.sync.sync import sync
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyReused
from workspace.writing.write import DetachedHead


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo")


def discuss(workspace: Workspace) -> DocumentDiscussion:
    return workspace.proposal_actions().document_discussion


def comment(workspace: Workspace, text: str = "Which version?", **fields: object) -> str:
    """Comment on the section `install` of the guide, and return the comment's id."""
    values = {"file": "guide.md", "slug": "install", **fields}
    [id] = discuss(workspace).comment(AGENT_ACTOR, text, **values).event_ids  # type: ignore[arg-type]
    return id


def test_comment_is_listed_with_its_target_and_is_no_proposal(setup: ProposalSetup) -> None:
    id = comment(setup.workspace, quote="Run it.")
    [thread] = discuss(setup.workspace).list_threads()
    assert (thread.comment.id, thread.comment.text, thread.replies) == (id, "Which version?", ())
    assert thread.comment.target is not None
    assert (thread.comment.target.path, thread.comment.target.slug) == ("guide.md", "install")
    assert thread.comment.commit == setup.workspace.tip()
    assert setup.proposal_actions.list_all() == ()
    with pytest.raises(ProposalNotFound) as caught:
        setup.proposal_actions.find("k7m2q9xa")
    assert caught.value.details["candidates"] == []
    assert [*check_proposals(setup.workspace)] == []
    [message] = setup.log("-1", "--format=%B", "docyard/discussion")[:1]
    assert message == "Comment on documents of main"
    assert setup.repo.status() == ""


def test_answers_are_one_commit_and_a_retry_adds_none(setup: ProposalSetup) -> None:
    ids = [comment(setup.workspace, text) for text in ("One?", "Two?")]
    answers = [CommentAnswer(ids[0], "Done.", True), CommentAnswer(ids[1], is_resolved=True)]
    count = len(setup.log("--format=%h", "docyard/discussion"))
    for is_new in (True, False):
        result = discuss(setup.workspace).answer(GIT_ACTOR, answers, key="a-key")
        assert (result.is_new, len(result.event_ids)) == (is_new, 3)
    assert len(setup.log("--format=%h", "docyard/discussion")) == count + 1
    threads = discuss(setup.workspace).list_threads()
    assert [[reply.text for reply in thread.replies] for thread in threads] == [["Done."], []]
    assert all(thread.resolution and thread.resolution.author == GIT_ACTOR.author for thread in threads)
    assert not discuss(setup.workspace).answer(GIT_ACTOR, answers[1:]).is_new
    with pytest.raises(KeyReused):
        discuss(setup.workspace).answer(GIT_ACTOR, answers[1:], key="a-key")
    assert discuss(setup.workspace).answer(GIT_ACTOR, [CommentAnswer(ids[0], is_resolved=False)]).is_new
    assert discuss(setup.workspace).list_threads()[0].resolution is None


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([], InvalidEventText),
        ([CommentAnswer("0" * 16, "Yes.")], CommentNotFound),
        ([CommentAnswer("{id}")], InvalidEventText),
        ([CommentAnswer("{id}", " \n")], InvalidEventText),
        ([CommentAnswer("{id}", "x" * 70_000)], InvalidEventText),
        ([CommentAnswer("{id}", "\ud800")], InvalidEventText),
        ([CommentAnswer("{id}", "Yes."), CommentAnswer("{id}", "Yes.")], InvalidEventText),
        ([CommentAnswer("{id}", "Yes.")] * 101, InvalidEventText),
    ],
)
def test_invalid_answers_are_refused_before_a_write(
    setup: ProposalSetup, answers: list[CommentAnswer], error: type[Exception]
) -> None:
    id = comment(setup.workspace)
    tip = setup.repo.git("rev-parse", "docyard/discussion")
    with pytest.raises(error):
        discuss(setup.workspace).answer(
            AGENT_ACTOR, [answer._replace(comment=answer.comment.format(id=id)) for answer in answers]
        )
    assert setup.repo.git("rev-parse", "docyard/discussion") == tip


def test_key_of_a_comment_is_only_for_the_same_comment(setup: ProposalSetup) -> None:
    assert comment(setup.workspace, key="k") == comment(setup.workspace, key="k")
    with pytest.raises(KeyReused):
        comment(setup.workspace, "Other", key="k")
    with pytest.raises(DocumentNotFound):
        comment(setup.workspace, file="gone.md")
    assert len(discuss(setup.workspace).list_threads()) == 1


def test_comments_follow_moved_renamed_changed_and_deleted_sections(setup: ProposalSetup) -> None:
    workspace = setup.workspace
    for slug in ("install", "use"):
        comment(workspace, slug, slug=slug)
    comment(workspace, "all", slug=None)
    comment(workspace, "notes", file="notes.md", slug=None)

    def locate() -> list[tuple[object, ...]]:
        reviews, snapshot = workspace.proposal_reviews(), workspace.snapshot()
        threads = discuss(workspace).list_threads()
        return [tuple(reviews.find_location(thread.comment, snapshot) or ()) for thread in threads]

    assert {status for status, _, _ in locate()} == {TextStatus.HERE}
    setup.repo.commit({"guide.md": GUIDE.replace("## Install", "## Set up"), "notes.md": "# Notes\n\nNew.\n"})
    assert locate() == [
        (TextStatus.MOVED, "guide.md", "set-up"),
        (TextStatus.HERE, "guide.md", "use"),
        (TextStatus.OUTDATED, "guide.md", None),
        (TextStatus.OUTDATED, "notes.md", None),
    ]
    setup.repo.git("mv", "guide.md", "manual.md")
    setup.repo.git("rm", "-q", "notes.md")
    setup.repo.git("commit", "-qm", "Move and delete")
    assert locate()[0] == (TextStatus.MOVED, "manual.md", "set-up")
    assert locate()[3] == (TextStatus.GONE, "notes.md", None)
    setup.repo.commit({"manual.md": "# Guide\n\nIntroduction.\n\n## Use\n\nUse it twice.\n"})
    assert locate()[:2] == [
        (TextStatus.GONE, "guide.md", "install"),
        (TextStatus.OUTDATED, "manual.md", "use"),
    ]


def test_bare_repository_has_the_same_comments(setup: ProposalSetup, tmp_path: Path) -> None:
    comment(setup.workspace)
    setup.repo.git("clone", "-q", "--bare", str(setup.repo.path), str(tmp_path / "bare.git"))
    bare = Workspace.open(tmp_path / "bare.git", durable=False)
    comment(bare, "And on Windows?")
    assert [thread.comment.text for thread in discuss(bare).list_threads()] == [
        "Which version?",
        "And on Windows?",
    ]


def test_other_states_of_the_repository_are_refused(setup: ProposalSetup) -> None:
    comment(setup.workspace)
    read_only = Workspace.open(setup.repo.path, read_only=True)
    assert len(discuss(read_only).list_threads()) == 1
    with pytest.raises(ReadOnly):
        comment(read_only)
    proposal = setup.open()
    for branch in (proposal.content.branch, "docyard/discussion"):
        with pytest.raises(InvalidTarget):
            discuss(Workspace.open(setup.repo.path, branch=branch)).list_threads()
    setup.repo.git("switch", "-q", "--detach")
    with pytest.raises(DetachedHead):
        comment(Workspace.open(setup.repo.path))


def test_each_branch_has_its_own_comments(setup: ProposalSetup) -> None:
    comment(setup.workspace)
    setup.repo.git("branch", "next")
    other = Workspace.open(setup.repo.path, branch="next", durable=False)
    assert discuss(other).list_threads() == ()
    comment(other, "On next")
    assert [thread.comment.text for thread in discuss(setup.workspace).list_threads()] == ["Which version?"]


def test_answers_on_a_proposal_keep_its_state_and_approval(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    actions = setup.proposal_actions
    [id] = actions.comment(proposal.id, AGENT_ACTOR, "Why?").event_ids
    actions.review(proposal.id, setup.person(), ReviewDecision.APPROVE)
    result = actions.answer(proposal.id, AGENT_ACTOR, [CommentAnswer(id, "Because.", True)], key="k")
    assert result.is_new
    assert result.proposal.state.value == "approved"
    assert not actions.answer(proposal.id, AGENT_ACTOR, [CommentAnswer(id, "Because.", True)], key="k").is_new
    [thread] = actions.find(proposal.id).content.threads
    assert thread.resolution is not None
    assert [reply.text for reply in thread.replies] == ["Because."]


@pytest.mark.process
def test_two_clones_that_comment_at_once_have_all_comments_after_a_sync(
    setup: ProposalSetup, tmp_path: Path
) -> None:
    first_id = comment(setup.workspace)
    setup.repo.git("clone", "-q", "--bare", str(setup.repo.path), str(tmp_path / "bare.git"))
    remote = Repo(tmp_path / "bare.git")
    clones = [
        Workspace.open(repositories.clone_repository(remote, tmp_path / name).path, durable=False)
        for name in ("one", "two")
    ]
    discuss(clones[0]).answer(AGENT_ACTOR, [CommentAnswer(first_id, "By one.", True)])
    comment(clones[0], "From one")
    discuss(clones[1]).answer(GIT_ACTOR, [CommentAnswer(first_id, "By two.")])
    comment(clones[1], "From two")
    for clone in (*clones, *clones):
        sync(clone, Access())
    threads = [discuss(clone).list_threads() for clone in clones]
    assert threads[0] == threads[1]
    assert sorted(thread.comment.text for thread in threads[0]) == ["From one", "From two", "Which version?"]
    assert sorted(reply.text for reply in threads[0][0].replies) == ["By one.", "By two."]
    assert threads[0][0].resolution is not None
