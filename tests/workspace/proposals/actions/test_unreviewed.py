"""An approval is void if a merge would put more text under a rule than was reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, ProposalSetup
from workspace.edits.documents import MoveDocument
from workspace.edits.metadata import SetMetadata
from workspace.edits.operation import Operation
from workspace.edits.restore import Undo
from workspace.edits.sections import MoveSection
from workspace.errors import WorkspaceError
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.merge_gate import NEEDS_REFRESH, MergeRequirements
from workspace.proposals.approvals import VoidReason
from workspace.proposals.proposal import Proposal
from workspace.writing.plan import BatchMode

RULES = (
    'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'
    '[[protect]]\ntypes = ["runbook"]\nchecks = []\n'
)


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "docs", RULES)


def propose_and_approve(setup: ProposalSetup, *operations: Operation) -> Proposal:
    draft = setup.proposal_actions.propose(list(operations), AGENT_ACTOR, mode=BatchMode.ALL).proposal
    assert draft is not None
    setup.proposal_actions.submit(draft.id, AGENT_ACTOR)
    proposal = setup.approve(draft)
    assert find_requirements(setup, proposal).blockers == ()
    return proposal


def find_requirements(setup: ProposalSetup, proposal: Proposal) -> MergeRequirements:
    return setup.proposal_actions.find_merge_requirements(
        proposal, setup.workspace.proposal_reviews().preview(proposal)
    )


def check_not_merged(setup: ProposalSetup, proposal: Proposal) -> None:
    """Check that the proposal has blockers, and that its merge is refused."""
    head_before = setup.repo.head()
    assert find_requirements(setup, proposal).blockers != ()
    with pytest.raises(WorkspaceError):
        setup.proposal_actions.merge(proposal.id, setup.person())
    assert setup.repo.head() == head_before


def check_approval_is_void(setup: ProposalSetup, proposal: Proposal, path: str, text: str) -> None:
    """Check that the approval is void, the difference is shown, and a new approval allows the merge."""
    requirements = find_requirements(setup, proposal)
    assert [blocker.code for blocker in requirements.blockers] == [NEEDS_REFRESH, "NEEDS_APPROVAL"]
    assert path in requirements.blockers[0].message
    assert set(requirements.void_reasons.values()) == {VoidReason.UNSEEN}
    assert requirements.unreviewed_changes is not None
    assert [document.path for document in requirements.unreviewed_changes.documents] == [path]
    changes = [
        change
        for document in requirements.unreviewed_changes.documents
        for change in document.section_changes
    ]
    new_texts = [change.after.text for change in changes if change.after]
    assert any(text in new_text for new_text in new_texts)
    head_before = setup.repo.head()
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())
    assert setup.repo.head() == head_before
    refreshed_proposal = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR).proposal
    assert [blocker.code for blocker in find_requirements(setup, refreshed_proposal).blockers] == [
        "NEEDS_APPROVAL"
    ]
    setup.approve(refreshed_proposal)
    setup.proposal_actions.merge(proposal.id, setup.person())
    assert text in setup.show(path)
    setup.check_repository_intact()


def test_direct_edit_of_document_moved_under_rule_voids_approval(
    setup: ProposalSetup,
) -> None:
    proposal = propose_and_approve(setup, MoveDocument(file="guide.md", new_path="specs/guide.md"))
    setup.write("Unreviewed.", "guide.md", "use")
    check_approval_is_void(setup, proposal, "specs/guide.md", "Unreviewed.")


def test_direct_edit_of_document_with_new_governed_type_voids_approval(setup: ProposalSetup) -> None:
    proposal = propose_and_approve(setup, SetMetadata(file="guide.md", metadata={"type": "runbook"}))
    setup.write("Unreviewed.", "guide.md", "use")
    check_approval_is_void(setup, proposal, "guide.md", "Unreviewed.")


def test_direct_move_of_document_with_new_governed_type_voids_approval(setup: ProposalSetup) -> None:
    proposal = propose_and_approve(setup, SetMetadata(file="guide.md", metadata={"type": "runbook"}))
    setup.workspace.write(
        [MoveDocument(file="guide.md", new_path="manual.md")], mode=BatchMode.ALL, tool="t", client="c"
    )
    setup.write("Unreviewed.", "manual.md", "use")
    check_approval_is_void(setup, proposal, "manual.md", "Unreviewed.")


def test_direct_edit_of_section_moved_under_rule_blocks_merge(setup: ProposalSetup) -> None:
    move = MoveSection(file="guide.md", slug="use", to_file="specs/api.md")
    proposal = propose_and_approve(setup, move)
    setup.write("Unreviewed.", "guide.md", "use")
    check_not_merged(setup, proposal)


def test_undo_restoring_document_under_rule_requires_approval(setup: ProposalSetup) -> None:
    move_proposal = propose_and_approve(setup, MoveDocument(file="specs/api.md", new_path="api.md"))
    setup.proposal_actions.merge(move_proposal.id, setup.person())
    moving_commit = setup.repo.git("rev-parse", "main^2").strip()
    undo_proposal = propose_and_approve(setup, Undo(commit=moving_commit))
    setup.write("Unreviewed.", "api.md", "calls")
    check_approval_is_void(setup, undo_proposal, "specs/api.md", "Unreviewed.")


def test_criss_cross_merge_of_target_requires_approval(setup: ProposalSetup) -> None:
    """There are two merge bases: each side has merged the other's earlier commit."""
    proposal = propose_and_approve(setup, MoveDocument(file="guide.md", new_path="specs/guide.md"))
    assert proposal.tip is not None
    setup.repo.git("switch", "-q", proposal.content.branch)
    setup.repo.commit({"notes.md": "# Notes\n\nMore.\n"}, "On the proposal")
    setup.repo.git("switch", "-q", "main")
    setup.repo.commit({"other.md": "# Other\n"}, "On main")
    earlier_commit = setup.repo.head()
    setup.repo.git("merge", "-q", "--no-ff", "-m", "An earlier commit", f"{proposal.content.branch}~1")
    setup.repo.git("switch", "-q", proposal.content.branch)
    setup.repo.git("merge", "-q", "--no-ff", "-m", "Take in", earlier_commit)
    setup.repo.git("switch", "-q", "main")
    bases = setup.repo.git("merge-base", "--all", "main", proposal.content.branch).split()
    assert len(bases) == 2
    approved_proposal = setup.approve(setup.proposal_actions.find(proposal.id), "cyd")
    setup.repo.git("mv", "specs/guide.md", "guide.md")
    setup.repo.commit({}, "Move back with Git")
    setup.write("Unreviewed.", "guide.md", "use")
    check_not_merged(setup, approved_proposal)


def test_edit_of_other_governed_document_preserves_approval(setup: ProposalSetup) -> None:
    """Text under the same rule on the target was reviewed when it was merged."""
    proposal = propose_and_approve(setup, MoveDocument(file="guide.md", new_path="specs/guide.md"))
    other_proposal = propose_and_approve(setup, MoveDocument(file="notes.md", new_path="specs/notes.md"))
    setup.proposal_actions.merge(other_proposal.id, setup.person())
    setup.repo.commit({"specs/api.md": "# API\n\n## Calls\n\nMany.\n"})
    assert find_requirements(setup, proposal).blockers == ()
    assert setup.proposal_actions.merge(proposal.id, setup.person()).is_new


def test_reviewed_edit_of_same_governed_document_preserves_approval(setup: ProposalSetup) -> None:
    first_proposal = propose_and_approve(setup, MoveDocument(file="specs/api.md", new_path="specs/calls.md"))
    second_proposal = propose_and_approve(setup, SetMetadata(file="specs/api.md", metadata={"owner": "ada"}))
    setup.proposal_actions.merge(second_proposal.id, setup.person())
    assert find_requirements(setup, first_proposal).blockers == ()
    setup.proposal_actions.merge(first_proposal.id, setup.person())
    assert "owner: ada" in setup.show("specs/calls.md")


def test_text_reviewed_for_one_rule_is_not_reviewed_for_another(tmp_path: Path) -> None:
    """The review counts only for a rule that is not stricter."""
    strict_rule = '[[protect]]\npaths = ["core/**"]\napprovers = ["cyd"]\nchecks = []\n'
    setup = ProposalSetup(tmp_path / "docs", RULES + strict_rule)
    setup.person("cyd")
    move = MoveDocument(file="specs/api.md", new_path="core/api.md")
    draft = setup.proposal_actions.propose([move], AGENT_ACTOR, mode=BatchMode.ALL).proposal
    assert draft is not None
    setup.proposal_actions.submit(draft.id, AGENT_ACTOR)
    setup.approve(draft)
    first_proposal = setup.approve(draft, "cyd")
    assert find_requirements(setup, first_proposal).blockers == ()
    second_proposal = propose_and_approve(setup, SetMetadata(file="specs/api.md", metadata={"owner": "ada"}))
    setup.proposal_actions.merge(second_proposal.id, setup.person())
    codes = [blocker.code for blocker in find_requirements(setup, first_proposal).blockers]
    assert codes == [NEEDS_REFRESH, "NEEDS_APPROVAL", "NEEDS_APPROVAL"]  # for each of both rules


RUNBOOK_MANIFEST = '[metadata]\ntype = "runbook"\n'


def propose_and_approve_files(setup: ProposalSetup, files: dict[str, str | None]) -> Proposal:
    """Commit files with Git, and return an approved proposal with the commit; None removes a file."""
    proposal = setup.open()
    setup.proposal_actions.open_branch(proposal.id)
    folder = setup.repo.path.with_name(proposal.id)
    setup.repo.git("worktree", "add", "-q", str(folder), proposal.content.branch)
    for name in (name for name, text in files.items() if text is None):
        (folder / name).unlink()
    Repo(folder).commit({name: text for name, text in files.items() if text is not None})
    setup.repo.git("worktree", "remove", "--force", str(folder))
    setup.proposal_actions.submit(proposal.id, AGENT_ACTOR)
    return setup.approve(setup.proposal_actions.find(proposal.id))


def test_direct_edit_of_document_moved_below_new_manifest_voids_approval(
    setup: ProposalSetup,
) -> None:
    move_files: dict[str, str | None] = {"x/guide.md": setup.show("guide.md"), "guide.md": None}
    proposal = propose_and_approve_files(setup, {"x/.taxonomy.toml": RUNBOOK_MANIFEST, **move_files})
    setup.write("Unreviewed.", "guide.md", "use")
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())


def test_direct_edit_of_document_moved_under_new_rule_voids_approval(
    setup: ProposalSetup,
) -> None:
    move_files: dict[str, str | None] = {"core/guide.md": setup.show("guide.md"), "guide.md": None}
    rules = RULES + '[[protect]]\npaths = ["core/**"]\nchecks = []\n'
    proposal = propose_and_approve_files(setup, {"docyard.toml": rules, **move_files})
    setup.write("Unreviewed.", "guide.md", "use")
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())
