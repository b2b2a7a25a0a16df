"""Each change in the history has the id of the proposal that merged the change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.review.scene import Scene
from workspace.history.log import History
from workspace.snapshot.snapshot import Snapshot

TEXT = "# Guide\n\nOne.\n"


def list_proposals(scene: Scene) -> list[tuple[str, str | None]]:
    """Return subject and proposal of each change of the guide, newest first."""
    snapshot = Snapshot(scene.store, scene.store.tip("main"))
    page = History(scene.store).changes(snapshot, "guide.md")
    return [(change.subject, change.proposal) for change in page.entries]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo", {"guide.md": TEXT, "other.md": "# Other\n"})


def test_change_has_the_proposal_of_its_merge(scene: Scene) -> None:
    proposal = scene.propose("k0000001", {"guide.md": TEXT + "\nTwo.\n"})
    scene.commit("main", {"other.md": "# Other\n\nMore.\n"})
    scene.merge(proposal)
    scene.commit("main", {"guide.md": TEXT + "\nTwo.\n\nThree.\n"}, message="By hand")
    assert list_proposals(scene) == [("By hand", None), ("Change", "k0000001"), ("Change", None)]


def test_commits_of_main_have_no_proposal(scene: Scene) -> None:
    first_proposal = scene.propose("k0000001", {"other.md": "# Other\n\nMore.\n"})
    main_commit = scene.commit("main", {"guide.md": TEXT + "\nTwo.\n"}, message="By hand")
    scene.commit("proposals/k0000001", {"guide.md": TEXT + "\nTwo.\n"}, main_commit, message="Refresh")
    second_proposal = scene.propose("k0000002", {"guide.md": TEXT + "\nTwo.\n\nThree.\n"})
    scene.merge(scene.find_proposal("k0000001"))
    scene.merge(second_proposal)
    assert first_proposal.id == "k0000001"
    assert list_proposals(scene) == [("Change", "k0000002"), ("By hand", None), ("Change", None)]


def test_manual_merge_has_no_proposal(scene: Scene) -> None:
    scene.propose("k0000001", {"guide.md": TEXT + "\nTwo.\n"})
    tip = scene.store.tip("proposals/k0000001")
    assert tip
    scene.commit("main", {"other.md": "# Other\n\nMore.\n"})
    scene.commit("main", {"guide.md": TEXT + "\nTwo.\n"}, tip, message="Merge by hand")
    assert list_proposals(scene)[0] == ("Change", None)
