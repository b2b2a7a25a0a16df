"""A proposal from its opening to its merge, with its discussion."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.scene import ADA, AGENT, RULE, Scene, append
from workspace.edits import RemoveDocument
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.policy.protection import Protected
from workspace.proposals.actions.discuss import NeedsPerson, OwnProposal, ProposalMoved
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.refresh import RefreshResolutions
from workspace.proposals.actions.repository import NothingProposed, ProposalEnded
from workspace.proposals.events import InvalidEventText, ReviewDecision
from workspace.proposals.proposal import ProposalState
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.writing.idempotency import InvalidKey, KeyReused, Request, compute_digest
from workspace.writing.plan import Mode


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo", RULE)


def test_direct_write_becomes_proposal_and_is_merged(scene: Scene) -> None:
    before = scene.repo.head()
    with pytest.raises(Protected) as refused:
        scene.write("One.", "specs/api.md", "calls")
    assert refused.value.paths == ("specs/api.md",)
    proposal, written = scene.propose()
    assert proposal is not None
    assert scene.repo.head() == before
    assert (written.is_committed, written.commit) == (True, proposal.tip)
    assert (proposal.state, proposal.content.base, proposal.content.target) == (
        ProposalState.DRAFT,
        before,
        "main",
    )
    assert "One." in scene.show("specs/api.md", proposal.content.branch)
    name = proposal.id
    assert f"Docyard-Proposal: {name}" in scene.log("-1", "--format=%B", proposal.content.branch)
    assert scene.proposal_actions.submit(name, AGENT).proposal.state is ProposalState.OPEN
    with pytest.raises(MergeBlocked) as blocked:
        scene.proposal_actions.merge(name, scene.person())
    assert [block["code"] for block in blocked.value.details["blocks"]] == ["NEEDS_APPROVAL"]
    with pytest.raises(NeedsPerson):
        scene.proposal_actions.review(name, AGENT, ReviewDecision.APPROVE)
    assert scene.approve(proposal).state is ProposalState.APPROVED
    for actor in (AGENT, ADA):
        with pytest.raises(NeedsPerson):
            scene.proposal_actions.merge(name, actor)
    merged = scene.proposal_actions.merge(name, scene.person())
    assert (merged.is_new, merged.proposal.state) == (True, ProposalState.MERGED)
    assert scene.log("-1", "--format=%H %P %an") == [f"{merged.commit} {before} {proposal.tip} Bea"]
    assert "One." in (scene.repo.path / "specs/api.md").read_text()
    again = scene.proposal_actions.merge(name, AGENT)
    assert (again.is_new, again.commit) == (False, merged.commit)
    scene.check_sound()


def test_edit_voids_approval(scene: Scene) -> None:
    proposal = scene.proposed(file="specs/api.md", slug="calls")
    scene.approve(proposal)
    scene.append(proposal.id, "Unseen.", "specs/api.md", "calls")
    with pytest.raises(MergeBlocked):
        scene.proposal_actions.merge(proposal.id, scene.person())
    with pytest.raises(ProposalMoved):
        scene.proposal_actions.review(
            proposal.id, scene.person(), ReviewDecision.APPROVE, commit=proposal.tip
        )
    with pytest.raises(ProposalMoved):
        scene.proposal_actions.merge(proposal.id, scene.person(), commit=proposal.tip)
    scene.approve(proposal)
    assert scene.proposal_actions.merge(proposal.id, scene.person()).is_new


def test_author_cannot_approve_own_proposal(scene: Scene) -> None:
    bea = scene.person()
    opened = scene.proposal_actions.open("Mine", "", bea)
    scene.append(opened.id, "One.", "specs/api.md", "calls")
    with pytest.raises(OwnProposal):
        scene.approve(opened)
    written = scene.proposed(file="specs/api.md", slug="calls")
    branch = scene.proposal_actions.open_branch(written.id)
    branch.write(
        [append("By her.", "specs/api.md", "calls")],
        mode=Mode.EACH,
        tool="edit_document",
        client="a page",
        person=bea.person,
    )
    with pytest.raises(OwnProposal):
        scene.approve(written)
    scene.approve(written, "cy")
    # Authors of commits that a refresh merged from the target may approve.
    manual = scene.proposed(file="specs/api.md", slug="calls")
    scene.repo.git("config", "user.email", "dora@example.org")
    scene.repo.commit({"other.md": "# Other\n"}, "By Dora")
    scene.proposal_actions.refresh(manual.id, AGENT)
    scene.write("And more.")
    scene.proposal_actions.refresh(manual.id, scene.person("dora"))
    assert scene.approve(manual, "dora").state is ProposalState.APPROVED
    scene.repo.git("checkout", "-q", manual.content.branch)
    scene.repo.commit({"specs/api.md": "# API\n\n## Calls\n\nBy hand.\n"}, "By Dora")
    with pytest.raises(OwnProposal):
        scene.approve(manual, "dora")


def test_change_request_blocks_merge_until_answered(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "repo")
    proposal = scene.proposed()
    reviewed = scene.proposal_actions.review(proposal.id, ADA, ReviewDecision.REQUEST_CHANGES, "Say why.")
    assert reviewed.proposal.state is ProposalState.CHANGES_REQUESTED
    with pytest.raises(MergeBlocked):
        scene.proposal_actions.merge(proposal.id, AGENT)
    scene.append(proposal.id, "Because.")
    assert scene.proposal_actions.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN
    assert scene.proposal_actions.merge(proposal.id, AGENT).is_new


def test_comments_are_stored_with_their_targets(scene: Scene) -> None:
    name = scene.proposed().id
    first = scene.proposal_actions.comment(name, ADA, "Why?", file="guide.md", slug="use", quote="Use it.")
    (thread,) = first.proposal.content.threads
    assert thread.comment.target is not None
    assert (thread.comment.target.slug, thread.comment.commit) == ("use", first.proposal.tip)
    answered = scene.proposal_actions.comment(name, AGENT, "Because.", reply_to=thread.comment.id)
    assert [one.text for one in answered.proposal.content.threads[0].replies] == ["Because."]
    for wrong in ({"slug": "use"}, {"reply_to": "f" * 16}, {"file": "guide.md", "quote": "Never said"}):
        with pytest.raises(InvalidEventText):
            scene.proposal_actions.comment(name, ADA, "Why?", **wrong)
    with pytest.raises(DocumentNotFound):
        scene.proposal_actions.comment(name, ADA, "Why?", file="none.md")
    scene.proposal_actions.open_branch(name).write(
        [RemoveDocument(path="notes.md")], mode=Mode.ALL, tool="t", client="c", base_commit=scene.repo.head()
    )
    removed = scene.proposal_actions.comment(name, ADA, "Keep it.", file="notes.md").proposal.content
    assert removed.threads[-1].comment.commit == removed.base
    scene.proposal_actions.close(name, AGENT, "No.")
    assert scene.proposal_actions.comment(name, ADA, "A pity.").is_new


def test_invalid_texts_are_refused(scene: Scene) -> None:
    for title in ("x" * 10_000, "", " \n", "\x00"):
        with pytest.raises(InvalidEventText):
            scene.open(title)
    with pytest.raises(InvalidKey):
        scene.open(key="two words")
    assert scene.proposal_actions.list_all() == ()
    one, other = scene.open("🦀 🦀"), scene.open("🦀 🦀")
    assert one.id != other.id
    assert (one.content.title, one.content.branch) == ("🦀 🦀", f"proposals/{one.id}")
    edited = scene.proposal_actions.edit(one.id, AGENT, title=f"proposals/{other.id}")
    assert edited.proposal.id == one.id
    assert scene.proposal_actions.edit(one.id, AGENT, title=f"proposals/{other.id}").is_new is False
    with pytest.raises(InvalidEventText):
        scene.proposal_actions.edit(one.id, AGENT)


def test_closed_proposal_can_be_reopened(scene: Scene) -> None:
    proposal = scene.proposed()
    writer = scene.proposal_actions.open_branch(proposal.id)
    assert (
        scene.proposal_actions.close(proposal.id, AGENT, "Elsewhere.").proposal.state is ProposalState.CLOSED
    )
    assert scene.proposal_actions.close(proposal.id, AGENT).is_new is False
    for act in (scene.proposal_actions.merge, scene.proposal_actions.submit, scene.proposal_actions.refresh):
        with pytest.raises(ProposalEnded) as ended:
            act(proposal.id, AGENT)
        assert ended.value.details["state"] == "closed"
    with pytest.raises(ProposalEnded):
        scene.proposal_actions.open_branch(proposal.id)
    with pytest.raises(ProposalEnded):
        writer.write([append("Late.")], mode=Mode.ALL, tool="t", client="c")
    assert scene.proposal_actions.reopen(proposal.id, AGENT).proposal.state is ProposalState.OPEN
    assert scene.proposal_actions.merge(proposal.id, AGENT).is_new
    for act in (scene.proposal_actions.close, scene.proposal_actions.reopen, scene.proposal_actions.submit):
        with pytest.raises(ProposalEnded):
            act(proposal.id, AGENT)


def test_refresh_creates_merge_commit(scene: Scene) -> None:
    proposal = scene.proposed()
    assert scene.proposal_actions.refresh(proposal.id, AGENT).is_new is False
    scene.write("Meanwhile.")
    refreshed = scene.proposal_actions.refresh(proposal.id, AGENT)
    assert scene.log("-1", "--format=%P", proposal.content.branch) == [f"{proposal.tip} {scene.repo.head()}"]
    assert refreshed.proposal.state is ProposalState.OPEN
    assert not refreshed.proposal.is_rewritten
    text = scene.show("guide.md", proposal.content.branch)
    assert "Meanwhile." in text
    assert "More." in text
    assert scene.proposal_actions.refresh(proposal.id, AGENT).is_new is False
    # After a manual fast-forward, an earlier merge in the proposal is not its merge record.
    scene.repo.git("merge", "-q", "--ff-only", proposal.content.branch)
    landed = scene.proposal_actions.find(proposal.id)
    assert landed.merge_record is not None
    assert landed.merge_record.tip == refreshed.commit


def test_refresh_of_empty_proposal_fast_forwards(scene: Scene) -> None:
    proposal = scene.open()
    with pytest.raises(NothingProposed):
        scene.proposal_actions.merge(proposal.id, AGENT)
    scene.write("Meanwhile.")
    refreshed = scene.proposal_actions.refresh(proposal.id, AGENT)
    assert refreshed.proposal.tip == refreshed.proposal.content.base == scene.repo.head()
    assert refreshed.proposal.state is ProposalState.DRAFT
    with pytest.raises(NothingProposed):
        scene.proposal_actions.merge(proposal.id, AGENT)


def test_refresh_decides_conflicts(scene: Scene) -> None:
    proposal = scene.proposed("Here too.", slug="install")
    scene.repo.git("rm", "-q", "guide.md")
    scene.repo.commit({}, "Remove it")
    with pytest.raises(MergeConflict) as refused:
        scene.proposal_actions.merge(proposal.id, AGENT)
    assert "efresh" in refused.value.fix
    with pytest.raises(MergeConflict) as refused:
        scene.proposal_actions.refresh(proposal.id, AGENT)
    (found,) = refused.value.conflicts
    assert (found.path, found.conflict.theirs) == ("guide.md", None)
    decided = {found.path: {found.conflict.unit: Resolution(ResolutionChoice.OURS)}}
    assert scene.proposal_actions.refresh(proposal.id, AGENT, RefreshResolutions(lambda _: decided)).is_new
    assert scene.proposal_actions.merge(proposal.id, AGENT).is_new
    assert "Here too." in (scene.repo.path / "guide.md").read_text()
    scene.check_sound()


def test_write_without_changes_opens_no_proposal(scene: Scene) -> None:
    dry = scene.proposal_actions.propose(
        [append("One.", "specs/api.md", "calls")], AGENT, mode=Mode.EACH, dry_run=True
    )
    assert dry.proposal is None
    assert "One." in (dry.result.changes["specs/api.md"] or b"").decode()
    failed = scene.propose(slug="nowhere")
    assert failed.proposal is None
    assert failed.result.steps[0].error is not None
    assert scene.proposal_actions.list_all() == ()
    assert scene.workspace.git.branches() == ("main",)
    with pytest.raises(Protected):
        scene.workspace.write(
            [append("One.", "specs/api.md", "calls")], mode=Mode.EACH, tool="t", client="c", dry_run=True
        )


def test_retries_return_first_result(scene: Scene) -> None:
    one = scene.open(key="key")
    scene.write("The branch moves.")
    assert scene.open(key="key").id == one.id
    with pytest.raises(KeyReused):
        scene.open("Another", key="key")
    with pytest.raises(KeyReused):
        scene.open(submit=True, key="key")
    name = scene.proposed(file="specs/api.md", slug="calls").id
    for _ in range(2):
        scene.proposal_actions.comment(name, ADA, "Why?", file="specs/api.md", key="asked")
        scene.append(name, "Moves on.", "specs/api.md", "calls")
    assert len(scene.proposal_actions.find(name).content.threads) == 1
    with pytest.raises(KeyReused):
        scene.proposal_actions.comment(name, ADA, "Why not?", key="asked")
    first = scene.proposal_actions.review(name, scene.person(), ReviewDecision.APPROVE, key="yes")
    scene.append(name, "Moves on.", "specs/api.md", "calls")
    again = scene.proposal_actions.review(name, scene.person(), ReviewDecision.APPROVE, key="yes")
    assert (first.is_new, again.is_new, again.commit) == (True, False, first.commit)
    assert again.proposal.approvals == (), "a retry does not approve later commits"
    for is_new in (True, False):
        assert scene.proposal_actions.close(name, AGENT, key="no").is_new is is_new
        scene.proposal_actions.reopen(name, AGENT)


def test_retry_of_redirected_write_returns_its_proposal(scene: Scene) -> None:
    request = Request("key", compute_digest("edit_document", {"a": 1}), lambda plan: {"told": "once"})
    operations = [append("One.", "specs/api.md", "calls")]

    def directly() -> None:
        scene.workspace.write(operations, mode=Mode.EACH, tool="t", client="c", request=request)

    first = scene.proposal_actions.propose(operations, AGENT, mode=Mode.EACH, request=request)
    assert first.proposal is not None
    for _ in range(2):
        with pytest.raises(Protected) as refused:
            directly()
        assert refused.value.paths == ("specs/api.md",)
        again = scene.proposal_actions.propose(operations, AGENT, mode=Mode.EACH, request=request)
        assert again.proposal is not None
        assert (again.proposal.id, again.result.commit) == (first.proposal.id, first.result.commit)
        assert again.result.repeated is not None
        assert again.result.repeated.result == {"told": "once"}
        if again.proposal.state is not ProposalState.MERGED:
            scene.approve(again.proposal)
            scene.proposal_actions.merge(again.proposal.id, scene.person())
    other = Request("key", compute_digest("edit_document", {"a": 2}), lambda plan: {})
    with pytest.raises(KeyReused):
        scene.proposal_actions.propose(operations, AGENT, mode=Mode.EACH, request=other)
    assert len(scene.proposal_actions.list_all()) == 1
