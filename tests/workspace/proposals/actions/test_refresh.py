"""What a refresh takes in, what it is bound to, and what its retry is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.scene import AGENT, Scene
from workspace.edits import UpdateContent
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import Resolutions
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.refresh import ConflictChanged, RefreshDecisions
from workspace.proposals.events import Refreshed, ReviewDecision
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyReused
from workspace.writing.plan import Mode


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo")


def update(workspace: Workspace, text: str, slug: str = "use") -> None:
    operation = UpdateContent(file="guide.md", slug=slug, content=text)
    base = workspace.tip()
    workspace.write([operation], mode=Mode.ALL, tool="edit_document", client="an agent", base_commit=base)


def torn(scene: Scene) -> tuple[Proposal, MergeConflict]:
    """A proposal in conflict with its target, and what is told of that."""
    proposal = scene.open()
    update(scene.proposing.open_branch(proposal.id), "Ours.\n")
    update(scene.workspace, "Theirs.\n")
    with pytest.raises(MergeConflict) as refused:
        scene.proposing.refresh(proposal.id, AGENT)
    return scene.proposing.find(proposal.id), refused.value


def decisions(
    found: MergeConflict, choice: ResolutionChoice = ResolutionChoice.OURS, digest: str = "a" * 64
) -> RefreshDecisions:
    content = b"Both.\n" if choice is ResolutionChoice.CONTENT else None
    chosen: Resolutions = {
        one.path: {one.conflict.unit: Resolution(choice, content)} for one in found.conflicts
    }
    return RefreshDecisions(lambda _: chosen, found.tip, found.theirs, digest)


@pytest.mark.parametrize("choice", list(ResolutionChoice))
def test_what_the_target_says_later_is_not_dropped_by_a_decision(
    scene: Scene, choice: ResolutionChoice
) -> None:
    """What was decided on is merged; what came later comes with the next refresh, as a conflict again."""
    proposal, found = torn(scene)
    update(scene.workspace, "Never seen.\n")
    made = scene.proposing.refresh(proposal.id, AGENT, decisions(found, choice))
    assert scene.log("-1", "--format=%P", proposal.content.branch) == [f"{found.tip} {found.theirs}"]
    if choice is ResolutionChoice.THEIRS:  # what it says there is what the target said before
        scene.proposing.refresh(proposal.id, AGENT)
        assert "Never seen." in scene.show("guide.md", proposal.content.branch)
    else:
        with pytest.raises(MergeConflict) as again:
            scene.proposing.merge(proposal.id, AGENT)
        assert [one.conflict.ours for one in again.value.conflicts] == [b"Never seen."]
    assert made.is_new


def test_what_the_proposal_says_later_is_not_dropped_by_a_decision(scene: Scene) -> None:
    proposal, found = torn(scene)
    update(scene.proposing.open_branch(proposal.id), "Ours, never seen.\n")
    before = scene.repo.git("for-each-ref")
    with pytest.raises(ConflictChanged) as refused:
        scene.proposing.refresh(proposal.id, AGENT, decisions(found, ResolutionChoice.THEIRS))
    [now] = refused.value.conflicts
    assert now.conflict.ours == b"Ours, never seen."
    assert scene.repo.git("for-each-ref") == before
    scene.proposing.refresh(proposal.id, AGENT, decisions(refused.value))


def test_a_decision_on_a_commit_that_the_target_has_not_is_refused(scene: Scene) -> None:
    proposal, found = torn(scene)
    for wrong in ("0" * 40, "main", str(found.tip)):
        with pytest.raises(ConflictChanged):
            scene.proposing.refresh(proposal.id, AGENT, decisions(found)._replace(target=wrong))
    # It was decided by another meanwhile: what is decided now is on what is there no more.
    scene.proposing.refresh(proposal.id, AGENT, decisions(found, ResolutionChoice.THEIRS))
    with pytest.raises(ConflictChanged):
        scene.proposing.refresh(proposal.id, AGENT, decisions(found))


def test_a_retry_is_told_what_was_done_also_when_main_has_moved_and_after_the_merge(scene: Scene) -> None:
    proposal, found = torn(scene)
    made = scene.proposing.refresh(proposal.id, AGENT, decisions(found), request="k")
    scene.write("Main goes on.")
    tip = scene.proposing.find(proposal.id).tip
    for _ in range(2):
        again = scene.proposing.refresh(proposal.id, AGENT, decisions(found), request="k")
        assert (again.commit, again.is_new) == (made.commit, False)
        assert scene.repo.git("rev-parse", proposal.content.branch).strip() == tip
        for other in (None, decisions(found, ResolutionChoice.THEIRS, "b" * 64)):
            with pytest.raises(KeyReused):
                scene.proposing.refresh(proposal.id, AGENT, other, request="k")
        scene.proposing.merge(proposal.id, AGENT)


def test_a_retry_completes_a_way_forward_that_was_only_told(scene: Scene) -> None:
    proposal = scene.open()
    scene.write("Meanwhile.")
    main = scene.repo.head()
    scene.proposing._register.append(proposal.id, [Refreshed(main, main)], AGENT, "k")
    scene.write("Later.")
    made = scene.proposing.refresh(proposal.id, AGENT, request="k")
    assert (made.commit, made.proposal.tip, made.proposal.state) == (main, main, ProposalState.DRAFT)
    assert scene.proposing.refresh(proposal.id, AGENT, request="k").is_new is False
    assert scene.proposing.refresh(proposal.id, AGENT).proposal.tip == scene.repo.head()


@pytest.mark.parametrize("asks_after", [0, 1, 2])
def test_a_refresh_answers_no_request_for_changes(scene: Scene, asks_after: int) -> None:
    """Whether changes were asked for before the refreshes, between them, or after them."""
    proposal = scene.proposed("More words.")
    for refreshes in range(3):
        if refreshes == asks_after:
            scene.proposing.review(proposal.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "No.")
        scene.write(f"Meanwhile {refreshes}.")
        scene.proposing.refresh(proposal.id, AGENT)
        asks = scene.proposing.submit(proposal.id, AGENT).proposal.state is ProposalState.CHANGES_REQUESTED
        assert asks == (refreshes >= asks_after)
    with pytest.raises(MergeBlocked):
        scene.proposing.merge(proposal.id, AGENT)
    scene.append(proposal.id, "Better words.")
    scene.write("Meanwhile, once more.")
    scene.proposing.refresh(proposal.id, AGENT)
    assert scene.proposing.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN
    assert scene.proposing.merge(proposal.id, AGENT).is_new


def test_going_forward_answers_no_request_and_a_decided_refresh_does(scene: Scene) -> None:
    empty = scene.open()
    scene.proposing.submit(empty.id, AGENT)
    scene.proposing.review(empty.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "Say something.")
    scene.write("Meanwhile.")
    scene.proposing.refresh(empty.id, AGENT)
    assert scene.proposing.submit(empty.id, AGENT).proposal.state is ProposalState.CHANGES_REQUESTED
    proposal, found = torn(scene)
    scene.proposing.submit(proposal.id, AGENT)
    scene.proposing.review(proposal.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "Take theirs.")
    scene.proposing.refresh(proposal.id, AGENT, decisions(found, ResolutionChoice.CONTENT))
    assert scene.proposing.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN
