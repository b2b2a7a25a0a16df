"""A proposal's id as a ref: its branch's tip, its merged tip, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.event_writer import AGENT
from tests.workspace.proposals.review.scene import Scene
from workspace.proposals.events import Closed
from workspace.revisions import NoProposedCommit, RefNotFound, find_ref, list_ref_names

ID = "k0000001"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path / "repo", {"guide.md": "# Guide\n"})
    scene.propose(ID, {"guide.md": "# Guide\n\nMore.\n"})
    return scene


def resolve_ref(scene: Scene, ref: str) -> str:
    return find_ref(scene.workspace, ref)


def test_proposal_id_resolves_to_branch_tip(scene: Scene) -> None:
    tip = scene.store.tip(f"proposals/{ID}")
    for name in (ID, ID.upper(), "kooooool", f"proposals/{ID}", f"proposals/{ID}-any-words", f" {ID} "):
        assert scene.workspace.at(name).commit == tip
    assert resolve_ref(scene, f"{ID}~1") == scene.first_commit
    assert resolve_ref(scene, f"{ID}@{{2100-01-01}}") == tip
    assert resolve_ref(scene, "main") == scene.first_commit
    tip = scene.commit(f"proposals/{ID}", {"guide.md": "# Guide\n\nEven more.\n"})
    assert scene.workspace.at(ID).read("guide.md") == b"# Guide\n\nEven more.\n"
    assert ID in list_ref_names(scene.store)


def test_proposal_id_ignores_other_branch_with_same_id(scene: Scene) -> None:
    other_commit = scene.create_commit({"guide.md": "# Harmless\n"}, scene.first_commit)
    scene.move_branch(ID, other_commit)
    assert resolve_ref(scene, ID) == scene.store.tip(f"proposals/{ID}")
    scene.move_branch(f"proposals/{ID}-other", other_commit)
    assert resolve_ref(scene, f"proposals/{ID}-other") == other_commit, (
        "the name of an existing branch must resolve to that branch"
    )


def test_fresh_clone_resolves_fetched_proposal(scene: Scene, tmp_path: Path) -> None:
    scene.repo.git("clone", "-q", ".", str(tmp_path / "clone"))
    from workspace.workspace import Workspace

    assert find_ref(Workspace.open(tmp_path / "clone"), ID) == scene.store.tip(f"proposals/{ID}")


def test_merged_proposal_without_branch_resolves_to_merged_tip(scene: Scene) -> None:
    proposal = scene.find_proposal(ID)
    merge_commit = scene.merge(proposal)
    scene.move_branch(f"proposals/{ID}", None)
    assert resolve_ref(scene, ID) == proposal.tip != merge_commit
    assert resolve_ref(scene, f"proposals/{ID}") == proposal.tip


def test_proposal_without_commit_raises_error_with_state(scene: Scene) -> None:
    scene.move_branch(f"proposals/{ID}", None)
    with pytest.raises(NoProposedCommit, match="no longer has a branch") as error:
        resolve_ref(scene, ID)
    assert error.value.details == {"proposal": ID, "state": "gone"}
    scene.writer.append(Closed(""), by=AGENT, proposal=ID)
    with pytest.raises(NoProposedCommit, match="is closed, and its branch was deleted"):
        resolve_ref(scene, ID)


def test_unknown_proposal_id_error_lists_open_proposals(scene: Scene) -> None:
    scene.propose("z0000002", {"guide.md": "# Guide\n\nElse.\n"})
    scene.merge(scene.propose("z0000003", {"new.md": "# New\n"}))
    with pytest.raises(RefNotFound) as id_error:
        resolve_ref(scene, "k0000007")
    assert id_error.value.details["refs"][0] == ID, "the most similar ref must come first"
    assert f"z0000002, {ID}" in (id_error.value.fix or "")
    assert "z0000003" not in (id_error.value.fix or "")
    with pytest.raises(RefNotFound) as branch_error:
        resolve_ref(scene, "mian")
    assert "main" in branch_error.value.details["refs"]
