"""Two clones with rules: one moves, types or removes documents that the other writes, and both are merged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.repositories import Repo
from tests.workspace.sync.conftest import Site
from tests.workspace.sync.test_gate import AGENT, BEA, PAGE, RULES, Elsewhere
from tests.workspace.sync.test_joining import all_for
from workspace.edits import AppendContent, MoveDocument, Operation, SetMetadata
from workspace.merge.conflict import Resolution, ResolutionChoice, UnitId
from workspace.merge.trees import FileConflict, Resolutions
from workspace.policy.protection import Protected
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import ReviewDecision
from workspace.sync.branches import SyncState
from workspace.sync.sync import ChooseResolutions, SyncResult, UnreviewedMerge, sync
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

pytestmark = pytest.mark.gate

BASE = {"docyard.toml": RULES, "free/a.md": PAGE, "specs/b.md": PAGE, "other.md": "# Other\n"}
OTHER_PAGE = "# Other words\n\n## Uno\n\nQuite other words are there.\n\n## Due\n\nAnd here too.\n"
FREE_TOO = RULES + '[[protect]]\npaths = ["free/**"]\nchecks = []\n'
PATHS_ONLY = RULES.partition("[[protect]]\ntypes")[0]
NO_RULES = 'overwrite = "any"\n'
RUNBOOK = '[metadata]\ntype = "runbook"\n'


class Clone(Elsewhere):
    """A clone in which agents write directly, and a user reviews and merges."""

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        site.there.git("clone", "-q", str(site.there.path), str(site.folder / name))
        self.repo = Repo(site.folder / name)
        self.repo.git("config", "user.name", name)
        self.repo.git("config", "user.email", f"{name}@example.org")

    @property
    def workspace(self) -> Workspace:
        return Workspace.open(self.repo.path, durable=False)

    def write(self, *operations: Operation) -> None:
        """Write directly, as an agent does."""
        written = self.workspace.write(list(operations), mode=Mode.ALL, tool="t", client="c")
        assert [step.error for step in written.steps if step.error] == []
        assert written.is_committed

    def review(self, *operations: Operation) -> None:
        """Propose, approve and merge operations."""
        done = self.workspace.proposal_actions().propose(list(operations), AGENT, mode=Mode.ALL)
        assert done.proposal is not None
        self._merge(done.proposal.id)

    def review_files(self, files: dict[str, str]) -> None:
        """Approve and merge a proposal with files that a user committed."""
        proposal = self.workspace.proposal_actions().open("Files", "Why.", AGENT)
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
        known = tokens.find_owner("bea")
        assert known is not None
        person = Actor(BEA, "proposals", "command line", known.person)
        proposal_actions = self.workspace.proposal_actions()
        proposal_actions.submit(id, AGENT)
        proposal_actions.review(id, person, ReviewDecision.APPROVE)
        assert proposal_actions.merge(id, person).is_new

    def sync(self, choose: ChooseResolutions | None = None) -> SyncResult:
        return sync(self.workspace, self.site.access, choose=choose)

    def follow_advice(self) -> SyncState:
        """Synchronize, and choose the reviewed side of each refused file, as the error's fix suggests."""
        reviewed: dict[str, ResolutionChoice] = {}

        def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
            found: dict[str, dict[UnitId, Resolution]] = {}
            for path, one in conflicts:
                found.setdefault(path, {})[one.unit] = Resolution(reviewed.get(path, ResolutionChoice.OURS))
            return found

        for _ in range(3):
            try:
                return self.sync(choose if reviewed else None).state
            except UnreviewedMerge as error:
                for one in error.details["unreviewed"]:
                    reviewed[one["path"]] = (
                        ResolutionChoice.THEIRS if one["side"] == "ours" else ResolutionChoice.OURS
                    )
        return SyncState.DIVERGED

    def show(self, path: str) -> str:
        return self.repo.git("show", f"main:{path}", check=False)


def clones(site: Site, files: dict[str, str]) -> tuple[Clone, Clone]:
    """Return the clone that synchronizes first, and the one in which the merge is made."""
    site.elsewhere(files)
    return Clone(site, "first"), Clone(site, "second")


def edit(file: str, slug: str = "one", text: str = "Unreviewed.") -> AppendContent:
    return AppendContent(file=file, slug=slug, content=text)


def test_two_documents_moved_to_one_path_bring_no_direct_edit(folder_site: Site) -> None:
    files = {"docyard.toml": RULES, "free/f1.md": PAGE, "specs/f2.md": OTHER_PAGE}
    first, second = clones(folder_site, files)
    first.review(MoveDocument(file="specs/f2.md", new_path="specs/p.md"))
    first.write(edit("free/f1.md"))
    first.sync()
    second.review(MoveDocument(file="free/f1.md", new_path="specs/p.md"))
    with pytest.raises(UnreviewedMerge):
        second.sync(all_for_places(ResolutionChoice.OURS))
    assert "Unreviewed" not in second.show("specs/p.md")


def all_for_places(choice: ResolutionChoice) -> ChooseResolutions:
    """Return a callback that resolves only unit and path conflicts; unreviewed changes stay refused."""

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {
            path: {one.unit: Resolution(choice)} for path, one in conflicts if one.unit.kind != "document"
        }

    return choose


def test_theirs_for_path_of_moved_document_needs_review(folder_site: Site) -> None:
    files = {"docyard.toml": RULES, "specs/b.md": PAGE, "other.md": OTHER_PAGE}
    first, second = clones(folder_site, files)
    first.review(edit("specs/b.md", text="Reviewed."))
    first.repo.commit({"core/y.md": "# Y\n\nUnreviewed.\n"})
    first.sync()
    second.review_files({"docyard.toml": RULES.replace('["specs/**"]', '["specs/**", "core/**"]')})
    second.review(MoveDocument(file="specs/b.md", new_path="core/y.md"))
    with pytest.raises(UnreviewedMerge):
        second.sync(all_for(ResolutionChoice.THEIRS))
    assert "Unreviewed" not in second.show("core/y.md")


def test_new_settings_content_is_refused_if_ours_has_no_rules(folder_site: Site) -> None:
    first, second = clones(folder_site, BASE)
    first.review_files({"docyard.toml": RULES + "# more\n"})
    first.sync()
    second.review_files({"docyard.toml": NO_RULES})
    new = RULES.replace("checks = []", 'checks = []\napprovers = ["mallory"]').encode()
    with pytest.raises(Protected):
        second.sync(
            lambda found: {path: {one.unit: Resolution(ResolutionChoice.CONTENT, new)} for path, one in found}
        )


def test_text_without_approval_is_refused_under_stricter_rule(folder_site: Site) -> None:
    weak = f'{NO_RULES}[[protect]]\npaths = ["specs/**"]\napprovals = 0\nchecks = []\n'
    first, second = clones(folder_site, {"docyard.toml": weak, "specs/b.md": PAGE})
    strict = weak.replace("approvals = 0", 'approvals = 1\napprovers = ["ana"]')
    first.review_files({"docyard.toml": strict})
    first.sync()
    second.review(edit("specs/b.md"))
    with pytest.raises(UnreviewedMerge):
        second.sync()
    assert second.follow_advice() is SyncState.UP_TO_DATE


def test_new_document_under_rule_added_in_remote_is_omittable(folder_site: Site) -> None:
    first, second = clones(folder_site, BASE)
    first.review_files({"docyard.toml": FREE_TOO})
    first.sync()
    second.repo.commit({"free/n.md": "# N\n"})
    with pytest.raises(UnreviewedMerge):
        second.sync()
    assert second.follow_advice() is SyncState.UP_TO_DATE


def test_direct_move_under_rule_added_in_remote_is_omittable(folder_site: Site) -> None:
    first, second = clones(folder_site, BASE)
    first.review_files({"docyard.toml": FREE_TOO})
    first.sync()
    second.write(MoveDocument(file="free/a.md", new_path="free/n.md"))
    with pytest.raises(UnreviewedMerge):
        second.sync()
    assert second.follow_advice() is SyncState.UP_TO_DATE
    assert (second.show("free/a.md"), second.show("free/n.md")) == (PAGE, "")


def test_direct_type_under_rule_added_in_remote_is_omittable(folder_site: Site) -> None:
    first, second = clones(folder_site, {**BASE, "docyard.toml": PATHS_ONLY})
    first.review_files({"docyard.toml": RULES})
    first.sync()
    second.write(SetMetadata(file="free/a.md", metadata={"type": "runbook"}))
    assert second.follow_advice() is SyncState.UP_TO_DATE
    assert second.show("free/a.md") == PAGE


def test_edit_under_our_manifest_and_their_rule_is_omittable(folder_site: Site) -> None:
    first, second = clones(folder_site, {**BASE, "docyard.toml": PATHS_ONLY})
    second.review_files({"free/.taxonomy.toml": RUNBOOK})
    second.write(edit("free/a.md"))
    first.review_files({"docyard.toml": RULES})
    first.sync()
    assert second.follow_advice() is SyncState.UP_TO_DATE
    assert second.show("free/a.md") == PAGE


@pytest.mark.parametrize("name", ["specs/x.md", "specs/X.md/inner.md"])
def test_reviewed_move_onto_reviewed_document_can_be_resolved(folder_site: Site, name: str) -> None:
    first, second = clones(folder_site, BASE)
    first.review(MoveDocument(file="free/a.md", new_path="specs/X.md"))
    first.sync()
    second.review_files({name: "# x\n\nOurs.\n"})
    assert second.sync().conflicts
    assert second.sync(all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE


def test_free_manifest_after_reviewed_rule_removal_is_merged(folder_site: Site) -> None:
    first, second = clones(folder_site, BASE)
    first.write(edit("other.md", "_preamble", "Free."))
    first.sync()
    second.review_files({"docyard.toml": NO_RULES})
    second.repo.commit({"free/.taxonomy.toml": '[metadata]\ntype = "note"\n'})
    assert second.sync().state is SyncState.UP_TO_DATE


def test_two_free_documents_moved_to_one_path_are_a_conflict(folder_site: Site) -> None:
    files = {"docyard.toml": NO_RULES, "free/f1.md": PAGE, "free/f2.md": OTHER_PAGE}
    first, second = clones(folder_site, files)
    first.write(MoveDocument(file="free/f2.md", new_path="free/p.md"))
    first.write(edit("free/f1.md", text="Theirs."))
    first.sync()
    second.write(MoveDocument(file="free/f1.md", new_path="free/p.md"))
    assert second.sync().conflicts
    assert second.sync(all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "Theirs." in second.show("free/p.md")
    assert second.show("free/f2.md") == OTHER_PAGE
