"""Refreshes: the merged commits, the binding of decisions, and the results of retries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.scene import AGENT, Scene
from workspace.edits import UpdateContent
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import Resolutions
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.refresh import ConflictChanged, RefreshResolutions
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
    """Return a proposal in conflict with its target, and the conflict."""
    proposal = scene.open()
    update(scene.proposal_actions.open_branch(proposal.id), "Ours.\n")
    update(scene.workspace, "Theirs.\n")
    with pytest.raises(MergeConflict) as refused:
        scene.proposal_actions.refresh(proposal.id, AGENT)
    return scene.proposal_actions.find(proposal.id), refused.value


def decisions(
    found: MergeConflict, choice: ResolutionChoice = ResolutionChoice.OURS, digest: str = "a" * 64
) -> RefreshResolutions:
    content = b"Both.\n" if choice is ResolutionChoice.CONTENT else None
    chosen: Resolutions = {
        one.path: {one.conflict.unit: Resolution(choice, content)} for one in found.conflicts
    }
    return RefreshResolutions(lambda _: chosen, found.tip, found.theirs, digest)


@pytest.mark.parametrize("choice", list(ResolutionChoice))
def test_decision_does_not_drop_later_target_text(scene: Scene, choice: ResolutionChoice) -> None:
    """The decided commit of the target is merged; later text is a conflict of the next refresh."""
    proposal, found = torn(scene)
    update(scene.workspace, "Never seen.\n")
    made = scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found, choice))
    assert scene.log("-1", "--format=%P", proposal.content.branch) == [f"{found.tip} {found.theirs}"]
    if choice is ResolutionChoice.THEIRS:  # the section has the earlier text of the target
        scene.proposal_actions.refresh(proposal.id, AGENT)
        assert "Never seen." in scene.show("guide.md", proposal.content.branch)
    else:
        with pytest.raises(MergeConflict) as again:
            scene.proposal_actions.merge(proposal.id, AGENT)
        assert [one.conflict.ours for one in again.value.conflicts] == [b"Never seen."]
    assert made.is_new


def test_decision_does_not_drop_later_proposal_text(scene: Scene) -> None:
    proposal, found = torn(scene)
    update(scene.proposal_actions.open_branch(proposal.id), "Ours, never seen.\n")
    before = scene.repo.git("for-each-ref")
    with pytest.raises(ConflictChanged) as refused:
        scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found, ResolutionChoice.THEIRS))
    [now] = refused.value.conflicts
    assert now.conflict.ours == b"Ours, never seen."
    assert scene.repo.git("for-each-ref") == before
    scene.proposal_actions.refresh(proposal.id, AGENT, decisions(refused.value))


def test_decision_on_commit_outside_target_is_refused(scene: Scene) -> None:
    proposal, found = torn(scene)
    for wrong in ("0" * 40, "main", str(found.tip)):
        with pytest.raises(ConflictChanged):
            scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found)._replace(target=wrong))
    # Another call decided the conflict meanwhile, so these decisions are outdated.
    scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found, ResolutionChoice.THEIRS))
    with pytest.raises(ConflictChanged):
        scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found))


def test_refresh_retry_returns_first_result_after_target_moved_or_merged(scene: Scene) -> None:
    proposal, found = torn(scene)
    made = scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found), key="k")
    scene.write("Main goes on.")
    tip = scene.proposal_actions.find(proposal.id).tip
    for _ in range(2):
        again = scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found), key="k")
        assert (again.commit, again.is_new) == (made.commit, False)
        assert scene.repo.git("rev-parse", proposal.content.branch).strip() == tip
        for other in (None, decisions(found, ResolutionChoice.THEIRS, "b" * 64)):
            with pytest.raises(KeyReused):
                scene.proposal_actions.refresh(proposal.id, AGENT, other, key="k")
        scene.proposal_actions.merge(proposal.id, AGENT)


def test_retry_completes_fast_forward_with_event_only(scene: Scene) -> None:
    proposal = scene.open()
    scene.write("Meanwhile.")
    main = scene.repo.head()
    scene.proposal_actions._repository.append(proposal.id, [Refreshed(main, main)], AGENT, "k")
    scene.write("Later.")
    made = scene.proposal_actions.refresh(proposal.id, AGENT, key="k")
    assert (made.commit, made.proposal.tip, made.proposal.state) == (main, main, ProposalState.DRAFT)
    assert scene.proposal_actions.refresh(proposal.id, AGENT, key="k").is_new is False
    assert scene.proposal_actions.refresh(proposal.id, AGENT).proposal.tip == scene.repo.head()


@pytest.mark.parametrize("requested_after", [0, 1, 2])
def test_refresh_does_not_answer_change_request(scene: Scene, requested_after: int) -> None:
    """Changes are requested before the refreshes, between them, or after them."""
    proposal = scene.proposed("More words.")
    for refreshes in range(3):
        if refreshes == requested_after:
            scene.proposal_actions.review(proposal.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "No.")
        scene.write(f"Meanwhile {refreshes}.")
        scene.proposal_actions.refresh(proposal.id, AGENT)
        is_requested = (
            scene.proposal_actions.submit(proposal.id, AGENT).proposal.state
            is ProposalState.CHANGES_REQUESTED
        )
        assert is_requested == (refreshes >= requested_after)
    with pytest.raises(MergeBlocked):
        scene.proposal_actions.merge(proposal.id, AGENT)
    scene.append(proposal.id, "Better words.")
    scene.write("Meanwhile, once more.")
    scene.proposal_actions.refresh(proposal.id, AGENT)
    assert scene.proposal_actions.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN
    assert scene.proposal_actions.merge(proposal.id, AGENT).is_new


def test_only_refresh_with_decisions_answers_change_request(scene: Scene) -> None:
    empty = scene.open()
    scene.proposal_actions.submit(empty.id, AGENT)
    scene.proposal_actions.review(empty.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "Say something.")
    scene.write("Meanwhile.")
    scene.proposal_actions.refresh(empty.id, AGENT)
    assert scene.proposal_actions.submit(empty.id, AGENT).proposal.state is ProposalState.CHANGES_REQUESTED
    proposal, found = torn(scene)
    scene.proposal_actions.submit(proposal.id, AGENT)
    scene.proposal_actions.review(proposal.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "Take theirs.")
    scene.proposal_actions.refresh(proposal.id, AGENT, decisions(found, ResolutionChoice.CONTENT))
    assert scene.proposal_actions.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN
