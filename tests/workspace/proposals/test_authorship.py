"""The authors of a proposal's commits cannot approve it, whatever name Git records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GIT_ACTOR, RULE, ProposalSetup
from workspace.edits.text import UpdateContent
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import FileConflict, Resolutions
from workspace.proposals.actions.refresh import RefreshResolutions
from workspace.proposals.approvals import OwnProposal
from workspace.proposals.proposal import Proposal
from workspace.sync.sync import merge_remote
from workspace.writing.plan import BatchMode

API_PATH = "specs/api.md"


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", 'overwrite = "any"\n' + RULE)


def propose_as_agent(setup: ProposalSetup) -> Proposal:
    return setup.submit_proposal("By an agent.", API_PATH, "calls")


@pytest.mark.parametrize("amend_options", [("--amend",), ("-C", "HEAD")])
def test_person_who_amends_client_commit_cannot_approve(
    setup: ProposalSetup, amend_options: tuple[str, ...]
) -> None:
    """Git preserves the message, its trailers and the author of an amended commit."""
    proposal = propose_as_agent(setup)
    setup.repo.git("checkout", "-q", proposal.content.branch)
    setup.repo.git("config", "user.email", "bea@example.org")
    (setup.repo.path / API_PATH).write_text("# API\n\n## Calls\n\nBy Bea.\n")
    setup.repo.git("commit", "-q", "-a", "--no-edit", *amend_options)
    assert setup.log("-1", "--format=%ae %(trailers:key=Docyard-Client,valueonly)")[0].endswith("an agent")
    with pytest.raises(OwnProposal):
        setup.approve(setup.proposal_actions.find(proposal.id))
    setup.approve(proposal, "cyd")
    assert setup.proposal_actions.merge(proposal.id, setup.person()).is_new


def propose_with_conflict(setup: ProposalSetup) -> tuple[Proposal, Resolutions]:
    """Create a proposal in conflict with its target, and return it and resolutions with new content."""
    first_update = UpdateContent(file=API_PATH, slug="calls", content="First.")
    merged_proposal = setup.proposal_actions.propose([first_update], AGENT_ACTOR, mode=BatchMode.ALL).proposal
    proposal = setup.open()
    branch = setup.proposal_actions.open_branch(proposal.id)
    second_update = UpdateContent(file=API_PATH, slug="calls", content="Second.")
    branch.write([second_update], mode=BatchMode.ALL, tool="edit_document", client="an agent")
    assert merged_proposal is not None
    setup.approve(merged_proposal, "cyd")
    setup.proposal_actions.merge(merged_proposal.id, setup.person("cyd"))
    [conflict] = (
        setup.workspace.proposal_reviews().preview(setup.proposal_actions.find(proposal.id)).conflicts
    )
    return proposal, {
        conflict.path: {conflict.conflict.unit: Resolution(ResolutionChoice.CONTENT, b"Third.\n")}
    }


def test_person_who_resolved_conflict_without_token_cannot_approve(setup: ProposalSetup) -> None:
    proposal, resolutions = propose_with_conflict(setup)
    setup.repo.git("config", "user.email", "bea@example.org")
    setup.proposal_actions.refresh(proposal.id, GIT_ACTOR, RefreshResolutions(lambda _: resolutions))
    assert "Docyard-Hand: git" in setup.log("-1", "--format=%B", proposal.content.branch)
    tip = setup.proposal_actions.find(proposal.id).tip
    with pytest.raises(OwnProposal, match=f"by the commit {str(tip)[:8]}") as error_info:
        setup.approve(setup.proposal_actions.find(proposal.id))
    assert error_info.value.details["author_commit"] == tip
    assert "Ask another person" in error_info.value.fix
    setup.approve(setup.proposal_actions.find(proposal.id), "cyd")
    assert setup.proposal_actions.merge(proposal.id, setup.person()).is_new


def test_conflict_resolved_by_agent_allows_approval_by_user(setup: ProposalSetup) -> None:
    proposal, resolutions = propose_with_conflict(setup)
    setup.repo.git("config", "user.email", "bea@example.org")
    setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, RefreshResolutions(lambda _: resolutions))
    setup.approve(setup.proposal_actions.find(proposal.id))
    assert setup.proposal_actions.merge(proposal.id, setup.person()).is_new


def test_person_who_resolved_sync_conflict_cannot_approve(setup: ProposalSetup) -> None:
    """A sync may write protected text to a proposal; the text reaches the target only by review."""
    proposal = setup.open()
    operation = UpdateContent(file=API_PATH, slug="calls", content="Ours.")
    branch = setup.proposal_actions.open_branch(proposal.id)
    branch.write([operation], mode=BatchMode.ALL, tool="edit_document", client="an agent")
    setup.repo.git("checkout", "-q", "-b", "theirs", "main")
    their_commit = setup.repo.commit({API_PATH: "# API\n\n## Calls\n\nTheirs.\n"}, "From elsewhere")
    setup.repo.git("checkout", "-q", "main")
    setup.repo.git("config", "user.email", "bea@example.org")
    content = Resolution(ResolutionChoice.CONTENT, b"By Bea.\n")

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {path: {conflict.unit: content} for path, conflict in conflicts}

    merge_remote(setup.workspace, proposal.content.branch, their_commit, "origin", choose)
    assert "By Bea." in setup.show(API_PATH, proposal.content.branch)
    with pytest.raises(OwnProposal):
        setup.approve(setup.proposal_actions.find(proposal.id))
