"""A merge by a synchronization brings no unreviewed text under a rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.repositories import Repo
from tests.workspace.sync.conftest import Site
from tests.workspace.sync.test_joining import all_for, append
from workspace.edits import AppendContent, MoveDocument, RemoveDocument, SetMetadata
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import PATH_UNIT, FileConflict, Resolutions
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy, ReviewDecision
from workspace.sync.branches import SyncState
from workspace.sync.conflicts import SyncConflict
from workspace.sync.sync import SyncResult, UnreviewedMerge, sync
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

pytestmark = pytest.mark.gate

RULES = (
    'overwrite = "any"\n[[protect]]\npaths = ["specs/**"]\nchecks = []\n'
    '[[protect]]\ntypes = ["runbook"]\nchecks = []\n'
)
PAGE = "# A\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n"
BEA = Author("Bea", "bea@example.org", KnownBy.TOKEN, "bea")
AGENT = Actor(Author("Ada", "ada@example.org", KnownBy.CLIENT, "an agent"), "update_proposal", "an agent")


class Elsewhere:
    """Another clone of the same remote, in which a user with a token reviews and merges."""

    def __init__(self, site: Site) -> None:
        self.site = site
        site.there.git("clone", "-q", str(site.there.path), str(site.folder / "elsewhere"))
        self.repo = Repo(site.folder / "elsewhere")
        self.repo.git("config", "user.name", "Bo")
        self.repo.git("config", "user.email", "bo@example.org")

    def sync(self) -> SyncResult:
        return sync(Workspace.open(self.repo.path, durable=False), self.site.access)

    def merge_reviewed(self, *operations: object) -> str:
        """Propose, approve, merge and push operations as a user; return the merge commit."""
        workspace = Workspace.open(self.repo.path, durable=False)
        tokens = Tokens(workspace.git.common_dir)
        if tokens.key("bea") is None:
            tokens.add("bea", "Bea", "bea@example.org")
        known = tokens.find_owner("bea")
        assert known is not None
        person = Actor(BEA, "proposals", "command line", known.person)
        proposal_actions = workspace.proposal_actions()
        proposed = proposal_actions.propose(list(operations), AGENT, mode=Mode.ALL)  # type: ignore[arg-type]
        assert proposed.proposal is not None
        id = proposal_actions.submit(proposed.proposal.id, AGENT).proposal.id
        proposal_actions.review(id, person, ReviewDecision.APPROVE)
        commit = proposal_actions.merge(id, person).commit
        self.sync()
        assert commit is not None
        return commit


@pytest.fixture
def protected(folder_site: Site) -> tuple[Site, Elsewhere]:
    folder_site.elsewhere(
        {"docyard.toml": RULES, "free/a.md": PAGE, "specs/b.md": PAGE, "other.md": "# Other\n"}
    )
    folder_site.sync()
    return folder_site, Elsewhere(folder_site)


def here(site: Site) -> Workspace:
    return Workspace.open(site.here.path, durable=False)


def move_into_specs() -> MoveDocument:
    return MoveDocument(file="free/a.md", new_path="specs/a.md")


def test_direct_edit_of_document_moved_under_rule_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    theirs = elsewhere.merge_reviewed(move_into_specs())
    assert append(here(site), "free/a.md", "Unreviewed.\n").is_committed
    ours = site.here.head()
    for _ in range(2):
        with pytest.raises(UnreviewedMerge) as caught:
            site.sync()
        assert "specs/a.md is protected by rule 1" in caught.value.message
        assert "free/a.md" in caught.value.message
        assert caught.value.details["unreviewed"] == [
            {"path": "specs/a.md", "source": "free/a.md", "rule": 1, "side": "ours"}
        ]
    assert (site.here.head(), site.tip()) == (ours, theirs)
    assert "Unreviewed." in (site.here.path / "free/a.md").read_text()
    assert append(here(site), "other.md", "Free.\n").is_committed  # other documents can be written meanwhile


def test_reviewed_side_is_chosen_and_rest_merged(protected: tuple[Site, Elsewhere]) -> None:
    site, elsewhere = protected
    elsewhere.merge_reviewed(move_into_specs())
    append(here(site), "free/a.md", "Unreviewed.\n")
    append(here(site), "other.md", "Free.\n")
    with pytest.raises(UnreviewedMerge):  # the unreviewed side cannot be chosen
        site.sync(choose=all_for(ResolutionChoice.OURS))
    found = site.sync(choose=all_for(ResolutionChoice.THEIRS))
    assert (found.state, site.tip()) == (SyncState.UP_TO_DATE, site.here.head())
    assert (site.here.path / "specs/a.md").read_text() == PAGE
    assert not (site.here.path / "free/a.md").exists()
    assert "Free." in (site.here.path / "other.md").read_text()
    assert "Unreviewed." in site.here.git("log", "-p", "--first-parent", "-3")
    assert site.here.status() == ""


def test_direct_edit_of_document_given_governed_type_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    elsewhere.merge_reviewed(SetMetadata(file="free/a.md", metadata={"type": "runbook"}))
    append(here(site), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge, match="rule 2"):
        site.sync()


def test_direct_edit_under_rule_added_in_remote_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, _ = protected
    append(here(site), "free/a.md", "Unreviewed.\n")
    site.elsewhere({"docyard.toml": RULES + '[[protect]]\npaths = ["free/**"]\n'})
    with pytest.raises(UnreviewedMerge, match="rule 3"):
        site.sync()


def test_direct_removal_of_document_moved_under_rule_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    elsewhere.merge_reviewed(move_into_specs())
    site.here.git("rm", "-q", "free/a.md")
    site.here.git("commit", "-qm", "Remove")
    assert site.sync().conflicts
    with pytest.raises(UnreviewedMerge):
        site.sync(choose=all_for(ResolutionChoice.OURS))
    assert site.sync(choose=all_for(ResolutionChoice.THEIRS)).state is SyncState.UP_TO_DATE
    assert (site.here.path / "specs/a.md").read_text() == PAGE


def test_remote_direct_edit_of_locally_moved_document_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    append(here(site), "free/a.md", "Unreviewed.\n")
    site.sync()  # the remote has the commit, but the other clone does not
    theirs = site.tip()
    with pytest.raises(UnreviewedMerge) as caught:
        elsewhere.merge_reviewed(move_into_specs())
    assert caught.value.details["unreviewed"][0]["side"] == "theirs"
    assert site.tip() == theirs
    other = Workspace.open(elsewhere.repo.path, durable=False)
    with pytest.raises(UnreviewedMerge):
        sync(other, site.access, choose=all_for(ResolutionChoice.THEIRS))
    assert sync(other, site.access, choose=all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert elsewhere.repo.git("show", "main:specs/a.md") == PAGE


def test_changes_reviewed_on_both_sides_are_merged(protected: tuple[Site, Elsewhere]) -> None:
    """Edits, moves and removed types that passed the gate of their own side are merged."""
    site, elsewhere = protected
    ours = Elsewhere.__new__(Elsewhere)
    ours.site, ours.repo = site, site.here
    elsewhere.merge_reviewed(
        AppendContent(file="specs/b.md", slug="one", content="Theirs."),
        SetMetadata(file="free/a.md", metadata={"type": "runbook"}),
    )
    site.sync()
    elsewhere.merge_reviewed(AppendContent(file="specs/b.md", slug="one", content="More of theirs."))
    ours.merge_reviewed(
        AppendContent(file="specs/b.md", slug="two", content="Ours."),
        SetMetadata(file="free/a.md", metadata={"type": None}),
        MoveDocument(file="specs/b.md", new_path="specs/c.md"),
    )
    assert (elsewhere.sync().state, site.sync().state) == (SyncState.UP_TO_DATE, SyncState.UP_TO_DATE)
    text = (site.here.path / "specs/c.md").read_text()
    assert all(words in text for words in ("Theirs.", "More of theirs.", "Ours."))
    assert "runbook" not in (site.here.path / "free/a.md").read_text()


def test_unreviewed_document_stays_at_path_of_chosen_side(folder_site: Site) -> None:
    """One side moves a document, the other gives it a type: a rule applies only to both together."""
    rule = '[[protect]]\npaths = ["specs/**"]\ntypes = ["runbook"]\n'
    folder_site.elsewhere({"docyard.toml": rule, "free/a.md": PAGE})
    folder_site.sync()
    folder_site.there.git("clone", "-q", str(folder_site.there.path), str(folder_site.folder / "mover"))
    mover = Repo(folder_site.folder / "mover")
    mover.git("config", "user.name", "Bo")
    mover.git("config", "user.email", "bo@example.org")
    mover.write({"specs/x.md": "# X\n"})
    mover.git("mv", "free/a.md", "specs/a.md")
    mover.commit({}, "Move")
    mover.git("push", "-q")
    here(folder_site).write(
        [SetMetadata(file="free/a.md", metadata={"type": "runbook"})], mode=Mode.ALL, tool="t", client="c"
    )
    with pytest.raises(UnreviewedMerge):
        folder_site.sync()
    assert folder_site.sync(choose=all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "runbook" in (folder_site.here.path / "free/a.md").read_text()
    assert not (folder_site.here.path / "specs/a.md").exists()

    assert not (folder_site.here.path / "specs/a.md").exists()


RUNBOOK = '[metadata]\ntype = "runbook"\n'
TYPED = "---\ntype: runbook\n---\n\n" + PAGE


def test_edit_of_document_retyped_by_manifest_blocks_merge(
    folder_site: Site,
) -> None:
    folder_site.elsewhere({"docyard.toml": RULES, "free/a.md": TYPED})
    folder_site.sync()
    folder_site.elsewhere({"free/.taxonomy.toml": RUNBOOK})
    folder_site.here.commit({"free/a.md": PAGE}, "A person takes the type away")
    append(here(folder_site), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge, match="rule 2"):
        folder_site.sync()


def test_edit_under_their_manifest_and_our_rule_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    paths_only = RULES.partition("[[protect]]\ntypes")[0]
    site.elsewhere({"docyard.toml": paths_only})
    site.sync()
    elsewhere.sync()
    site.here.commit({"docyard.toml": RULES}, "A person adds the rule for runbooks")
    site.elsewhere({"free/.taxonomy.toml": RUNBOOK})
    elsewhere.sync()
    append(Workspace.open(elsewhere.repo.path, durable=False), "free/a.md", "Unreviewed.\n")
    elsewhere.sync()
    with pytest.raises(UnreviewedMerge, match=r"free/a\.md"):
        site.sync()


def test_edit_of_document_typed_by_two_manifests_blocks_merge(folder_site: Site) -> None:
    """Theirs adds the top manifest, ours removes the nearer one: neither side alone types the document."""
    folder_site.elsewhere(
        {"docyard.toml": RULES, "free/a.md": PAGE, "free/.taxonomy.toml": '[metadata]\ntype = "note"\n'}
    )
    folder_site.sync()
    folder_site.elsewhere({".taxonomy.toml": RUNBOOK})
    folder_site.here.git("rm", "-q", "free/.taxonomy.toml")
    folder_site.here.commit({}, "A person removes the manifest")
    append(here(folder_site), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge, match=r"free/a\.md"):
        folder_site.sync()


def test_free_edit_after_remote_manifest_removal_is_merged(folder_site: Site) -> None:
    folder_site.elsewhere(
        {"docyard.toml": RULES, "free/a.md": PAGE, "free/.taxonomy.toml": RUNBOOK, "o.md": "# O\n"}
    )
    folder_site.sync()
    elsewhere = Elsewhere(folder_site)
    elsewhere.repo.git("rm", "-q", "free/.taxonomy.toml")
    elsewhere.repo.commit({}, "A person removes the manifest")
    append(Workspace.open(elsewhere.repo.path, durable=False), "free/a.md", "Free.\n")
    elsewhere.sync()
    append(here(folder_site), "o.md", "Free.\n")
    assert folder_site.sync().state is SyncState.UP_TO_DATE


def test_remote_direct_edit_under_locally_added_rule_blocks_merge(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    site.here.commit({"docyard.toml": RULES + '[[protect]]\npaths = ["free/**"]\n'}, "A person adds a rule")
    append(Workspace.open(elsewhere.repo.path, durable=False), "free/a.md", "Unreviewed.\n")
    elsewhere.sync()
    with pytest.raises(UnreviewedMerge, match="rule 3"):
        site.sync()


def test_remote_edit_without_rules_blocks_merge_with_rules(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    elsewhere.repo.commit({"docyard.toml": 'overwrite = "any"\n'}, "A person removes the rules")
    append(Workspace.open(elsewhere.repo.path, durable=False), "specs/b.md", "Unreviewed.\n")
    elsewhere.sync()
    site.here.commit({"docyard.toml": RULES + "# More.\n"}, "A person goes on with the rules")
    assert site.sync().conflicts

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {"docyard.toml": {one.unit: Resolution(ResolutionChoice.OURS) for path, one in conflicts[:1]}}

    with pytest.raises(UnreviewedMerge, match=r"specs/b\.md"):
        site.sync(choose=choose)
    assert site.sync(choose=all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "Unreviewed." not in site.here.git("show", "main:specs/b.md")


def test_direct_removal_of_untyped_document_cannot_be_chosen(folder_site: Site) -> None:
    folder_site.elsewhere({"docyard.toml": RULES, "free/a.md": TYPED})
    folder_site.sync()
    folder_site.elsewhere({"free/a.md": TYPED + "\nReviewed there.\n"})
    folder_site.here.commit({"free/a.md": PAGE}, "A person takes the type away")
    here(folder_site).write([RemoveDocument(path="free/a.md")], mode=Mode.ALL, tool="t", client="c")
    assert folder_site.sync().conflicts
    with pytest.raises(UnreviewedMerge):
        folder_site.sync(choose=all_for(ResolutionChoice.OURS))


def reviewed_here(site: Site, *operations: object) -> None:
    """Propose, approve and merge here, without a push."""
    ours = Elsewhere.__new__(Elsewhere)
    ours.site, ours.repo = site, site.here
    ours.sync = lambda: None  # type: ignore[assignment,method-assign,return-value]
    ours.merge_reviewed(*operations)


@pytest.mark.parametrize("choice", [ResolutionChoice.OURS, ResolutionChoice.THEIRS])
def test_path_of_governed_document_moved_twice_can_be_resolved(
    protected: tuple[Site, Elsewhere], choice: ResolutionChoice
) -> None:
    site, elsewhere = protected
    elsewhere.merge_reviewed(MoveDocument(file="specs/b.md", new_path="specs/x.md"))
    reviewed_here(site, MoveDocument(file="specs/b.md", new_path="specs/y.md"))
    assert site.sync().conflicts
    assert site.sync(choose=all_for(choice)).state is SyncState.UP_TO_DATE
    path, other_path = (
        ("specs/y.md", "specs/x.md") if choice is ResolutionChoice.OURS else ("specs/x.md", "specs/y.md")
    )
    assert (site.here.path / path).exists()
    assert not (site.here.path / other_path).exists()


def test_path_conflict_is_resolved_for_ours_if_path_occupied(
    protected: tuple[Site, Elsewhere],
) -> None:
    """Theirs moved a document onto the path of one of ours, which stays, so the document is not moved."""
    site, elsewhere = protected
    elsewhere.merge_reviewed(MoveDocument(file="specs/b.md", new_path="free/z.md"))
    site.here.commit({"free/z.md": "# Z\n\nQuite another.\n"})
    assert site.sync().conflicts
    assert site.sync(choose=all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE
    assert "Quite another." in (site.here.path / "free/z.md").read_text()


def test_omitted_duplicate_name_is_not_an_unreviewed_change(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, _ = protected
    site.elsewhere({"specs/X.md": "# X\n\nTheirs.\n"})
    site.here.commit({"specs/x.md": "# x\n\nOurs.\n"})
    assert site.sync().conflicts
    assert site.sync(choose=all_for(ResolutionChoice.OURS)).state is SyncState.UP_TO_DATE


def test_reviewed_edit_is_merged_under_reworded_remote_rule(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, _ = protected
    site.elsewhere({"docyard.toml": RULES.replace('["specs/**"]', '["specs/**", "core/**"]')})
    reviewed_here(site, AppendContent(file="specs/b.md", slug="one", content="Reviewed."))
    assert site.sync().state is SyncState.UP_TO_DATE


def test_free_edit_is_merged_after_local_rule_removal(protected: tuple[Site, Elsewhere]) -> None:
    site, _ = protected
    site.elsewhere({"other.md": "# Other\n\nMore.\n"})
    site.here.commit({"docyard.toml": 'overwrite = "any"\n[[protect]]\ntypes = ["runbook"]\n'})
    append(here(site), "specs/b.md", "Free by now.\n")
    assert site.sync().state is SyncState.UP_TO_DATE  # the merge has no rule for it


def test_chosen_side_creates_no_duplicate_name(protected: tuple[Site, Elsewhere]) -> None:
    site, _ = protected
    site.elsewhere({"specs/X.md": "# X\n\nTheirs.\n"})
    site.here.commit({"specs/x.md": "# x\n\nOurs.\n"})

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        return {
            path: {
                one.unit: Resolution(
                    ResolutionChoice.OURS if one.unit == PATH_UNIT else ResolutionChoice.THEIRS
                )
            }
            for path, one in conflicts
        }

    site.sync(choose=choose)
    names = site.here.git("ls-tree", "-r", "--name-only", "main").split()
    assert len([name for name in names if name.lower() == "specs/x.md"]) == 1


def test_write_between_refusal_and_choice_is_refused(protected: tuple[Site, Elsewhere]) -> None:
    site, elsewhere = protected
    elsewhere.merge_reviewed(move_into_specs())
    append(here(site), "free/a.md", "Unreviewed.\n")
    with pytest.raises(UnreviewedMerge):
        site.sync()
    with pytest.raises(SyncConflict):
        append(here(site), "free/a.md", "More.\n")
    assert append(here(site), "other.md", "Free.\n").is_committed


def test_choice_is_requested_again_after_versions_change(
    protected: tuple[Site, Elsewhere],
) -> None:
    site, elsewhere = protected
    elsewhere.merge_reviewed(move_into_specs())
    append(here(site), "free/a.md", "Unreviewed.\n")
    requests = []

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        if not requests:
            site.here.commit({"free/a.md": PAGE + "\nBy hand meanwhile.\n"}, "A person's commit")
        requests.append([one.ours for _, one in conflicts])
        return all_for(ResolutionChoice.THEIRS)(conflicts)

    site.sync(choose=choose)
    assert len(requests) == 2
