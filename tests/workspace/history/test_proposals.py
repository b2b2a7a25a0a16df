"""Each change in the history has the id of the proposal that merged the change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.history.log import History
from workspace.snapshot.snapshot import Snapshot

TEXT = "# Guide\n\nOne.\n"


def list_changes_with_proposals(setup: ProposalSetup) -> list[tuple[str, str | None]]:
    """Return subject and proposal of each change of the guide, newest first."""
    snapshot = Snapshot(setup.store, setup.store.tip("main"))
    page = History(setup.store).changes(snapshot, "guide.md")
    return [(change.subject, change.proposal) for change in page.entries]


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", {"guide.md": TEXT, "other.md": "# Other\n"})


def test_change_has_the_proposal_of_its_merge(setup: ProposalSetup) -> None:
    proposal = setup.propose("k0000001", {"guide.md": TEXT + "\nTwo.\n"})
    setup.commit("main", {"other.md": "# Other\n\nMore.\n"})
    setup.merge(proposal)
    setup.commit("main", {"guide.md": TEXT + "\nTwo.\n\nThree.\n"}, message="By hand")
    assert list_changes_with_proposals(setup) == [("By hand", None), ("Change", "k0000001"), ("Change", None)]


def test_commits_of_main_have_no_proposal(setup: ProposalSetup) -> None:
    first_proposal = setup.propose("k0000001", {"other.md": "# Other\n\nMore.\n"})
    main_commit = setup.commit("main", {"guide.md": TEXT + "\nTwo.\n"}, message="By hand")
    setup.commit("proposals/k0000001", {"guide.md": TEXT + "\nTwo.\n"}, main_commit, message="Refresh")
    second_proposal = setup.propose("k0000002", {"guide.md": TEXT + "\nTwo.\n\nThree.\n"})
    setup.merge(setup.find_proposal("k0000001"))
    setup.merge(second_proposal)
    assert first_proposal.id == "k0000001"
    assert list_changes_with_proposals(setup) == [("Change", "k0000002"), ("By hand", None), ("Change", None)]


def test_manual_merge_has_no_proposal(setup: ProposalSetup) -> None:
    setup.propose("k0000001", {"guide.md": TEXT + "\nTwo.\n"})
    tip = setup.store.tip("proposals/k0000001")
    assert tip
    setup.commit("main", {"other.md": "# Other\n\nMore.\n"})
    setup.commit("main", {"guide.md": TEXT + "\nTwo.\n"}, tip, message="Merge by hand")
    assert list_changes_with_proposals(setup)[0] == ("Change", None)
