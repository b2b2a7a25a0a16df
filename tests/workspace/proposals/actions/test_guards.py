"""Sync conflicts guard the served branch and the branches of proposals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.scene import AGENT, GUIDE, Scene
from workspace.edits import UpdateContent
from workspace.proposals.proposal import ProposalState
from workspace.sync.conflicts import SyncConflict
from workspace.writing.plan import Mode


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path / "repo")
    scene.repo.git("remote", "add", "origin", str(tmp_path / "nowhere"))
    return scene


def simulate_fetch(scene: Scene, branch: str, tip: str) -> None:
    """Commit a change of another user on top of a commit, as if fetched."""
    scene.repo.git("checkout", "-q", "--detach", tip)
    their_commit = scene.repo.commit({"guide.md": GUIDE.replace("Use it.", "Theirs.")}, "Theirs")
    scene.repo.git("checkout", "-q", "main")
    scene.repo.git("update-ref", f"refs/remotes/origin/{branch}", their_commit)


def test_merge_into_branch_with_sync_conflict_is_refused(scene: Scene) -> None:
    tip = scene.repo.head()
    scene.repo.commit({"guide.md": GUIDE.replace("Use it.", "Ours.")}, "Ours")
    conflicting_proposal, other_proposal = (
        scene.submit_proposal("Mine."),
        scene.submit_proposal("Mine.", "notes.md", "_preamble"),
    )
    simulate_fetch(scene, "main", tip)
    with pytest.raises(SyncConflict):
        scene.write("More.", slug="use")
    head_before = scene.repo.head()
    with pytest.raises(SyncConflict):
        scene.proposal_actions.merge(conflicting_proposal.id, AGENT)
    assert scene.repo.head() == head_before
    assert scene.proposal_actions.merge(other_proposal.id, AGENT).proposal.state is ProposalState.MERGED
    scene.check_sound()


def test_write_to_proposal_section_with_sync_conflict_is_refused(scene: Scene) -> None:
    proposal = scene.open()
    tip = scene.repo.head()
    branch = scene.proposal_actions.open_branch(proposal.id)
    operation = UpdateContent(file="guide.md", slug="use", content="Ours.")
    branch.write([operation], mode=Mode.ALL, tool="edit_document", client="an agent", base_commit=tip)
    simulate_fetch(scene, proposal.content.branch, tip)
    with pytest.raises(SyncConflict):
        scene.append(proposal.id, "More.")
    scene.append(proposal.id, "More.", "notes.md", "_preamble")
    assert len(scene.proposal_actions.open_branch(proposal.id).guards) == 2
