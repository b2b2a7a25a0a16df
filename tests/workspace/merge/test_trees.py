"""Merges of trees, file by file: documents are merged by sections, other files as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.repositories import Repo
from workspace.git.merge_bases import ShallowHistory
from workspace.git.objects import (
    EXECUTABLE_MODE,
    FILE_MODE,
    LINK_MODE,
    SUBMODULE_MODE,
    TREE_MODE,
    TreeEntry,
    hash_blob,
)
from workspace.git.reader import GitReader
from workspace.git.repository import create_repository
from workspace.git.store import GitStore
from workspace.git.trees import WholeEntry, rewrite_tree, walk_tree
from workspace.merge.commits import UnrelatedHistories, merge_commits
from workspace.merge.conflict import InvalidResolution, Resolution, ResolutionChoice, UnitId, UnitKind
from workspace.merge.file_tree import MergedFileTree
from workspace.merge.trees import FILE_UNIT, PATH_UNIT, Merge, Resolutions
from workspace.paths import InvalidPath, fold_name
from workspace.snapshot.snapshot import Snapshot

Files = Mapping[str, str | bytes | None]

GUIDE = "# Guide\n\nIntroduction.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
BASE: Files = {
    "guide.md": GUIDE,
    "notes.md": "# Notes\n\nSome notes.\n\n## Old\n\nOld words.\n",
    "logo.png": b"\x89PNG base",
    "docs/one.md": "# One\n\nThe first page of the folder.\n",
    "docs/two.md": "# Two\n\nThe second page of the folder.\n",
}
FOLDER_TO_FILE: Files = {"docs/one.md": None, "docs/two.md": None, "docs": "A file.\n"}
OURS, THEIRS = Resolution(ResolutionChoice.OURS), Resolution(ResolutionChoice.THEIRS)


class CommitGraph:
    """A bare repository in which tests create commits on no branch, with any parents."""

    def __init__(self, path: Path) -> None:
        create_repository(path, "main")
        self.store = GitStore(path)
        self.base = self.commit(BASE)

    def commit(self, files: Files | Mapping[str, WholeEntry], *parents: str) -> str:
        """Commit the files of the first parent after changes, and return the id; None removes a file."""
        tree = self.store.commit(parents[0]).tree if parents else None
        blobs = {
            path: self.store.put_blob(data.encode() if isinstance(data, str) else data)
            if isinstance(data, str | bytes)
            else data
            for path, data in files.items()
        }
        signature = repositories.make_signature()
        return self.store.put_commit(
            rewrite_tree(self.store, tree, blobs), parents, signature, signature, "A commit\n"
        )

    def merge(self, ours: str, theirs: str, resolutions: Resolutions | None = None) -> Merge:
        our_snapshot = Snapshot(self.store, ours)
        return merge_commits(our_snapshot, our_snapshot.at(theirs), resolutions)


@pytest.fixture
def history(tmp_path: Path) -> CommitGraph:
    return CommitGraph(tmp_path / "repository.git")


def merge_changes(
    history: CommitGraph, ours: Files, theirs: Files, resolutions: Resolutions | None = None
) -> Merge:
    our_commit, their_commit = (history.commit(side, history.base) for side in (ours, theirs))
    return history.merge(our_commit, their_commit, resolutions)


def read_merged_files(merge: Merge) -> dict[str, bytes | None]:
    """Return the bytes of the files after a merge; None for an entry that is not a regular file."""
    assert merge.ours.tree is not None
    old_paths = {path for path, _ in walk_tree(merge.ours.git, merge.ours.tree)}
    paths = sorted(old_paths | merge.changes.keys())
    return {path: merge.read(path) for path in paths if merge.entry(path) is not None}


def list_conflicts(merge: Merge) -> list[tuple[str, UnitId]]:
    return [(conflict.path, conflict.conflict.unit) for conflict in merge.conflicts]


def encode_expected(files: Files) -> dict[str, bytes | None]:
    return {
        path: data.encode() if isinstance(data, str) else data
        for path, data in {**BASE, **files}.items()
        if data is not None
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({}, {"guide.md": "# New\n"}, {"guide.md": "# New\n"}),
        ({"guide.md": "# New\n"}, {}, {"guide.md": "# New\n"}),
        ({"guide.md": "# New\n"}, {"guide.md": "# New\n"}, {"guide.md": "# New\n"}),
        (
            {"guide.md": GUIDE.replace("Run it.", "Run it twice.")},
            {"guide.md": GUIDE.replace("Use it.", "Use it well.")},
            {"guide.md": GUIDE.replace("Run it.", "Run it twice.").replace("Use it.", "Use it well.")},
        ),
        ({"a.md": "# A\n"}, {"b.md": "# B\n"}, {"a.md": "# A\n", "b.md": "# B\n"}),
        ({"a.md": "# A\n"}, {"a.md": "# A\n"}, {"a.md": "# A\n"}),
        ({"notes.md": None}, {}, {"notes.md": None}),
        ({}, {"notes.md": None}, {"notes.md": None}),
        ({"notes.md": None}, {"notes.md": None}, {"notes.md": None}),
        ({"a.md": "# A\n"}, {"logo.png": b"\x89PNG new"}, {"a.md": "# A\n", "logo.png": b"\x89PNG new"}),
        ({"docyard.toml": "root = ''\n"}, {}, {"docyard.toml": "root = ''\n"}),
        ({}, {"deep/er/new.md": "# New\n"}, {"deep/er/new.md": "# New\n"}),
        ({}, FOLDER_TO_FILE, FOLDER_TO_FILE),
    ],
)
def test_separate_equal_and_one_sided_changes_are_merged(
    history: CommitGraph, ours: Files, theirs: Files, expected: Files
) -> None:
    result = merge_changes(history, ours, theirs)
    assert result.conflicts == ()
    assert read_merged_files(result) == encode_expected(expected)


def test_rename_in_ours_and_edit_in_theirs_are_merged(history: CommitGraph) -> None:
    edited_guide = GUIDE.replace("Use it.", "Use it well.")
    for ours, theirs in (
        ({"guide.md": None, "manual.md": GUIDE}, {"guide.md": edited_guide}),
        ({"guide.md": edited_guide}, {"guide.md": None, "manual.md": GUIDE}),
    ):
        result = merge_changes(history, ours, theirs)
        assert result.conflicts == ()
        assert read_merged_files(result) == encode_expected({"guide.md": None, "manual.md": edited_guide})
    assert result.moved_paths == {"guide.md": "manual.md"}


def test_same_rename_with_different_edits_is_merged(history: CommitGraph) -> None:
    our_guide, their_guide = (
        GUIDE.replace("Run it.", "Run it twice."),
        GUIDE.replace("Use it.", "Use it well."),
    )
    merged_guide = our_guide.replace("Use it.", "Use it well.")
    result = merge_changes(history, {"guide.md": None, "manual.md": our_guide}, {"guide.md": their_guide})
    assert read_merged_files(result) == encode_expected({"guide.md": None, "manual.md": merged_guide})
    result = merge_changes(history, {"guide.md": our_guide}, {"guide.md": None, "manual.md": their_guide})
    assert read_merged_files(result) == encode_expected({"guide.md": None, "manual.md": merged_guide})
    result = merge_changes(
        history, {"guide.md": None, "manual.md": our_guide}, {"guide.md": None, "manual.md": their_guide}
    )
    assert read_merged_files(result) == encode_expected({"guide.md": None, "manual.md": merged_guide})
    assert result.conflicts == ()


def test_same_rename_is_merged_despite_low_similarity(history: CommitGraph) -> None:
    other_text = "# Manual\n\nAll sentences of this text are new, and none was in the other text.\n"
    result = merge_changes(
        history, {"guide.md": None, "manual.md": GUIDE}, {"guide.md": None, "manual.md": other_text}
    )
    assert result.conflicts == ()
    assert read_merged_files(result) == encode_expected({"guide.md": None, "manual.md": other_text})


def test_different_renames_are_a_path_conflict(history: CommitGraph) -> None:
    ours, theirs = {"guide.md": None, "manual.md": GUIDE}, {"guide.md": None, "handbook.md": GUIDE}
    result = merge_changes(history, ours, theirs)
    assert list_conflicts(result) == [("manual.md", PATH_UNIT)]
    assert result.conflicts[0].conflict == (PATH_UNIT, b"guide.md", b"manual.md", b"handbook.md")
    assert read_merged_files(result) == encode_expected(ours)
    result = merge_changes(history, ours, theirs, {"manual.md": {PATH_UNIT: THEIRS}})
    assert result.conflicts == ()
    assert result.resolved_units == (("manual.md", PATH_UNIT),)
    assert read_merged_files(result) == encode_expected(theirs)
    assert read_merged_files(
        merge_changes(history, ours, theirs, {"manual.md": {PATH_UNIT: OURS}})
    ) == encode_expected(ours)
    with pytest.raises(InvalidResolution):
        merge_changes(
            history,
            ours,
            theirs,
            {"manual.md": {PATH_UNIT: Resolution(ResolutionChoice.CONTENT, b"other.md")}},
        )


@pytest.mark.parametrize("path", ["guide.md", "logo.png"])
def test_removal_and_change_are_a_file_conflict(history: CommitGraph, path: str) -> None:
    removal, change = {path: None}, {path: "# Changed\n"}
    base_content = BASE[path]
    base = base_content.encode() if isinstance(base_content, str) else base_content
    result = merge_changes(history, removal, change)
    assert list_conflicts(result) == [(path, FILE_UNIT)]
    assert result.conflicts[0].conflict == (FILE_UNIT, base, None, b"# Changed\n")
    assert read_merged_files(result) == encode_expected(removal)
    assert read_merged_files(
        merge_changes(history, removal, change, {path: {FILE_UNIT: THEIRS}})
    ) == encode_expected(change)
    result = merge_changes(history, change, removal)
    assert result.conflicts[0].conflict == (FILE_UNIT, base, b"# Changed\n", None)
    assert read_merged_files(result) == encode_expected(change)
    assert read_merged_files(
        merge_changes(history, change, removal, {path: {FILE_UNIT: THEIRS}})
    ) == encode_expected(removal)
    resolutions = {path: {FILE_UNIT: Resolution(ResolutionChoice.CONTENT, b"# Other\n")}}
    assert read_merged_files(merge_changes(history, change, removal, resolutions)) == encode_expected(
        {path: "# Other\n"}
    )
    assert read_merged_files(merge_changes(history, removal, change, resolutions)) == encode_expected(
        {path: "# Other\n"}
    )


def test_removal_and_rename_are_a_file_conflict(history: CommitGraph) -> None:
    result = merge_changes(history, {"guide.md": None}, {"guide.md": None, "manual.md": GUIDE})
    assert result.conflicts[0] == ("manual.md", (FILE_UNIT, GUIDE.encode(), None, GUIDE.encode()))
    assert read_merged_files(result) == encode_expected({"guide.md": None})


def test_edits_are_merged_into_files_of_moved_folder(history: CommitGraph) -> None:
    first_page, second_page = BASE["docs/one.md"], BASE["docs/two.md"]
    edited_page = "# Two\n\nThe second page of the folder.\n\nMore.\n"
    removed_files: Files = {"docs/one.md": None, "docs/two.md": None}
    moved_files: Files = {**removed_files, "pages/one.md": first_page, "pages/two.md": second_page}
    result = merge_changes(history, {"docs/two.md": edited_page, "docs/three.md": "# Three\n"}, moved_files)
    assert result.conflicts == ()
    # A new document stays in the old folder, because no rename applies to it.
    assert read_merged_files(result) == encode_expected(
        {**moved_files, "pages/two.md": edited_page, "docs/three.md": "# Three\n"}
    )


def test_two_documents_at_one_path_are_a_conflict(history: CommitGraph) -> None:
    """Both sides added a document at the path, or one side added it and the other moved a document."""
    our_text, their_text = "# New\n\nOne.\n", "# New\n\nOther.\n"
    result = merge_changes(history, {"new.md": our_text}, {"new.md": their_text})
    assert {path for path, _ in list_conflicts(result)} == {"new.md"}
    assert read_merged_files(result) == encode_expected({"new.md": our_text})
    assert read_merged_files(
        merge_changes(history, {"new.md": our_text}, {"new.md": their_text}, {"new.md": {FILE_UNIT: THEIRS}})
    ) == encode_expected({"new.md": their_text})
    moved_files = {"guide.md": None, "new.md": GUIDE}
    result = merge_changes(history, moved_files, {"new.md": their_text})
    assert result.conflicts == (("new.md", (FILE_UNIT, None, GUIDE.encode(), their_text.encode())),)
    assert read_merged_files(result) == encode_expected(moved_files)
    result = merge_changes(history, {"new.md": their_text}, moved_files)
    assert result.conflicts == (("new.md", (FILE_UNIT, None, their_text.encode(), GUIDE.encode())),)
    assert read_merged_files(result) == encode_expected({"new.md": their_text})
    result = merge_changes(history, {"new.md": their_text}, moved_files, {"new.md": {FILE_UNIT: THEIRS}})
    assert read_merged_files(result) == encode_expected(moved_files)


def test_document_with_blocked_path_has_edits_of_both_sides(history: CommitGraph) -> None:
    our_guide, their_guide = (
        GUIDE.replace("Run it.", "Run it twice."),
        GUIDE.replace("Use it.", "Use it well."),
    )
    result = merge_changes(
        history, {"guide.md": our_guide, "new.md": "# New\n"}, {"guide.md": None, "new.md": their_guide}
    )
    assert list_conflicts(result) == [("new.md", FILE_UNIT)]
    merged_guide = our_guide.replace("Use it.", "Use it well.")
    assert read_merged_files(result) == encode_expected({"guide.md": merged_guide, "new.md": "# New\n"})


def test_file_and_folder_at_one_path_are_a_path_conflict(history: CommitGraph) -> None:
    for ours, theirs in (({"a": "File.\n"}, {"a/b.md": "# B\n"}), ({"a/b.md": "# B\n"}, {"a": "File.\n"})):
        result = merge_changes(history, ours, theirs)
        (path,) = theirs
        assert list_conflicts(result) == [(path, PATH_UNIT)]
        assert read_merged_files(result) == encode_expected(ours)
        assert read_merged_files(
            merge_changes(history, ours, theirs, {path: {PATH_UNIT: OURS}})
        ) == encode_expected(ours)
        with pytest.raises(InvalidResolution):
            merge_changes(history, ours, theirs, {path: {PATH_UNIT: THEIRS}})


@pytest.mark.parametrize(
    ("our_name", "their_name"),
    [("New.md", "new.md"), ("caf\u00e9.md", "cafe\u0301.md"), ("Pages/a.md", "pages/b.md")],
)
def test_names_equal_after_folding_are_a_path_conflict(
    history: CommitGraph, our_name: str, their_name: str
) -> None:
    result = merge_changes(history, {our_name: "# Here\n"}, {their_name: "# There\n"})
    assert list_conflicts(result) == [(their_name, PATH_UNIT)]
    assert read_merged_files(result) == encode_expected({our_name: "# Here\n"})


def test_case_only_rename_is_merged(history: CommitGraph) -> None:
    edited_guide = GUIDE.replace("Use it.", "Use it well.")
    result = merge_changes(history, {"guide.md": edited_guide}, {"guide.md": None, "Guide.md": GUIDE})
    assert result.conflicts == ()
    assert read_merged_files(result) == encode_expected({"guide.md": None, "Guide.md": edited_guide})


@pytest.mark.parametrize("path", ["logo.png", "docyard.toml", ".taxonomy.toml", "script.py"])
def test_non_document_is_merged_as_whole_file(history: CommitGraph, path: str) -> None:
    history.base = history.commit({path: "# base\n"}, history.base)
    our_files, their_files = {path: "# ours\n"}, {path: "# theirs\n"}
    assert merge_changes(history, {}, their_files).read(path) == b"# theirs\n"
    result = merge_changes(history, our_files, their_files)
    assert list_conflicts(result) == [(path, FILE_UNIT)]
    assert result.conflicts[0].conflict == (FILE_UNIT, b"# base\n", b"# ours\n", b"# theirs\n")
    assert result.read(path) == b"# ours\n"
    assert (
        merge_changes(history, our_files, their_files, {path: {FILE_UNIT: THEIRS}}).read(path)
        == b"# theirs\n"
    )


def test_large_file_in_conflict_is_shown_by_mode_and_id(history: CommitGraph) -> None:
    large = b"x" * 10_000_001
    result = merge_changes(history, {"logo.png": b"ours"}, {"logo.png": large})
    their_entry = result.conflicts[0].conflict.theirs
    assert their_entry is not None
    assert their_entry.startswith(b"100644 ")
    assert len(their_entry) == len("100644 ") + 40


def test_changed_modes_links_and_submodules_are_merged(history: CommitGraph) -> None:
    blob, guide = history.store.put_blob(b"guide.md"), hash_blob(GUIDE.encode())
    link, submodule = (
        WholeEntry(TreeEntry("", blob, LINK_MODE)),
        WholeEntry(TreeEntry("", history.base, SUBMODULE_MODE)),
    )
    entries: Mapping[str, WholeEntry] = {
        "guide.md": WholeEntry(TreeEntry("", guide, EXECUTABLE_MODE)),
        "link": link,
        "logo.png": link,
        "module": submodule,
    }
    text = GUIDE.replace("Use it.", "Use it well.")
    our_commit, other_commit = (
        history.commit({"guide.md": text}, history.base),
        history.commit(entries, history.base),
    )
    for ours, theirs in ((our_commit, other_commit), (other_commit, our_commit)):
        result = history.merge(ours, theirs)
        assert result.conflicts == ()
        merged_entries = {path: result.entry(path) for path in entries}
        assert {
            path: entry.mode for path, entry in merged_entries.items() if isinstance(entry, TreeEntry)
        } == {path: change.entry.mode for path, change in entries.items() if change.entry}
        assert result.read("guide.md") == text.encode()
    result = history.merge(history.commit({"logo.png": b"changed"}, history.base), other_commit)
    assert list_conflicts(result) == [("logo.png", FILE_UNIT)]
    assert result.conflicts[0].conflict.theirs == b"120000 " + blob.encode()
    assert history.merge(other_commit, history.commit({}, other_commit)).changes == {}
    removal_commit = history.commit({"module": WholeEntry(None), "link": WholeEntry(None)}, other_commit)
    assert read_merged_files(history.merge(other_commit, removal_commit)).keys() == BASE.keys()


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", "..", "."])
def test_merge_of_path_with_git_folder_or_dots_is_refused(history: CommitGraph, name: str) -> None:
    store = history.store
    git_folder = store.put_tree([TreeEntry("config", store.put_blob(b"[core]\n"), FILE_MODE)])
    root_tree = store.put_tree(
        [*store.tree(store.commit(history.base).tree), TreeEntry(name, git_folder, TREE_MODE)]
    )
    signature = repositories.make_signature()
    attack_commit = store.put_commit(root_tree, (history.base,), signature, signature, "Attack\n")
    with pytest.raises(InvalidPath):
        history.merge(history.base, attack_commit)


def test_merge_of_an_ancestor_is_up_to_date(history: CommitGraph) -> None:
    later_commit = history.commit({"guide.md": "# New\n"}, history.base)
    result = history.merge(later_commit, history.base)
    assert result.is_up_to_date
    assert result.changes == {}
    result = history.merge(history.base, later_commit)
    assert not result.is_up_to_date
    assert result.conflicts == ()
    assert read_merged_files(result) == encode_expected({"guide.md": "# New\n"})


def test_unrelated_histories_are_refused(history: CommitGraph) -> None:
    with pytest.raises(UnrelatedHistories):
        history.merge(history.base, history.commit({"guide.md": GUIDE}))


def test_shallow_clone_without_merge_base_is_refused(history: CommitGraph, tmp_path: Path) -> None:
    full_repo, shallow_repo = Repo(history.store.common_dir), Repo(tmp_path / "shallow")
    for name in ("ours", "theirs"):
        tip = history.base
        for number in range(3):
            tip = history.commit({f"{name}{number}.md": "# New\n"}, tip)
        full_repo.git("update-ref", f"refs/heads/{name}", tip)
    options = ["--bare", "--depth", "2", "--no-single-branch"]
    full_repo.git("clone", "-q", *options, full_repo.path.as_uri(), str(shallow_repo.path))

    def merge_in_clone() -> Merge:
        git = GitReader(shallow_repo.path)
        our_snapshot, their_snapshot = (Snapshot(git, git.tip(name)) for name in ("ours", "theirs"))
        return merge_commits(our_snapshot, their_snapshot)

    with pytest.raises(ShallowHistory):
        merge_in_clone()
    shallow_repo.git("fetch", "-q", "--depth", "10", "origin", "ours:ours", "theirs:theirs")
    assert read_merged_files(merge_in_clone())["theirs2.md"] == b"# New\n"


def test_only_changes_agreed_by_all_bases_are_merged(history: CommitGraph) -> None:
    """One side reverted a change that the other preserved; the bases differ, so no base is used."""
    edited_text, new_notes = GUIDE.replace("Run it.", "Run it twice."), "# Notes\n\nOther notes.\n"
    first_base = history.commit({"guide.md": edited_text}, history.base)
    other_commit = history.commit({"notes.md": new_notes}, history.base)
    our_merge = history.commit({"notes.md": new_notes}, first_base, other_commit)
    their_merge = history.commit({"guide.md": edited_text}, other_commit, first_base)
    our_commit = history.commit({"docs/one.md": "# One\n\nNew.\n"}, our_merge)
    their_commit = history.commit({"guide.md": GUIDE, "a.md": "# A\n"}, their_merge)
    result = history.merge(our_commit, their_commit)
    assert {*result.bases} == {first_base, other_commit}
    unit = UnitId(UnitKind.TEXT, "install")
    assert result.conflicts == (("guide.md", (unit, None, b"Run it twice.", b"Run it.")),)
    agreed_files: Files = {"notes.md": new_notes, "a.md": "# A\n", "docs/one.md": "# One\n\nNew.\n"}
    assert read_merged_files(result) == encode_expected({**agreed_files, "guide.md": edited_text})
    result = history.merge(our_commit, their_commit, {"guide.md": {FILE_UNIT: THEIRS}})
    assert result.conflicts == ()
    assert result.resolved_units == (("guide.md", FILE_UNIT),)
    assert read_merged_files(result) == encode_expected(agreed_files)
    result = history.merge(our_commit, their_commit, {"guide.md": {unit: THEIRS}})
    assert (result.conflicts, result.resolved_units) == ((), (("guide.md", unit),))
    assert read_merged_files(result) == encode_expected(agreed_files)


def test_units_equal_in_all_bases_are_merged(history: CommitGraph) -> None:
    """A heading, a key and a text differ between the bases and conflict; all other units are merged."""
    front_matter = "---\nowner: ada\nstate: new\n---\n\n"
    start_commit = history.commit({"guide.md": front_matter + GUIDE}, history.base)
    edited_text = (
        (front_matter + GUIDE)
        .replace("Run it.", "Run it twice.")
        .replace("ada", "bob")
        .replace("# Use", "# Usage {#use}")
    )
    first_base = history.commit({"guide.md": edited_text}, start_commit)
    other_commit = history.commit({"a.md": "# A\n"}, start_commit)
    our_merge = history.commit({"a.md": "# A\n"}, first_base, other_commit)
    their_merge = history.commit({"guide.md": edited_text}, other_commit, first_base)
    our_commit = history.commit({"guide.md": edited_text.replace("new", "done")}, our_merge)
    reverted_text = (
        (front_matter + GUIDE).replace("Introduction.", "Welcome.").replace("Use it.", "Use it well.")
    )
    their_commit = history.commit({"guide.md": reverted_text}, their_merge)
    result = history.merge(our_commit, their_commit)
    assert {*result.bases} == {first_base, other_commit}
    assert list_conflicts(result) == [
        ("guide.md", UnitId(UnitKind.METADATA, "owner")),
        ("guide.md", UnitId(UnitKind.TEXT, "install")),
        ("guide.md", UnitId(UnitKind.HEADING, "use")),
    ]
    agreed_text = (
        edited_text.replace("new", "done")
        .replace("Introduction.", "Welcome.")
        .replace("Use it.", "Use it well.")
    )
    assert read_merged_files(result)["guide.md"] == agreed_text.encode()


def test_merged_file_tree_has_merged_files_and_folders(history: CommitGraph) -> None:
    result = merge_changes(
        history,
        {"a.md": "# A\n", "guide.md": GUIDE + "\nMore.\n"},
        {
            "docs/one.md": None,
            "docs/two.md": None,
            "x/y/z.md": "# Z\n",
            "guide.md": None,
            "g/guide.md": GUIDE,
        },
    )
    file_tree = MergedFileTree(result)
    assert sorted(file_tree.list_names("")) == ["a.md", "g", "logo.png", "notes.md", "x"]
    assert sorted(file_tree.list_names("x")) == ["y"]
    assert file_tree.is_folder("x/y")
    assert not file_tree.exists("docs")
    assert not file_tree.exists("guide.md")
    assert file_tree.exists("x/y/z.md")
    assert not file_tree.is_folder("x/y/z.md")
    assert set(file_tree.paths_by_stem) == {"a", "guide", "notes", "z"}
    document = file_tree.document("g/guide.md")
    assert document is not None
    assert document.data == (GUIDE + "\nMore.\n").encode()
    assert file_tree.document("logo.png") is None
    assert file_tree.document("docs/one.md") is None


PATHS = ("a.txt", "b.txt", "f/c.txt", "F/d.txt", "f", "F/C.txt", "link")
FILE_CONTENTS = st.sampled_from([b"", b"1", b"2", b"3"])


@st.composite
def trees_of_files(draw: st.DrawFn) -> dict[str, bytes]:
    """Draw files that can exist together in a file system that ignores case."""
    files: dict[str, bytes] = {}
    for path, data in draw(st.dictionaries(st.sampled_from(PATHS), FILE_CONTENTS)).items():
        folders = {
            fold_name(folder) for existing_path in files for folder in _list_parent_folders(existing_path)
        }
        existing_folders = {
            folder for existing_path in files for folder in _list_parent_folders(existing_path)
        }
        folded_paths = {fold_name(existing_path) for existing_path in files}
        has_free_path = (
            fold_name(path) not in folders | folded_paths
            and not {fold_name(parent) for parent in _list_parent_folders(path)} & folded_paths
        )
        if has_free_path and all(
            parent in existing_folders or fold_name(parent) not in folders
            for parent in _list_parent_folders(path)
        ):
            files[path] = data
    return files


def _list_parent_folders(path: str) -> set[str]:
    names = path.split("/")[:-1]
    return {"/".join(names[: depth + 1]) for depth in range(len(names))}


def _commit_files(history: CommitGraph, files: Mapping[str, bytes], parent: str | None) -> str:
    removed_files: dict[str, bytes | None] = dict.fromkeys(PATHS) if parent else {}
    return history.commit({**removed_files, **files}, *([parent] if parent else []))


@given(base=trees_of_files(), ours=trees_of_files(), theirs=trees_of_files())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_file_is_merged_separately(
    history: CommitGraph, base: dict[str, bytes], ours: dict[str, bytes], theirs: dict[str, bytes]
) -> None:
    base_commit = _commit_files(history, base, None)
    our_commit, their_commit = (_commit_files(history, files, base_commit) for files in (ours, theirs))
    assert (
        read_merged_files(history.merge(our_commit, base_commit))
        == read_merged_files(history.merge(base_commit, our_commit))
        == ours
    )
    assert read_merged_files(history.merge(our_commit, our_commit)) == ours
    result = history.merge(our_commit, their_commit)
    merged_files, conflicts_by_path = read_merged_files(result), dict(result.conflicts)
    for path in PATHS:
        versions = (base.get(path), ours.get(path), theirs.get(path))
        base_data, our_data, their_data = versions
        if path in conflicts_by_path:
            assert merged_files.get(path) == our_data != their_data
            assert conflicts_by_path[path].unit == PATH_UNIT or conflicts_by_path[path] == (
                FILE_UNIT,
                *versions,
            )
            assert conflicts_by_path[path].unit == PATH_UNIT or base_data not in (our_data, their_data)
        else:
            assert merged_files.get(path) == (our_data if their_data in (base_data, our_data) else their_data)
    # The merged files form a valid tree, and a merge in the other direction has the same conflicts.
    _commit_files(
        history, {path: data for path, data in merged_files.items() if data is not None}, our_commit
    )
    reverse_conflicts = {
        path
        for path, conflict in history.merge(their_commit, our_commit).conflicts
        if conflict.unit == FILE_UNIT
    }
    assert reverse_conflicts == {
        path for path, conflict in conflicts_by_path.items() if conflict.unit == FILE_UNIT
    }


def test_every_conflict_can_be_resolved(history: CommitGraph) -> None:
    """A used resolution is reported as resolved; a resolution without a conflict is not."""
    ours: Files = {"guide.md": None, "logo.png": b"ours", "new.md": "# Ours\n"}
    theirs: Files = {"guide.md": "# Theirs\n", "logo.png": b"theirs", "new.md": "# Theirs\n"}
    for choice, files in ((OURS, ours), (THEIRS, theirs)):
        result = merge_changes(
            history, ours, theirs, {path: {FILE_UNIT: choice} for path in (*ours, "notes.md")}
        )
        assert result.conflicts == ()
        assert {path for path, _ in result.resolved_units} == ours.keys()
        assert read_merged_files(result) == encode_expected(files)
