"""Two clones with rules: one moves, types or removes documents that the other edits, and both are merged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.repositories import Repo
from tests.workspace.sync.conftest import SyncPair
from tests.workspace.sync.test_diverged_branches import make_chooser
from tests.workspace.sync.test_gate import AGENT_ACTOR, PAGE_TEXT, RULES, TOKEN_AUTHOR, OtherClone
from workspace.edits.documents import MoveDocument
from workspace.edits.metadata import SetMetadata
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId
from workspace.merge.trees import FileConflict, Resolutions
from workspace.policy.protection import Protected
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import ReviewDecision
from workspace.sync.branches import SyncState
from workspace.sync.sync import ChooseResolutions, SyncResult, UnreviewedMerge, sync
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

pytestmark = pytest.mark.gate

BASE_FILES = {"docyard.toml": RULES, "free/a.md": PAGE_TEXT, "specs/b.md": PAGE_TEXT, "other.md": "# Other\n"}
OTHER_PAGE = "# Other words\n\n## Uno\n\nQuite other words are there.\n\n## Due\n\nAnd here too.\n"
RULES_WITH_FREE_FOLDER = RULES + '[[protect]]\npaths = ["free/**"]\nchecks = []\n'
PATH_RULES_ONLY = RULES.partition("[[protect]]\ntypes")[0]
NO_RULES = 'overwrite = "any"\n'
RUNBOOK_MANIFEST = '[metadata]\ntype = "runbook"\n'


class Clone(OtherClone):
    """A clone in which agents write directly, and a user reviews and merges."""

    def __init__(self, sync_pair: SyncPair, name: str) -> None:
        self.sync_pair = sync_pair
        sync_pair.remote_repo.git(
            "clone", "-q", str(sync_pair.remote_repo.path), str(sync_pair.folder / name)
        )
        self.repo = Repo(sync_pair.folder / name)
        self.repo.git("config", "user.name", name)
        self.repo.git("config", "user.email", f"{name}@example.org")

    @property
    def workspace(self) -> Workspace:
        return Workspace.open(self.repo.path, durable=False)

    def write(self, *operations: Operation) -> None:
        """Write directly, as an agent does, and check that the write is committed."""
        result = self.workspace.write(list(operations), mode=BatchMode.ALL, tool="t", client="c")
        assert [step.error for step in result.steps if step.error] == []
        assert result.is_committed

    def propose_and_merge(self, *operations: Operation) -> None:
        """Propose, approve and merge operations."""
        result = self.workspace.proposal_actions().propose(list(operations), AGENT_ACTOR, mode=BatchMode.ALL)
        assert result.proposal is not None
        self._merge(result.proposal.id)

    def propose_and_merge_files(self, files: dict[str, str]) -> None:
        """Approve and merge a proposal with files that a user committed."""
        proposal = self.workspace.proposal_actions().open("Files", "Why.", AGENT_ACTOR)
        self.workspace.proposal_actions().open_branch(proposal.id)
        folder = self.repo.path.with_name(f"{self.repo.path.name}-{proposal.id}")
        self.repo.git("worktree", "add", "-q", str(folder), proposal.content.branch)
        Repo(folder).commit(files)
        self.repo.git("worktree", "remove", "--force", str(folder))
        self._merge(proposal.id)

    def _merge(self, id: str) -> None:
        tokens = Tokens(self.workspace.git.common_dir)
        if tokens.key("bea") is None:
            tokens.add("bea", "Bea", "bea@example.org")
        known_token = tokens.find_owner("bea")
        assert known_token is not None
        person = Actor(TOKEN_AUTHOR, "proposals", "command line", known_token.person)
        proposal_actions = self.workspace.proposal_actions()
        proposal_actions.submit(id, AGENT_ACTOR)
        proposal_actions.review(id, person, ReviewDecision.APPROVE)
        assert proposal_actions.merge(id, person).is_new

    def sync(self, choose: ChooseResolutions | None = None) -> SyncResult:
        return sync(self.workspace, self.sync_pair.access, choose=choose)

    def apply_suggested_fix(self) -> SyncState:
        """Synchronize, and choose the reviewed side of each refused file, as the error's fix suggests."""
        choices: dict[str, ResolutionChoice] = {}

        def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
            resolutions: dict[str, dict[UnitId, Resolution]] = {}
            for path, item in conflicts:
                resolutions.setdefault(path, {})[item.unit] = Resolution(
                    choices.get(path, ResolutionChoice.OURS)
                )
            return resolutions

        for _ in range(3):
            try:
                return self.sync(choose if choices else None).state
            except UnreviewedMerge as error:
                for item in error.details["unreviewed"]:
                    choices[item["path"]] = (
                        ResolutionChoice.THEIRS if item["side"] == "ours" else ResolutionChoice.OURS
                    )
        return SyncState.DIVERGED

    def read_file(self, path: str) -> str:
        return self.repo.git("show", f"main:{path}", check=False)


def make_clones(sync_pair: SyncPair, files: dict[str, str]) -> tuple[Clone, Clone]:
    """Push files, and return two clones: one that synchronizes first, and one that merges."""
    sync_pair.push_as_other_user(files)
    return Clone(sync_pair, "first"), Clone(sync_pair, "second")


def build_append(file: str, slug: str = "one", text: str = "Unreviewed.") -> AppendContent:
    return AppendContent(file=file, slug=slug, content=text)


def test_two_documents_moved_to_one_path_add_no_direct_edit(file_sync_pair: SyncPair) -> None:
    files = {"docyard.toml": RULES, "free/f1.md": PAGE_TEXT, "specs/f2.md": OTHER_PAGE}
    first_clone, second_clone = make_clones(file_sync_pair, files)
    first_clone.propose_and_merge(MoveDocument(file="specs/f2.md", new_path="specs/p.md"))
    first_clone.write(build_append("free/f1.md"))
    first_clone.sync()
    second_clone.propose_and_merge(MoveDocument(file="free/f1.md", new_path="specs/p.md"))
    with pytest.raises(UnreviewedMerge):
        second_clone.sync(choose_for_units_and_paths(ResolutionChoice.OURS))
    assert "Unreviewed" not in second_clone.read_file("specs/p.md")


def choose_for_units_and_paths(choice: ResolutionChoice) -> ChooseResolutions:
    """Return a callback that resolves only unit and path conflicts; unreviewed changes stay refused."""

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {
            path: {conflict.unit: Resolution(choice)}
            for path, conflict in conflicts
            if conflict.unit.kind != "document"
        }

    return choose


def test_theirs_for_path_of_moved_document_needs_review(file_sync_pair: SyncPair) -> None:
    files = {"docyard.toml": RULES, "specs/b.md": PAGE_TEXT, "other.md": OTHER_PAGE}
    first_clone, second_clone = make_clones(file_sync_pair, files)
    first_clone.propose_and_merge(build_append("specs/b.md", text="Reviewed."))
    first_clone.repo.commit({"core/y.md": "# Y\n\nUnreviewed.\n"})
    first_clone.sync()
    second_clone.propose_and_merge_files(
        {"docyard.toml": RULES.replace('["specs/**"]', '["specs/**", "core/**"]')}
    )
    second_clone.propose_and_merge(MoveDocument(file="specs/b.md", new_path="core/y.md"))
    with pytest.raises(UnreviewedMerge):
        second_clone.sync(make_chooser(ResolutionChoice.THEIRS))
    assert "Unreviewed" not in second_clone.read_file("core/y.md")


def test_new_settings_content_is_refused_if_ours_has_no_rules(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, BASE_FILES)
    first_clone.propose_and_merge_files({"docyard.toml": RULES + "# more\n"})
    first_clone.sync()
    second_clone.propose_and_merge_files({"docyard.toml": NO_RULES})
    new_settings = RULES.replace("checks = []", 'checks = []\napprovers = ["mallory"]').encode()
    with pytest.raises(Protected):
        second_clone.sync(
            lambda conflicts: {
                path: {conflict.unit: Resolution(ResolutionChoice.CONTENT, new_settings)}
                for path, conflict in conflicts
            }
        )


def test_union_of_a_protected_text_is_refused(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, BASE_FILES)
    line = PAGE_TEXT.rstrip("\n").rpartition("\n")[2]
    for clone, text in ((first_clone, "Theirs."), (second_clone, "Ours.")):
        clone.propose_and_merge_files({"specs/b.md": PAGE_TEXT.replace(line, text)})
        if clone is first_clone:
            clone.sync()
    with pytest.raises(Protected):
        second_clone.sync(make_chooser(ResolutionChoice.UNION))
    assert second_clone.sync(make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE


def test_text_without_approval_is_refused_under_stricter_rule(file_sync_pair: SyncPair) -> None:
    weak_rules = f'{NO_RULES}[[protect]]\npaths = ["specs/**"]\napprovals = 0\nchecks = []\n'
    first_clone, second_clone = make_clones(
        file_sync_pair, {"docyard.toml": weak_rules, "specs/b.md": PAGE_TEXT}
    )
    strict_rules = weak_rules.replace("approvals = 0", 'approvals = 1\napprovers = ["ana"]')
    first_clone.propose_and_merge_files({"docyard.toml": strict_rules})
    first_clone.sync()
    second_clone.propose_and_merge(build_append("specs/b.md"))
    with pytest.raises(UnreviewedMerge):
        second_clone.sync()
    assert second_clone.apply_suggested_fix() is SyncState.UP_TO_DATE


def test_new_document_under_rule_added_in_remote_can_be_omitted(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, BASE_FILES)
    first_clone.propose_and_merge_files({"docyard.toml": RULES_WITH_FREE_FOLDER})
    first_clone.sync()
    second_clone.repo.commit({"free/n.md": "# N\n"})
    with pytest.raises(UnreviewedMerge):
        second_clone.sync()
    assert second_clone.apply_suggested_fix() is SyncState.UP_TO_DATE


def test_direct_move_under_rule_added_in_remote_can_be_omitted(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, BASE_FILES)
    first_clone.propose_and_merge_files({"docyard.toml": RULES_WITH_FREE_FOLDER})
    first_clone.sync()
    second_clone.write(MoveDocument(file="free/a.md", new_path="free/n.md"))
    with pytest.raises(UnreviewedMerge):
        second_clone.sync()
    assert second_clone.apply_suggested_fix() is SyncState.UP_TO_DATE
    assert (second_clone.read_file("free/a.md"), second_clone.read_file("free/n.md")) == (PAGE_TEXT, "")


def test_direct_type_under_rule_added_in_remote_can_be_omitted(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, {**BASE_FILES, "docyard.toml": PATH_RULES_ONLY})
    first_clone.propose_and_merge_files({"docyard.toml": RULES})
    first_clone.sync()
    second_clone.write(SetMetadata(file="free/a.md", metadata={"type": "runbook"}))
    assert second_clone.apply_suggested_fix() is SyncState.UP_TO_DATE
    assert second_clone.read_file("free/a.md") == PAGE_TEXT


def test_edit_under_our_manifest_and_their_rule_can_be_omitted(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, {**BASE_FILES, "docyard.toml": PATH_RULES_ONLY})
    second_clone.propose_and_merge_files({"free/.taxonomy.toml": RUNBOOK_MANIFEST})
    second_clone.write(build_append("free/a.md"))
    first_clone.propose_and_merge_files({"docyard.toml": RULES})
    first_clone.sync()
    assert second_clone.apply_suggested_fix() is SyncState.UP_TO_DATE
    assert second_clone.read_file("free/a.md") == PAGE_TEXT


@pytest.mark.parametrize("name", ["specs/x.md", "specs/X.md/inner.md"])
def test_reviewed_move_onto_reviewed_document_can_be_resolved(file_sync_pair: SyncPair, name: str) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, BASE_FILES)
    first_clone.propose_and_merge(MoveDocument(file="free/a.md", new_path="specs/X.md"))
    first_clone.sync()
    second_clone.propose_and_merge_files({name: "# x\n\nOurs.\n"})
    assert second_clone.sync().conflicts
    assert second_clone.sync(make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE


def test_unprotected_manifest_after_reviewed_rule_removal_is_merged(file_sync_pair: SyncPair) -> None:
    first_clone, second_clone = make_clones(file_sync_pair, BASE_FILES)
    first_clone.write(build_append("other.md", "_preamble", "Free."))
    first_clone.sync()
    second_clone.propose_and_merge_files({"docyard.toml": NO_RULES})
    second_clone.repo.commit({"free/.taxonomy.toml": '[metadata]\ntype = "note"\n'})
    assert second_clone.sync().state is SyncState.UP_TO_DATE


def test_two_unprotected_documents_moved_to_one_path_are_a_conflict(file_sync_pair: SyncPair) -> None:
    files = {"docyard.toml": NO_RULES, "free/f1.md": PAGE_TEXT, "free/f2.md": OTHER_PAGE}
    first_clone, second_clone = make_clones(file_sync_pair, files)
    first_clone.write(MoveDocument(file="free/f2.md", new_path="free/p.md"))
    first_clone.write(build_append("free/f1.md", text="Theirs."))
    first_clone.sync()
    second_clone.write(MoveDocument(file="free/f1.md", new_path="free/p.md"))
    assert second_clone.sync().conflicts
    assert second_clone.sync(make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "Theirs." in second_clone.read_file("free/p.md")
    assert second_clone.read_file("free/f2.md") == OTHER_PAGE
