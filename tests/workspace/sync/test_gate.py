"""A merge by a synchronization adds no unreviewed text to documents that a rule governs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.repositories import Repo
from tests.workspace.sync.conftest import SyncPair
from tests.workspace.sync.test_diverged_branches import append_text, make_chooser
from workspace.edits.documents import MoveDocument, RemoveDocument
from workspace.edits.metadata import SetMetadata
from workspace.edits.text import AppendContent
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import PATH_UNIT, FileConflict, Resolutions
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.sync.branches import SyncState
from workspace.sync.conflicts import SyncConflict
from workspace.sync.sync import SyncResult, UnreviewedMerge, sync
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

pytestmark = pytest.mark.gate

RULES = (
    'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'
    '[[protect]]\ntypes = ["runbook"]\nchecks = []\n'
)
PAGE_TEXT = "# A\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n"
TOKEN_AUTHOR = Author("Bea", "bea@example.org", IdentitySource.TOKEN, "bea")
AGENT_ACTOR = Actor(
    Author("Ada", "ada@example.org", IdentitySource.CLIENT, "an agent"), "update_proposal", "an agent"
)


class OtherClone:
    """Another clone of the same remote, in which a user with a token reviews and merges."""

    def __init__(self, sync_pair: SyncPair) -> None:
        self.sync_pair = sync_pair
        sync_pair.remote_repo.git(
            "clone", "-q", str(sync_pair.remote_repo.path), str(sync_pair.folder / "elsewhere")
        )
        self.repo = Repo(sync_pair.folder / "elsewhere")
        self.repo.git("config", "user.name", "Bo")
        self.repo.git("config", "user.email", "bo@example.org")

    def sync(self) -> SyncResult:
        return sync(Workspace.open(self.repo.path, durable=False), self.sync_pair.access)

    def merge_reviewed(self, *operations: object) -> str:
        """Propose, approve, merge and push operations as a user; return the merge commit."""
        workspace = Workspace.open(self.repo.path, durable=False)
        tokens = Tokens(workspace.git.common_dir)
        if tokens.key("bea") is None:
            tokens.add("bea", "Bea", "bea@example.org")
        known_token = tokens.find_owner("bea")
        assert known_token is not None
        person = Actor(TOKEN_AUTHOR, "proposals", "command line", known_token.person)
        proposal_actions = workspace.proposal_actions()
        result = proposal_actions.propose(list(operations), AGENT_ACTOR, mode=BatchMode.ALL)  # type: ignore[arg-type]
        assert result.proposal is not None
        id = proposal_actions.submit(result.proposal.id, AGENT_ACTOR).proposal.id
        proposal_actions.review(id, person, ReviewDecision.APPROVE)
        commit = proposal_actions.merge(id, person).commit
        self.sync()
        assert commit is not None
        return commit


@pytest.fixture
def sync_pair_and_clone(file_sync_pair: SyncPair) -> tuple[SyncPair, OtherClone]:
    file_sync_pair.push_as_other_user(
        {"docyard.toml": RULES, "free/a.md": PAGE_TEXT, "specs/b.md": PAGE_TEXT, "other.md": "# Other\n"}
    )
    file_sync_pair.sync()
    return file_sync_pair, OtherClone(file_sync_pair)


def open_local(sync_pair: SyncPair) -> Workspace:
    return Workspace.open(sync_pair.local_repo.path, durable=False)


def make_move_into_specs() -> MoveDocument:
    return MoveDocument(file="free/a.md", new_path="specs/a.md")


def test_direct_edit_of_document_moved_under_rule_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    their_commit = other_clone.merge_reviewed(make_move_into_specs())
    assert append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n").is_committed
    our_commit = sync_pair.local_repo.head()
    for _ in range(2):
        with pytest.raises(UnreviewedMerge) as error_info:
            sync_pair.sync()
        assert "specs/a.md is protected by rule 1" in error_info.value.message
        assert "free/a.md" in error_info.value.message
        assert error_info.value.details["unreviewed"] == [
            {"path": "specs/a.md", "source": "free/a.md", "rule": 1, "side": "ours"}
        ]
    assert (sync_pair.local_repo.head(), sync_pair.read_remote_tip()) == (our_commit, their_commit)
    assert "Unreviewed." in (sync_pair.local_repo.path / "free/a.md").read_text()
    assert append_text(
        open_local(sync_pair), "other.md", "Free.\n"
    ).is_committed  # other documents can be written meanwhile


def test_reviewed_side_is_chosen_and_rest_merged(sync_pair_and_clone: tuple[SyncPair, OtherClone]) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(make_move_into_specs())
    append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n")
    append_text(open_local(sync_pair), "other.md", "Free.\n")
    with pytest.raises(UnreviewedMerge):  # the unreviewed side cannot be chosen
        sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS))
    result = sync_pair.sync(choose=make_chooser(ResolutionChoice.THEIRS))
    assert (result.state, sync_pair.read_remote_tip()) == (SyncState.UP_TO_DATE, sync_pair.local_repo.head())
    assert (sync_pair.local_repo.path / "specs/a.md").read_text() == PAGE_TEXT
    assert not (sync_pair.local_repo.path / "free/a.md").exists()
    assert "Free." in (sync_pair.local_repo.path / "other.md").read_text()
    assert "Unreviewed." in sync_pair.local_repo.git("log", "-p", "--first-parent", "-3")
    assert sync_pair.local_repo.status() == ""


def test_direct_edit_of_document_given_governed_type_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(SetMetadata(file="free/a.md", metadata={"type": "runbook"}))
    append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge, match="rule 2"):
        sync_pair.sync()


def test_direct_edit_under_rule_added_in_remote_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, _ = sync_pair_and_clone
    append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n")
    sync_pair.push_as_other_user({"docyard.toml": RULES + '[[protect]]\npaths = ["free/**"]\n'})
    with pytest.raises(UnreviewedMerge, match="rule 3"):
        sync_pair.sync()


def test_direct_removal_of_document_moved_under_rule_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(make_move_into_specs())
    sync_pair.local_repo.git("rm", "-q", "free/a.md")
    sync_pair.local_repo.git("commit", "-qm", "Remove")
    assert sync_pair.sync().conflicts
    with pytest.raises(UnreviewedMerge):
        sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS))
    assert sync_pair.sync(choose=make_chooser(ResolutionChoice.THEIRS)).state is SyncState.UP_TO_DATE
    assert (sync_pair.local_repo.path / "specs/a.md").read_text() == PAGE_TEXT


def test_remote_direct_edit_of_locally_moved_document_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n")
    sync_pair.sync()  # the remote has the commit, but the other clone does not
    their_commit = sync_pair.read_remote_tip()
    with pytest.raises(UnreviewedMerge) as error_info:
        other_clone.merge_reviewed(make_move_into_specs())
    assert error_info.value.details["unreviewed"][0]["side"] == "theirs"
    assert sync_pair.read_remote_tip() == their_commit
    other_workspace = Workspace.open(other_clone.repo.path, durable=False)
    with pytest.raises(UnreviewedMerge):
        sync(other_workspace, sync_pair.access, choose=make_chooser(ResolutionChoice.THEIRS))
    assert (
        sync(other_workspace, sync_pair.access, choose=make_chooser(ResolutionChoice.OURS)).state
        is SyncState.UP_TO_DATE
    )
    assert other_clone.repo.git("show", "main:specs/a.md") == PAGE_TEXT


def test_changes_reviewed_on_both_sides_are_merged(sync_pair_and_clone: tuple[SyncPair, OtherClone]) -> None:
    """Edits, moves and removed types that passed the gate of their own side are merged."""
    sync_pair, other_clone = sync_pair_and_clone
    local_clone = OtherClone.__new__(OtherClone)
    local_clone.sync_pair, local_clone.repo = sync_pair, sync_pair.local_repo
    other_clone.merge_reviewed(
        AppendContent(file="specs/b.md", slug="one", content="Theirs."),
        SetMetadata(file="free/a.md", metadata={"type": "runbook"}),
    )
    sync_pair.sync()
    other_clone.merge_reviewed(AppendContent(file="specs/b.md", slug="one", content="More of theirs."))
    local_clone.merge_reviewed(
        AppendContent(file="specs/b.md", slug="two", content="Ours."),
        SetMetadata(file="free/a.md", metadata={"type": None}),
        MoveDocument(file="specs/b.md", new_path="specs/c.md"),
    )
    assert (other_clone.sync().state, sync_pair.sync().state) == (SyncState.UP_TO_DATE, SyncState.UP_TO_DATE)
    text = (sync_pair.local_repo.path / "specs/c.md").read_text()
    assert all(words in text for words in ("Theirs.", "More of theirs.", "Ours."))
    assert "runbook" not in (sync_pair.local_repo.path / "free/a.md").read_text()


def test_unreviewed_document_stays_at_path_of_chosen_side(file_sync_pair: SyncPair) -> None:
    """One side moves a document, the other gives it a type: a rule applies only to both together."""
    rule = '[[protect]]\npaths = ["specs/**"]\ntypes = ["runbook"]\n'
    file_sync_pair.push_as_other_user({"docyard.toml": rule, "free/a.md": PAGE_TEXT})
    file_sync_pair.sync()
    file_sync_pair.remote_repo.git(
        "clone", "-q", str(file_sync_pair.remote_repo.path), str(file_sync_pair.folder / "mover")
    )
    mover = Repo(file_sync_pair.folder / "mover")
    mover.git("config", "user.name", "Bo")
    mover.git("config", "user.email", "bo@example.org")
    mover.write({"specs/x.md": "# X\n"})
    mover.git("mv", "free/a.md", "specs/a.md")
    mover.commit({}, "Move")
    mover.git("push", "-q")
    open_local(file_sync_pair).write(
        [SetMetadata(file="free/a.md", metadata={"type": "runbook"})],
        mode=BatchMode.ALL,
        tool="t",
        client="c",
    )
    with pytest.raises(UnreviewedMerge):
        file_sync_pair.sync()
    assert file_sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "runbook" in (file_sync_pair.local_repo.path / "free/a.md").read_text()
    assert not (file_sync_pair.local_repo.path / "specs/a.md").exists()


RUNBOOK_MANIFEST = '[metadata]\ntype = "runbook"\n'
TYPED_PAGE = "---\ntype: runbook\n---\n\n" + PAGE_TEXT


def test_edit_of_document_retyped_by_manifest_blocks_merge(
    file_sync_pair: SyncPair,
) -> None:
    file_sync_pair.push_as_other_user({"docyard.toml": RULES, "free/a.md": TYPED_PAGE})
    file_sync_pair.sync()
    file_sync_pair.push_as_other_user({"free/.taxonomy.toml": RUNBOOK_MANIFEST})
    file_sync_pair.local_repo.commit({"free/a.md": PAGE_TEXT}, "Remove the type as a person")
    append_text(open_local(file_sync_pair), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge, match="rule 2"):
        file_sync_pair.sync()


def test_edit_under_their_manifest_and_our_rule_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    paths_only = RULES.partition("[[protect]]\ntypes")[0]
    sync_pair.push_as_other_user({"docyard.toml": paths_only})
    sync_pair.sync()
    other_clone.sync()
    sync_pair.local_repo.commit({"docyard.toml": RULES}, "A person adds the rule for runbooks")
    sync_pair.push_as_other_user({"free/.taxonomy.toml": RUNBOOK_MANIFEST})
    other_clone.sync()
    append_text(Workspace.open(other_clone.repo.path, durable=False), "free/a.md", "Unreviewed.\n")
    other_clone.sync()
    with pytest.raises(UnreviewedMerge, match=r"free/a\.md"):
        sync_pair.sync()


def test_edit_of_document_typed_by_two_manifests_blocks_merge(file_sync_pair: SyncPair) -> None:
    """Theirs adds the top manifest, ours removes the nearer one: neither side alone sets the type."""
    file_sync_pair.push_as_other_user(
        {"docyard.toml": RULES, "free/a.md": PAGE_TEXT, "free/.taxonomy.toml": '[metadata]\ntype = "note"\n'}
    )
    file_sync_pair.sync()
    file_sync_pair.push_as_other_user({".taxonomy.toml": RUNBOOK_MANIFEST})
    file_sync_pair.local_repo.git("rm", "-q", "free/.taxonomy.toml")
    file_sync_pair.local_repo.commit({}, "A person removes the manifest")
    append_text(open_local(file_sync_pair), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge, match=r"free/a\.md"):
        file_sync_pair.sync()


def test_unprotected_edit_after_remote_manifest_removal_is_merged(file_sync_pair: SyncPair) -> None:
    file_sync_pair.push_as_other_user(
        {
            "docyard.toml": RULES,
            "free/a.md": PAGE_TEXT,
            "free/.taxonomy.toml": RUNBOOK_MANIFEST,
            "o.md": "# O\n",
        }
    )
    file_sync_pair.sync()
    other_clone = OtherClone(file_sync_pair)
    other_clone.repo.git("rm", "-q", "free/.taxonomy.toml")
    other_clone.repo.commit({}, "A person removes the manifest")
    append_text(Workspace.open(other_clone.repo.path, durable=False), "free/a.md", "Free.\n")
    other_clone.sync()
    append_text(open_local(file_sync_pair), "o.md", "Free.\n")
    assert file_sync_pair.sync().state is SyncState.UP_TO_DATE


def test_remote_direct_edit_under_locally_added_rule_blocks_merge(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    sync_pair.local_repo.commit(
        {"docyard.toml": RULES + '[[protect]]\npaths = ["free/**"]\n'}, "A person adds a rule"
    )
    append_text(Workspace.open(other_clone.repo.path, durable=False), "free/a.md", "Unreviewed.\n")
    other_clone.sync()
    with pytest.raises(UnreviewedMerge, match="rule 3"):
        sync_pair.sync()


def test_remote_edit_without_rules_blocks_merge_with_rules(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.repo.commit({"docyard.toml": 'overwrite = "any"\n'}, "A person removes the rules")
    append_text(Workspace.open(other_clone.repo.path, durable=False), "specs/b.md", "Unreviewed.\n")
    other_clone.sync()
    sync_pair.local_repo.commit({"docyard.toml": RULES + "# More.\n"}, "Edit the rules as a person")
    assert sync_pair.sync().conflicts

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {
            "docyard.toml": {
                conflict.unit: Resolution(ResolutionChoice.OURS) for path, conflict in conflicts[:1]
            }
        }

    with pytest.raises(UnreviewedMerge, match=r"specs/b\.md"):
        sync_pair.sync(choose=choose)
    assert sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "Unreviewed." not in sync_pair.local_repo.git("show", "main:specs/b.md")


def test_direct_removal_of_untyped_document_cannot_be_chosen(file_sync_pair: SyncPair) -> None:
    file_sync_pair.push_as_other_user({"docyard.toml": RULES, "free/a.md": TYPED_PAGE})
    file_sync_pair.sync()
    file_sync_pair.push_as_other_user({"free/a.md": TYPED_PAGE + "\nReviewed there.\n"})
    file_sync_pair.local_repo.commit({"free/a.md": PAGE_TEXT}, "Remove the type as a person")
    open_local(file_sync_pair).write(
        [RemoveDocument(path="free/a.md")], mode=BatchMode.ALL, tool="t", client="c"
    )
    assert file_sync_pair.sync().conflicts
    with pytest.raises(UnreviewedMerge):
        file_sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS))


def merge_reviewed_locally(sync_pair: SyncPair, *operations: object) -> None:
    """Propose, approve and merge in the local clone, without a push."""
    local_clone = OtherClone.__new__(OtherClone)
    local_clone.sync_pair, local_clone.repo = sync_pair, sync_pair.local_repo
    local_clone.sync = lambda: None  # type: ignore[assignment,method-assign,return-value]
    local_clone.merge_reviewed(*operations)


@pytest.mark.parametrize("choice", [ResolutionChoice.OURS, ResolutionChoice.THEIRS])
def test_path_of_governed_document_moved_twice_can_be_resolved(
    sync_pair_and_clone: tuple[SyncPair, OtherClone], choice: ResolutionChoice
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(MoveDocument(file="specs/b.md", new_path="specs/x.md"))
    merge_reviewed_locally(sync_pair, MoveDocument(file="specs/b.md", new_path="specs/y.md"))
    assert sync_pair.sync().conflicts
    assert sync_pair.sync(choose=make_chooser(choice)).state is SyncState.UP_TO_DATE
    path, other_path = (
        ("specs/y.md", "specs/x.md") if choice is ResolutionChoice.OURS else ("specs/x.md", "specs/y.md")
    )
    assert (sync_pair.local_repo.path / path).exists()
    assert not (sync_pair.local_repo.path / other_path).exists()


def test_path_conflict_is_resolved_for_ours_if_path_occupied(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    """Theirs moved a document onto the path of our document, which stays, so their document is not moved."""
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(MoveDocument(file="specs/b.md", new_path="free/z.md"))
    sync_pair.local_repo.commit({"free/z.md": "# Z\n\nQuite another.\n"})
    assert sync_pair.sync().conflicts
    assert sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "Quite another." in (sync_pair.local_repo.path / "free/z.md").read_text()


def test_omitted_duplicate_name_is_not_an_unreviewed_change(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, _ = sync_pair_and_clone
    sync_pair.push_as_other_user({"specs/X.md": "# X\n\nTheirs.\n"})
    sync_pair.local_repo.commit({"specs/x.md": "# x\n\nOurs.\n"})
    assert sync_pair.sync().conflicts
    assert sync_pair.sync(choose=make_chooser(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE


def test_reviewed_edit_is_merged_under_reworded_remote_rule(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, _ = sync_pair_and_clone
    sync_pair.push_as_other_user({"docyard.toml": RULES.replace('["specs/**"]', '["specs/**", "core/**"]')})
    merge_reviewed_locally(sync_pair, AppendContent(file="specs/b.md", slug="one", content="Reviewed."))
    assert sync_pair.sync().state is SyncState.UP_TO_DATE


def test_unprotected_edit_is_merged_after_local_rule_removal(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, _ = sync_pair_and_clone
    sync_pair.push_as_other_user({"other.md": "# Other\n\nMore.\n"})
    sync_pair.local_repo.commit({"docyard.toml": 'overwrite = "any"\n[[protect]]\ntypes = ["runbook"]\n'})
    append_text(open_local(sync_pair), "specs/b.md", "Free by now.\n")
    assert sync_pair.sync().state is SyncState.UP_TO_DATE  # after the merge, no rule governs the document


def test_chosen_side_creates_no_duplicate_name(sync_pair_and_clone: tuple[SyncPair, OtherClone]) -> None:
    sync_pair, _ = sync_pair_and_clone
    sync_pair.push_as_other_user({"specs/X.md": "# X\n\nTheirs.\n"})
    sync_pair.local_repo.commit({"specs/x.md": "# x\n\nOurs.\n"})

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {
            path: {
                conflict.unit: Resolution(
                    ResolutionChoice.OURS if conflict.unit == PATH_UNIT else ResolutionChoice.THEIRS
                )
            }
            for path, conflict in conflicts
        }

    sync_pair.sync(choose=choose)
    names = sync_pair.local_repo.git("ls-tree", "-r", "--name-only", "main").split()
    assert len([name for name in names if name.lower() == "specs/x.md"]) == 1


def test_write_between_refusal_and_choice_is_refused(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(make_move_into_specs())
    append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge):
        sync_pair.sync()
    with pytest.raises(SyncConflict):
        append_text(open_local(sync_pair), "free/a.md", "More.\n")
    assert append_text(open_local(sync_pair), "other.md", "Free.\n").is_committed


def test_choice_is_requested_again_after_versions_change(
    sync_pair_and_clone: tuple[SyncPair, OtherClone],
) -> None:
    sync_pair, other_clone = sync_pair_and_clone
    other_clone.merge_reviewed(make_move_into_specs())
    append_text(open_local(sync_pair), "free/a.md", "Unreviewed.\n")
    choice_requests = []

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        if not choice_requests:
            sync_pair.local_repo.commit(
                {"free/a.md": PAGE_TEXT + "\nBy hand meanwhile.\n"}, "A person's commit"
            )
        choice_requests.append([conflict.ours for _, conflict in conflicts])
        return make_chooser(ResolutionChoice.THEIRS)(conflicts)

    sync_pair.sync(choose=choose)
    assert len(choice_requests) == 2
