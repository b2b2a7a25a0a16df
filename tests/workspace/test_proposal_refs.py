"""A proposal's id is resolved as a ref: to its branch's tip, its merged tip, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.event_writer import CLIENT_AUTHOR
from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.proposals.events import Closed
from workspace.revisions import NoProposedCommit, RefNotFound, list_ref_names, resolve_branch_ref
from workspace.workspace import Workspace

PROPOSAL_ID = "k0000001"


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    setup = ProposalSetup(tmp_path / "repo", {"guide.md": "# Guide\n"})
    setup.propose(PROPOSAL_ID, {"guide.md": "# Guide\n\nMore.\n"})
    return setup


def resolve_ref(setup: ProposalSetup, ref: str) -> str:
    return resolve_branch_ref(setup.workspace, ref)


def test_proposal_id_resolves_to_branch_tip(setup: ProposalSetup) -> None:
    tip = setup.store.tip(f"proposals/{PROPOSAL_ID}")
    for name in (
        PROPOSAL_ID,
        PROPOSAL_ID.upper(),
        "kooooool",
        f"proposals/{PROPOSAL_ID}",
        f"proposals/{PROPOSAL_ID}-any-words",
        f" {PROPOSAL_ID} ",
    ):
        assert setup.workspace.at(name).commit == tip
    assert resolve_ref(setup, f"{PROPOSAL_ID}~1") == setup.first_commit
    assert resolve_ref(setup, f"{PROPOSAL_ID}@{{2100-01-01}}") == tip
    assert resolve_ref(setup, "main") == setup.first_commit
    setup.commit(f"proposals/{PROPOSAL_ID}", {"guide.md": "# Guide\n\nEven more.\n"})
    assert setup.workspace.at(PROPOSAL_ID).read("guide.md") == b"# Guide\n\nEven more.\n"
    assert PROPOSAL_ID in list_ref_names(setup.store)


def test_proposal_id_ignores_other_branch_with_same_id(setup: ProposalSetup) -> None:
    other_commit = setup.create_commit({"guide.md": "# Harmless\n"}, setup.first_commit)
    setup.move_branch(PROPOSAL_ID, other_commit)
    assert resolve_ref(setup, PROPOSAL_ID) == setup.store.tip(f"proposals/{PROPOSAL_ID}")
    setup.move_branch(f"proposals/{PROPOSAL_ID}-other", other_commit)
    assert resolve_ref(setup, f"proposals/{PROPOSAL_ID}-other") == other_commit, (
        "the name of an existing branch must resolve to that branch"
    )


def test_fresh_clone_resolves_fetched_proposal(setup: ProposalSetup, tmp_path: Path) -> None:
    setup.repo.git("clone", "-q", ".", str(tmp_path / "clone"))
    assert resolve_branch_ref(Workspace.open(tmp_path / "clone"), PROPOSAL_ID) == setup.store.tip(
        f"proposals/{PROPOSAL_ID}"
    )


def test_merged_proposal_without_branch_resolves_to_merged_tip(setup: ProposalSetup) -> None:
    proposal = setup.find_proposal(PROPOSAL_ID)
    merge_commit = setup.merge(proposal)
    setup.move_branch(f"proposals/{PROPOSAL_ID}", None)
    assert resolve_ref(setup, PROPOSAL_ID) == proposal.tip != merge_commit
    assert resolve_ref(setup, f"proposals/{PROPOSAL_ID}") == proposal.tip


def test_proposal_without_commit_raises_error_with_state(setup: ProposalSetup) -> None:
    setup.move_branch(f"proposals/{PROPOSAL_ID}", None)
    with pytest.raises(NoProposedCommit, match="no longer has a branch") as error_info:
        resolve_ref(setup, PROPOSAL_ID)
    assert error_info.value.details == {"proposal": PROPOSAL_ID, "state": "gone"}
    setup.writer.append(Closed(""), by=CLIENT_AUTHOR, proposal=PROPOSAL_ID)
    with pytest.raises(NoProposedCommit, match="is closed, and its branch was deleted"):
        resolve_ref(setup, PROPOSAL_ID)


def test_unknown_proposal_id_error_lists_open_proposals(setup: ProposalSetup) -> None:
    setup.propose("z0000002", {"guide.md": "# Guide\n\nElse.\n"})
    setup.merge(setup.propose("z0000003", {"new.md": "# New\n"}))
    with pytest.raises(RefNotFound) as id_error:
        resolve_ref(setup, "k0000007")
    assert id_error.value.details["refs"][0] == PROPOSAL_ID, "the most similar ref must come first"
    assert f"z0000002, {PROPOSAL_ID}" in (id_error.value.fix or "")
    assert "z0000003" not in (id_error.value.fix or "")
    with pytest.raises(RefNotFound) as branch_error:
        resolve_ref(setup, "mian")
    assert "main" in branch_error.value.details["refs"]
