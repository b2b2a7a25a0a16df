"""Trees are merged file by file: documents by sections, other files as a whole."""

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
from workspace.git.repository import initialise
from workspace.git.store import GitStore
from workspace.git.trees import WholeEntry, rewrite_tree, walk_tree
from workspace.merge.commits import UnrelatedHistories, merge_commits
from workspace.merge.conflict import InvalidResolution, Resolution, ResolutionChoice, UnitId, UnitKind
from workspace.merge.trees import FILE_UNIT, PATH_UNIT, Merge, Resolutions
from workspace.merge.world import MergedWorld
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


class History:
    """A chain of commits, made only as objects."""

    def __init__(self, path: Path) -> None:
        initialise(path, "main")
        self.store = GitStore(path)
        self.base = self.commit(BASE)

    def commit(self, files: Files | Mapping[str, WholeEntry], *parents: str) -> str:
        """Commit the files of the first parent with some changes; None removes a file."""
        tree = self.store.commit(parents[0]).tree if parents else None
        new = {
            path: self.store.put_blob(data.encode() if isinstance(data, str) else data)
            if isinstance(data, str | bytes)
            else data
            for path, data in files.items()
        }
        who = repositories.signature()
        return self.store.put_commit(rewrite_tree(self.store, tree, new), parents, who, who, "A commit\n")

    def merge(self, ours: str, theirs: str, resolutions: Resolutions | None = None) -> Merge:
        one = Snapshot(self.store, ours)
        return merge_commits(one, one.at(theirs), resolutions)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repository.git")


def merge(history: History, ours: Files, theirs: Files, resolutions: Resolutions | None = None) -> Merge:
    one, other = (history.commit(side, history.base) for side in (ours, theirs))
    return history.merge(one, other, resolutions)


def texts(merge: Merge) -> dict[str, bytes | None]:
    """Return the bytes of the files after a merge; None for an entry that is not a regular file."""
    assert merge.ours.tree is not None
    before = {path for path, _ in walk_tree(merge.ours.git, merge.ours.tree)}
    paths = sorted(before | merge.changes.keys())
    return {path: merge.read(path) for path in paths if merge.entry(path) is not None}


def conflicts(merge: Merge) -> list[tuple[str, UnitId]]:
    return [(found.path, found.conflict.unit) for found in merge.conflicts]


def encoded(files: Files) -> dict[str, bytes | None]:
    return {
        path: data.encode() if isinstance(data, str) else data
        for path, data in {**BASE, **files}.items()
        if data is not None
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
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
def test_separate_changes_of_both_sides_are_merged(
    history: History, ours: Files, theirs: Files, merged: Files
) -> None:
    done = merge(history, ours, theirs)
    assert done.conflicts == ()
    assert texts(done) == encoded(merged)


def test_rename_in_ours_and_edit_in_theirs_are_merged(history: History) -> None:
    edited = GUIDE.replace("Use it.", "Use it well.")
    for ours, theirs in (
        ({"guide.md": None, "manual.md": GUIDE}, {"guide.md": edited}),
        ({"guide.md": edited}, {"guide.md": None, "manual.md": GUIDE}),
    ):
        done = merge(history, ours, theirs)
        assert done.conflicts == ()
        assert texts(done) == encoded({"guide.md": None, "manual.md": edited})
    assert done.moved_paths == {"guide.md": "manual.md"}


def test_same_rename_with_different_edits_is_merged(history: History) -> None:
    one, other = GUIDE.replace("Run it.", "Run it twice."), GUIDE.replace("Use it.", "Use it well.")
    both = one.replace("Use it.", "Use it well.")
    done = merge(history, {"guide.md": None, "manual.md": one}, {"guide.md": other})
    assert texts(done) == encoded({"guide.md": None, "manual.md": both})
    done = merge(history, {"guide.md": one}, {"guide.md": None, "manual.md": other})
    assert texts(done) == encoded({"guide.md": None, "manual.md": both})
    done = merge(history, {"guide.md": None, "manual.md": one}, {"guide.md": None, "manual.md": other})
    assert texts(done) == encoded({"guide.md": None, "manual.md": both})
    assert done.conflicts == ()


def test_same_rename_is_merged_despite_low_similarity(history: History) -> None:
    short = "# Manual\n\nAll is said here anew, with many words that never stood there.\n"
    done = merge(history, {"guide.md": None, "manual.md": GUIDE}, {"guide.md": None, "manual.md": short})
    assert done.conflicts == ()
    assert texts(done) == encoded({"guide.md": None, "manual.md": short})


def test_different_renames_are_a_path_conflict(history: History) -> None:
    ours, theirs = {"guide.md": None, "manual.md": GUIDE}, {"guide.md": None, "handbook.md": GUIDE}
    done = merge(history, ours, theirs)
    assert conflicts(done) == [("manual.md", PATH_UNIT)]
    assert done.conflicts[0].conflict == (PATH_UNIT, b"guide.md", b"manual.md", b"handbook.md")
    assert texts(done) == encoded(ours)
    done = merge(history, ours, theirs, {"manual.md": {PATH_UNIT: THEIRS}})
    assert done.conflicts == ()
    assert done.resolved == (("manual.md", PATH_UNIT),)
    assert texts(done) == encoded(theirs)
    assert texts(merge(history, ours, theirs, {"manual.md": {PATH_UNIT: OURS}})) == encoded(ours)
    with pytest.raises(InvalidResolution):
        merge(
            history,
            ours,
            theirs,
            {"manual.md": {PATH_UNIT: Resolution(ResolutionChoice.CONTENT, b"other.md")}},
        )


@pytest.mark.parametrize("path", ["guide.md", "logo.png"])
def test_removal_and_change_are_a_file_conflict(history: History, path: str) -> None:
    removed, changed = {path: None}, {path: "# Changed\n"}
    old = BASE[path]
    base = old.encode() if isinstance(old, str) else old
    done = merge(history, removed, changed)
    assert conflicts(done) == [(path, FILE_UNIT)]
    assert done.conflicts[0].conflict == (FILE_UNIT, base, None, b"# Changed\n")
    assert texts(done) == encoded(removed)
    assert texts(merge(history, removed, changed, {path: {FILE_UNIT: THEIRS}})) == encoded(changed)
    done = merge(history, changed, removed)
    assert done.conflicts[0].conflict == (FILE_UNIT, base, b"# Changed\n", None)
    assert texts(done) == encoded(changed)
    assert texts(merge(history, changed, removed, {path: {FILE_UNIT: THEIRS}})) == encoded(removed)
    new = {path: {FILE_UNIT: Resolution(ResolutionChoice.CONTENT, b"# Other\n")}}
    assert texts(merge(history, changed, removed, new)) == encoded({path: "# Other\n"})
    assert texts(merge(history, removed, changed, new)) == encoded({path: "# Other\n"})


def test_removal_and_rename_are_a_file_conflict(history: History) -> None:
    done = merge(history, {"guide.md": None}, {"guide.md": None, "manual.md": GUIDE})
    assert done.conflicts[0] == ("manual.md", (FILE_UNIT, GUIDE.encode(), None, GUIDE.encode()))
    assert texts(done) == encoded({"guide.md": None})


def test_edits_follow_files_of_moved_folder(history: History) -> None:
    one, two = BASE["docs/one.md"], BASE["docs/two.md"]
    new = "# Two\n\nThe second page of the folder.\n\nMore.\n"
    removed: Files = {"docs/one.md": None, "docs/two.md": None}
    moved: Files = {**removed, "pages/one.md": one, "pages/two.md": two}
    done = merge(history, {"docs/two.md": new, "docs/three.md": "# Three\n"}, moved)
    assert done.conflicts == ()
    # A new document stays in the old folder, because no rename applies to it.
    assert texts(done) == encoded({**moved, "pages/two.md": new, "docs/three.md": "# Three\n"})


def test_two_documents_at_one_path_are_a_conflict(history: History) -> None:
    """Both sides added a document at the path, or one added and the other moved one."""
    one, other = "# New\n\nOne.\n", "# New\n\nOther.\n"
    done = merge(history, {"new.md": one}, {"new.md": other})
    assert {path for path, _ in conflicts(done)} == {"new.md"}
    assert texts(done) == encoded({"new.md": one})
    assert texts(
        merge(history, {"new.md": one}, {"new.md": other}, {"new.md": {FILE_UNIT: THEIRS}})
    ) == encoded({"new.md": other})
    moved = {"guide.md": None, "new.md": GUIDE}
    done = merge(history, moved, {"new.md": other})
    assert done.conflicts == (("new.md", (FILE_UNIT, None, GUIDE.encode(), other.encode())),)
    assert texts(done) == encoded(moved)
    done = merge(history, {"new.md": other}, moved)
    assert done.conflicts == (("new.md", (FILE_UNIT, None, other.encode(), GUIDE.encode())),)
    assert texts(done) == encoded({"new.md": other})
    done = merge(history, {"new.md": other}, moved, {"new.md": {FILE_UNIT: THEIRS}})
    assert texts(done) == encoded(moved)


def test_document_with_blocked_path_has_edits_of_both(history: History) -> None:
    one, other = GUIDE.replace("Run it.", "Run it twice."), GUIDE.replace("Use it.", "Use it well.")
    done = merge(history, {"guide.md": one, "new.md": "# New\n"}, {"guide.md": None, "new.md": other})
    assert conflicts(done) == [("new.md", FILE_UNIT)]
    both = one.replace("Use it.", "Use it well.")
    assert texts(done) == encoded({"guide.md": both, "new.md": "# New\n"})


def test_file_against_folder_is_a_path_conflict(history: History) -> None:
    for ours, theirs in (({"a": "File.\n"}, {"a/b.md": "# B\n"}), ({"a/b.md": "# B\n"}, {"a": "File.\n"})):
        done = merge(history, ours, theirs)
        (path,) = theirs
        assert conflicts(done) == [(path, PATH_UNIT)]
        assert texts(done) == encoded(ours)
        assert texts(merge(history, ours, theirs, {path: {PATH_UNIT: OURS}})) == encoded(ours)
        with pytest.raises(InvalidResolution):
            merge(history, ours, theirs, {path: {PATH_UNIT: THEIRS}})


@pytest.mark.parametrize(
    ("here", "there"),
    [("New.md", "new.md"), ("caf\u00e9.md", "cafe\u0301.md"), ("Pages/a.md", "pages/b.md")],
)
def test_names_equal_after_folding_are_a_path_conflict(history: History, here: str, there: str) -> None:
    done = merge(history, {here: "# Here\n"}, {there: "# There\n"})
    assert conflicts(done) == [(there, PATH_UNIT)]
    assert texts(done) == encoded({here: "# Here\n"})


def test_case_only_rename_is_merged(history: History) -> None:
    edited = GUIDE.replace("Use it.", "Use it well.")
    done = merge(history, {"guide.md": edited}, {"guide.md": None, "Guide.md": GUIDE})
    assert done.conflicts == ()
    assert texts(done) == encoded({"guide.md": None, "Guide.md": edited})


@pytest.mark.parametrize("path", ["logo.png", "docyard.toml", ".taxonomy.toml", "script.py"])
def test_non_document_is_copied_whole_or_in_conflict(history: History, path: str) -> None:
    history.base = history.commit({path: "# base\n"}, history.base)
    one, other = {path: "# ours\n"}, {path: "# theirs\n"}
    assert merge(history, {}, other).read(path) == b"# theirs\n"
    done = merge(history, one, other)
    assert conflicts(done) == [(path, FILE_UNIT)]
    assert done.conflicts[0].conflict == (FILE_UNIT, b"# base\n", b"# ours\n", b"# theirs\n")
    assert done.read(path) == b"# ours\n"
    assert merge(history, one, other, {path: {FILE_UNIT: THEIRS}}).read(path) == b"# theirs\n"


def test_large_file_in_conflict_is_shown_by_id(history: History) -> None:
    large = b"x" * 10_000_001
    done = merge(history, {"logo.png": b"ours"}, {"logo.png": large})
    theirs = done.conflicts[0].conflict.theirs
    assert theirs is not None
    assert theirs.startswith(b"100644 ")
    assert len(theirs) == len("100644 ") + 40


def test_changed_modes_links_and_submodules_are_merged(history: History) -> None:
    blob, guide = history.store.put_blob(b"guide.md"), hash_blob(GUIDE.encode())
    link, module = (
        WholeEntry(TreeEntry("", blob, LINK_MODE)),
        WholeEntry(TreeEntry("", history.base, SUBMODULE_MODE)),
    )
    kinds: Mapping[str, WholeEntry] = {
        "guide.md": WholeEntry(TreeEntry("", guide, EXECUTABLE_MODE)),
        "link": link,
        "logo.png": link,
        "module": module,
    }
    text = GUIDE.replace("Use it.", "Use it well.")
    one, other = history.commit({"guide.md": text}, history.base), history.commit(kinds, history.base)
    for ours, theirs in ((one, other), (other, one)):
        done = history.merge(ours, theirs)
        assert done.conflicts == ()
        found = {path: done.entry(path) for path in kinds}
        assert {path: entry.mode for path, entry in found.items() if isinstance(entry, TreeEntry)} == {
            path: change.entry.mode for path, change in kinds.items() if change.entry
        }
        assert done.read("guide.md") == text.encode()
    done = history.merge(history.commit({"logo.png": b"changed"}, history.base), other)
    assert conflicts(done) == [("logo.png", FILE_UNIT)]
    assert done.conflicts[0].conflict.theirs == b"120000 " + blob.encode()
    assert history.merge(other, history.commit({}, other)).changes == {}
    removed = history.commit({"module": WholeEntry(None), "link": WholeEntry(None)}, other)
    assert texts(history.merge(other, removed)).keys() == BASE.keys()


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", "..", "."])
def test_merge_of_path_inside_git_folder_is_refused(history: History, name: str) -> None:
    store = history.store
    inner = store.put_tree([TreeEntry("config", store.put_blob(b"[core]\n"), FILE_MODE)])
    outer = store.put_tree([*store.tree(store.commit(history.base).tree), TreeEntry(name, inner, TREE_MODE)])
    who = repositories.signature()
    attack = store.put_commit(outer, (history.base,), who, who, "Attack\n")
    with pytest.raises(InvalidPath):
        history.merge(history.base, attack)


def test_merged_history_is_up_to_date(history: History) -> None:
    ahead = history.commit({"guide.md": "# New\n"}, history.base)
    done = history.merge(ahead, history.base)
    assert done.is_up_to_date
    assert done.changes == {}
    done = history.merge(history.base, ahead)
    assert not done.is_up_to_date
    assert done.conflicts == ()
    assert texts(done) == encoded({"guide.md": "# New\n"})


def test_unrelated_histories_are_refused(history: History) -> None:
    with pytest.raises(UnrelatedHistories):
        history.merge(history.base, history.commit({"guide.md": GUIDE}))


def test_shallow_clone_without_merge_base_is_refused(history: History, tmp_path: Path) -> None:
    whole, shallow = Repo(history.store.common_dir), Repo(tmp_path / "shallow")
    for name in ("ours", "theirs"):
        at = history.base
        for number in range(3):
            at = history.commit({f"{name}{number}.md": "# New\n"}, at)
        whole.git("update-ref", f"refs/heads/{name}", at)
    options = ["--bare", "--depth", "2", "--no-single-branch"]
    whole.git("clone", "-q", *options, whole.path.as_uri(), str(shallow.path))

    def merged() -> Merge:
        git = GitReader(shallow.path)
        one, other = (Snapshot(git, git.tip(name)) for name in ("ours", "theirs"))
        return merge_commits(one, other)

    with pytest.raises(ShallowHistory):
        merged()
    shallow.git("fetch", "-q", "--depth", "10", "origin", "ours:ours", "theirs:theirs")
    assert texts(merged())["theirs2.md"] == b"# New\n"


def test_only_changes_agreed_by_all_bases_are_merged(history: History) -> None:
    """One side reverted a change that the other preserved; the bases disagree, so neither is used."""
    twice, notes = GUIDE.replace("Run it.", "Run it twice."), "# Notes\n\nOther notes.\n"
    one = history.commit({"guide.md": twice}, history.base)
    other = history.commit({"notes.md": notes}, history.base)
    crossed = history.commit({"notes.md": notes}, one, other)
    back = history.commit({"guide.md": twice}, other, one)
    ours = history.commit({"docs/one.md": "# One\n\nNew.\n"}, crossed)
    theirs = history.commit({"guide.md": GUIDE, "a.md": "# A\n"}, back)
    done = history.merge(ours, theirs)
    assert {*done.bases} == {one, other}
    unit = UnitId(UnitKind.TEXT, "install")
    assert done.conflicts == (("guide.md", (unit, None, b"Run it twice.", b"Run it.")),)
    agreed: Files = {"notes.md": notes, "a.md": "# A\n", "docs/one.md": "# One\n\nNew.\n"}
    assert texts(done) == encoded({**agreed, "guide.md": twice})
    done = history.merge(ours, theirs, {"guide.md": {FILE_UNIT: THEIRS}})
    assert done.conflicts == ()
    assert done.resolved == (("guide.md", FILE_UNIT),)
    assert texts(done) == encoded(agreed)
    done = history.merge(ours, theirs, {"guide.md": {unit: THEIRS}})
    assert (done.conflicts, done.resolved) == ((), (("guide.md", unit),))
    assert texts(done) == encoded(agreed)


def test_units_equal_in_all_bases_are_merged(history: History) -> None:
    """Units equal in all bases are merged, next to a heading, a key and a text that differ."""
    head = "---\nowner: ada\nstate: new\n---\n\n"
    start = history.commit({"guide.md": head + GUIDE}, history.base)
    twice = (
        (head + GUIDE)
        .replace("Run it.", "Run it twice.")
        .replace("ada", "bob")
        .replace("# Use", "# Usage {#use}")
    )
    one = history.commit({"guide.md": twice}, start)
    other = history.commit({"a.md": "# A\n"}, start)
    crossed = history.commit({"a.md": "# A\n"}, one, other)
    back = history.commit({"guide.md": twice}, other, one)
    ours = history.commit({"guide.md": twice.replace("new", "done")}, crossed)
    reverted = (head + GUIDE).replace("Introduction.", "Welcome.").replace("Use it.", "Use it well.")
    theirs = history.commit({"guide.md": reverted}, back)
    done = history.merge(ours, theirs)
    assert {*done.bases} == {one, other}
    assert conflicts(done) == [
        ("guide.md", UnitId(UnitKind.METADATA, "owner")),
        ("guide.md", UnitId(UnitKind.TEXT, "install")),
        ("guide.md", UnitId(UnitKind.HEADING, "use")),
    ]
    agreed = (
        twice.replace("new", "done").replace("Introduction.", "Welcome.").replace("Use it.", "Use it well.")
    )
    assert texts(done)["guide.md"] == agreed.encode()


def test_merged_file_tree_equals_that_of_merge_commit(history: History) -> None:
    done = merge(
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
    world = MergedWorld(done)
    assert sorted(world.entries("")) == ["a.md", "g", "logo.png", "notes.md", "x"]
    assert sorted(world.entries("x")) == ["y"]
    assert world.is_folder("x/y")
    assert not world.exists("docs")
    assert not world.exists("guide.md")
    assert world.exists("x/y/z.md")
    assert not world.is_folder("x/y/z.md")
    assert set(world.stems) == {"a", "guide", "notes", "z"}
    document = world.document("g/guide.md")
    assert document is not None
    assert document.data == (GUIDE + "\nMore.\n").encode()
    assert world.document("logo.png") is None
    assert world.document("docs/one.md") is None


PATHS = ("a.txt", "b.txt", "f/c.txt", "F/d.txt", "f", "F/C.txt", "link")
WORDS = st.sampled_from([b"", b"1", b"2", b"3"])


@st.composite
def trees_of_files(draw: st.DrawFn) -> dict[str, bytes]:
    """Select files that can exist together on disks of every kind."""
    found: dict[str, bytes] = {}
    for path, data in draw(st.dictionaries(st.sampled_from(PATHS), WORDS)).items():
        folders = {fold_name(above) for other in found for above in _above(other)}
        spelled = {above for other in found for above in _above(other)}
        folded = {fold_name(other) for other in found}
        is_free = (
            fold_name(path) not in folders | folded and not {fold_name(up) for up in _above(path)} & folded
        )
        if is_free and all(up in spelled or fold_name(up) not in folders for up in _above(path)):
            found[path] = data
    return found


def _above(path: str) -> set[str]:
    names = path.split("/")[:-1]
    return {"/".join(names[: depth + 1]) for depth in range(len(names))}


def _commit_of(history: History, files: Mapping[str, bytes], parent: str | None) -> str:
    clear: dict[str, bytes | None] = dict.fromkeys(PATHS) if parent else {}
    return history.commit({**clear, **files}, *([parent] if parent else []))


@given(base=trees_of_files(), ours=trees_of_files(), theirs=trees_of_files())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_file_is_merged_separately(
    history: History, base: dict[str, bytes], ours: dict[str, bytes], theirs: dict[str, bytes]
) -> None:
    start = _commit_of(history, base, None)
    one, other = (_commit_of(history, files, start) for files in (ours, theirs))
    assert texts(history.merge(one, start)) == texts(history.merge(start, one)) == ours
    assert texts(history.merge(one, one)) == ours
    done = history.merge(one, other)
    merged, found = texts(done), dict(done.conflicts)
    for path in PATHS:
        versions = (base.get(path), ours.get(path), theirs.get(path))
        old, here, there = versions
        if path in found:
            assert merged.get(path) == here != there
            assert found[path].unit == PATH_UNIT or found[path] == (FILE_UNIT, *versions)
            assert found[path].unit == PATH_UNIT or old not in (here, there)
        else:
            assert merged.get(path) == (here if there in (old, here) else there)
    # The merged files form a valid tree, and a merge in the other direction has the same conflicts.
    _commit_of(history, {path: data for path, data in merged.items() if data is not None}, one)
    back = {path for path, conflict in history.merge(other, one).conflicts if conflict.unit == FILE_UNIT}
    assert back == {path for path, conflict in found.items() if conflict.unit == FILE_UNIT}


def test_every_conflict_can_be_resolved(history: History) -> None:
    """A used resolution is reported as resolved; a resolution without a conflict is not."""
    ours: Files = {"guide.md": None, "logo.png": b"ours", "new.md": "# Ours\n"}
    theirs: Files = {"guide.md": "# Theirs\n", "logo.png": b"theirs", "new.md": "# Theirs\n"}
    for choice, files in ((OURS, ours), (THEIRS, theirs)):
        done = merge(history, ours, theirs, {path: {FILE_UNIT: choice} for path in (*ours, "notes.md")})
        assert done.conflicts == ()
        assert {path for path, _ in done.resolved} == ours.keys()
        assert texts(done) == encoded(files)
