"""An approval is void if a merge would put more text under a rule than was reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.proposals.actions.scene import AGENT, Scene
from workspace.edits import MoveDocument, MoveSection, Operation, SetMetadata, Undo
from workspace.errors import WorkspaceError
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.merge_gate import NEEDS_REFRESH, MergeRequirements
from workspace.proposals.approvals import VoidReason
from workspace.proposals.proposal import Proposal
from workspace.writing.plan import Mode

RULES = (
    'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'
    '[[protect]]\ntypes = ["runbook"]\nchecks = []\n'
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "docs", RULES)


def propose_and_approve(scene: Scene, *operations: Operation) -> Proposal:
    draft = scene.proposal_actions.propose(list(operations), AGENT, mode=Mode.ALL).proposal
    assert draft is not None
    scene.proposal_actions.submit(draft.id, AGENT)
    proposal = scene.approve(draft)
    assert find_requirements(scene, proposal).blockers == ()
    return proposal


def find_requirements(scene: Scene, proposal: Proposal) -> MergeRequirements:
    return scene.proposal_actions.find_merge_blockers(
        proposal, scene.workspace.proposal_reviews().preview(proposal)
    )


def check_not_merged(scene: Scene, proposal: Proposal) -> None:
    """Check that the proposal has blockers, and that its merge is refused."""
    head_before = scene.repo.head()
    assert find_requirements(scene, proposal).blockers != ()
    with pytest.raises(WorkspaceError):
        scene.proposal_actions.merge(proposal.id, scene.person())
    assert scene.repo.head() == head_before


def check_approval_is_void(scene: Scene, proposal: Proposal, path: str, text: str) -> None:
    """Check that the approval is void, the difference is shown, and a new approval allows the merge."""
    requirements = find_requirements(scene, proposal)
    assert [blocker.code for blocker in requirements.blockers] == [NEEDS_REFRESH, "NEEDS_APPROVAL"]
    assert path in requirements.blockers[0].message
    assert set(requirements.void_reasons.values()) == {VoidReason.UNSEEN}
    assert requirements.unreviewed is not None
    assert [document.path for document in requirements.unreviewed.documents] == [path]
    changes = [change for document in requirements.unreviewed.documents for change in document.sections]
    new_texts = [change.after.text for change in changes if change.after]
    assert any(text in new_text for new_text in new_texts)
    head_before = scene.repo.head()
    with pytest.raises(MergeBlocked):
        scene.proposal_actions.merge(proposal.id, scene.person())
    assert scene.repo.head() == head_before
    refreshed_proposal = scene.proposal_actions.refresh(proposal.id, AGENT).proposal
    assert [blocker.code for blocker in find_requirements(scene, refreshed_proposal).blockers] == [
        "NEEDS_APPROVAL"
    ]
    scene.approve(refreshed_proposal)
    scene.proposal_actions.merge(proposal.id, scene.person())
    assert text in scene.show(path)
    scene.check_sound()


def test_direct_edit_of_document_moved_under_rule_voids_approval(
    scene: Scene,
) -> None:
    proposal = propose_and_approve(scene, MoveDocument(file="guide.md", new_path="specs/guide.md"))
    scene.write("Unreviewed.", "guide.md", "use")
    check_approval_is_void(scene, proposal, "specs/guide.md", "Unreviewed.")


def test_direct_edit_of_document_with_new_governed_type_voids_approval(scene: Scene) -> None:
    proposal = propose_and_approve(scene, SetMetadata(file="guide.md", metadata={"type": "runbook"}))
    scene.write("Unreviewed.", "guide.md", "use")
    check_approval_is_void(scene, proposal, "guide.md", "Unreviewed.")


def test_direct_move_of_document_with_new_governed_type_voids_approval(scene: Scene) -> None:
    proposal = propose_and_approve(scene, SetMetadata(file="guide.md", metadata={"type": "runbook"}))
    scene.workspace.write(
        [MoveDocument(file="guide.md", new_path="manual.md")], mode=Mode.ALL, tool="t", client="c"
    )
    scene.write("Unreviewed.", "manual.md", "use")
    check_approval_is_void(scene, proposal, "manual.md", "Unreviewed.")


def test_direct_edit_of_section_moved_under_rule_blocks_merge(scene: Scene) -> None:
    move = MoveSection(file="guide.md", slug="use", to_file="specs/api.md")
    proposal = propose_and_approve(scene, move)
    scene.write("Unreviewed.", "guide.md", "use")
    check_not_merged(scene, proposal)


def test_undo_restoring_document_under_rule_requires_approval(scene: Scene) -> None:
    move_proposal = propose_and_approve(scene, MoveDocument(file="specs/api.md", new_path="api.md"))
    scene.proposal_actions.merge(move_proposal.id, scene.person())
    moving_commit = scene.repo.git("rev-parse", "main^2").strip()
    undo_proposal = propose_and_approve(scene, Undo(commit=moving_commit))
    scene.write("Unreviewed.", "api.md", "calls")
    check_approval_is_void(scene, undo_proposal, "specs/api.md", "Unreviewed.")


def test_criss_cross_merge_of_target_requires_approval(scene: Scene) -> None:
    """There are two merge bases: each side has merged the other's earlier commit."""
    proposal = propose_and_approve(scene, MoveDocument(file="guide.md", new_path="specs/guide.md"))
    assert proposal.tip is not None
    scene.repo.git("switch", "-q", proposal.content.branch)
    scene.repo.commit({"notes.md": "# Notes\n\nMore.\n"}, "On the proposal")
    scene.repo.git("switch", "-q", "main")
    scene.repo.commit({"other.md": "# Other\n"}, "On main")
    earlier_commit = scene.repo.head()
    scene.repo.git("merge", "-q", "--no-ff", "-m", "An earlier commit", f"{proposal.content.branch}~1")
    scene.repo.git("switch", "-q", proposal.content.branch)
    scene.repo.git("merge", "-q", "--no-ff", "-m", "Take in", earlier_commit)
    scene.repo.git("switch", "-q", "main")
    bases = scene.repo.git("merge-base", "--all", "main", proposal.content.branch).split()
    assert len(bases) == 2
    approved_proposal = scene.approve(scene.proposal_actions.find(proposal.id), "cyd")
    scene.repo.git("mv", "specs/guide.md", "guide.md")
    scene.repo.commit({}, "Move back with Git")
    scene.write("Unreviewed.", "guide.md", "use")
    check_not_merged(scene, approved_proposal)


def test_edit_of_other_governed_document_preserves_approval(scene: Scene) -> None:
    """Text under the same rule on the target was reviewed when it was merged."""
    proposal = propose_and_approve(scene, MoveDocument(file="guide.md", new_path="specs/guide.md"))
    other_proposal = propose_and_approve(scene, MoveDocument(file="notes.md", new_path="specs/notes.md"))
    scene.proposal_actions.merge(other_proposal.id, scene.person())
    scene.repo.commit({"specs/api.md": "# API\n\n## Calls\n\nMany.\n"})
    assert find_requirements(scene, proposal).blockers == ()
    assert scene.proposal_actions.merge(proposal.id, scene.person()).is_new


def test_reviewed_edit_of_same_governed_document_preserves_approval(scene: Scene) -> None:
    first_proposal = propose_and_approve(scene, MoveDocument(file="specs/api.md", new_path="specs/calls.md"))
    second_proposal = propose_and_approve(scene, SetMetadata(file="specs/api.md", metadata={"owner": "ada"}))
    scene.proposal_actions.merge(second_proposal.id, scene.person())
    assert find_requirements(scene, first_proposal).blockers == ()
    scene.proposal_actions.merge(first_proposal.id, scene.person())
    assert "owner: ada" in scene.show("specs/calls.md")


def test_text_reviewed_for_one_rule_is_not_reviewed_for_another(tmp_path: Path) -> None:
    """The review counts only for a rule that is not stricter."""
    strict_rule = '[[protect]]\npaths = ["core/**"]\napprovers = ["cyd"]\nchecks = []\n'
    scene = Scene(tmp_path / "docs", RULES + strict_rule)
    scene.person("cyd")
    move = MoveDocument(file="specs/api.md", new_path="core/api.md")
    draft = scene.proposal_actions.propose([move], AGENT, mode=Mode.ALL).proposal
    assert draft is not None
    scene.proposal_actions.submit(draft.id, AGENT)
    scene.approve(draft)
    first_proposal = scene.approve(draft, "cyd")
    assert find_requirements(scene, first_proposal).blockers == ()
    second_proposal = propose_and_approve(scene, SetMetadata(file="specs/api.md", metadata={"owner": "ada"}))
    scene.proposal_actions.merge(second_proposal.id, scene.person())
    codes = [blocker.code for blocker in find_requirements(scene, first_proposal).blockers]
    assert codes == [NEEDS_REFRESH, "NEEDS_APPROVAL", "NEEDS_APPROVAL"]  # for each of both rules


RUNBOOK_MANIFEST = '[metadata]\ntype = "runbook"\n'


def propose_and_approve_files(scene: Scene, files: dict[str, str | None]) -> Proposal:
    """Return an approved proposal whose commit a person made with Git; None removes a file."""
    proposal = scene.open()
    scene.proposal_actions.open_branch(proposal.id)
    folder = scene.repo.path.with_name(proposal.id)
    scene.repo.git("worktree", "add", "-q", str(folder), proposal.content.branch)
    for name in (name for name, text in files.items() if text is None):
        (folder / name).unlink()
    Repo(folder).commit({name: text for name, text in files.items() if text is not None})
    scene.repo.git("worktree", "remove", "--force", str(folder))
    scene.proposal_actions.submit(proposal.id, AGENT)
    return scene.approve(scene.proposal_actions.find(proposal.id))


def test_direct_edit_of_document_moved_below_new_manifest_voids_approval(
    scene: Scene,
) -> None:
    move_files: dict[str, str | None] = {"x/guide.md": scene.show("guide.md"), "guide.md": None}
    proposal = propose_and_approve_files(scene, {"x/.taxonomy.toml": RUNBOOK_MANIFEST, **move_files})
    scene.write("Unreviewed.", "guide.md", "use")
    with pytest.raises(MergeBlocked):
        scene.proposal_actions.merge(proposal.id, scene.person())


def test_direct_edit_of_document_moved_under_new_rule_voids_approval(
    scene: Scene,
) -> None:
    move_files: dict[str, str | None] = {"core/guide.md": scene.show("guide.md"), "guide.md": None}
    rules = RULES + '[[protect]]\npaths = ["core/**"]\nchecks = []\n'
    proposal = propose_and_approve_files(scene, {"docyard.toml": rules, **move_files})
    scene.write("Unreviewed.", "guide.md", "use")
    with pytest.raises(MergeBlocked):
        scene.proposal_actions.merge(proposal.id, scene.person())
