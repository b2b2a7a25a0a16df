"""A sync conflict of the served branch or of a proposal prevents writes to the sections in conflict."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GUIDE, ProposalSetup
from workspace.edits.text import UpdateContent
from workspace.proposals.proposal import ProposalState
from workspace.sync.conflicts import SyncConflict
from workspace.writing.plan import BatchMode


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    setup = ProposalSetup(tmp_path / "repo")
    setup.repo.git("remote", "add", "origin", str(tmp_path / "nowhere"))
    return setup


def simulate_fetch(setup: ProposalSetup, branch: str, tip: str) -> None:
    """Commit another user's change on top of `tip`, and set the tracking branch as a fetch would."""
    setup.repo.git("checkout", "-q", "--detach", tip)
    their_commit = setup.repo.commit({"guide.md": GUIDE.replace("Use it.", "Theirs.")}, "Theirs")
    setup.repo.git("checkout", "-q", "main")
    setup.repo.git("update-ref", f"refs/remotes/origin/{branch}", their_commit)


def test_merge_into_branch_with_sync_conflict_is_refused(setup: ProposalSetup) -> None:
    tip = setup.repo.head()
    setup.repo.commit({"guide.md": GUIDE.replace("Use it.", "Ours.")}, "Ours")
    conflicting_proposal, other_proposal = (
        setup.submit_proposal("Mine."),
        setup.submit_proposal("Mine.", "notes.md", "_preamble"),
    )
    simulate_fetch(setup, "main", tip)
    with pytest.raises(SyncConflict):
        setup.write("More.", slug="use")
    head_before = setup.repo.head()
    with pytest.raises(SyncConflict):
        setup.proposal_actions.merge(conflicting_proposal.id, AGENT_ACTOR)
    assert setup.repo.head() == head_before
    assert setup.proposal_actions.merge(other_proposal.id, AGENT_ACTOR).proposal.state is ProposalState.MERGED
    setup.check_repository_intact()


def test_write_to_proposal_section_with_sync_conflict_is_refused(setup: ProposalSetup) -> None:
    proposal = setup.open()
    tip = setup.repo.head()
    branch = setup.proposal_actions.open_branch(proposal.id)
    operation = UpdateContent(file="guide.md", slug="use", content="Ours.")
    branch.write([operation], mode=BatchMode.ALL, tool="edit_document", client="an agent", base_commit=tip)
    simulate_fetch(setup, proposal.content.branch, tip)
    with pytest.raises(SyncConflict):
        setup.append(proposal.id, "More.")
    setup.append(proposal.id, "More.", "notes.md", "_preamble")
    assert len(setup.proposal_actions.open_branch(proposal.id).guards) == 2
