"""Trees are walked, compared and rewritten; the results are compared with those of git."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.example_counts import scale_examples
from workspace.git import trees
from workspace.git.objects import EXECUTABLE_MODE, FILE_MODE, LINK_MODE, TreeEntry
from workspace.git.store import GitStore
from workspace.git.trees import PathBlocked, WholeEntry

SIGNATURE = repositories.make_signature()
# Few names, some of them prefixes of others, so that Git's sort order of folders matters.
PATHS = st.lists(st.sampled_from(["a", "a.md", "a-b", "b", "ä"]), min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.sampled_from([b"", b"one", b"two"]), max_size=8)


@pytest.fixture(scope="module")
def store() -> Iterator[GitStore]:
    with tempfile.TemporaryDirectory() as folder:
        yield GitStore(repositories.create_empty_repository(Path(folder)).path)


def remove_path_conflicts(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files, except a file at a path where another file needs a folder."""
    return {
        path: data
        for path, data in files.items()
        if not any(other_path.startswith(f"{path}/") for other_path in files)
    }


def write_tree(store: GitStore, files: dict[str, bytes]) -> str:
    return trees.rewrite_tree(store, None, {path: store.put_blob(data) for path, data in files.items()})


def read_tree(store: GitStore, tree: str) -> dict[str, bytes]:
    return {path: store.blob(entry.id) for path, entry in trees.walk_tree(store, tree)}


@settings(max_examples=scale_examples(60), deadline=None)
@given(FILES.map(remove_path_conflicts), FILES.map(remove_path_conflicts))
def test_rewritten_tree_differs_by_exactly_its_changes(
    store: GitStore, old: dict[str, bytes], new: dict[str, bytes]
) -> None:
    old_tree, new_tree = write_tree(store, old), write_tree(store, new)
    assert read_tree(store, old_tree) == old
    changes = {change.path: change for change in trees.diff_trees(store, old_tree, new_tree)}
    assert set(changes) == {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    for path, change in changes.items():
        assert (change.old is None, change.new is None) == (path not in old, path not in new)
    removals = {path: None for path in old if path not in new}
    new_blobs = {path: store.put_blob(data) for path, data in new.items()}
    assert trees.rewrite_tree(store, old_tree, {**removals, **new_blobs}) == new_tree
    assert set(trees.diff_trees(store, None, new_tree)) == {
        trees.TreeChange(path, None, entry) for path, entry in trees.walk_tree(store, new_tree)
    }
    assert list(trees.diff_trees(store, new_tree, new_tree)) == []


def test_git_fsck_accepts_rewritten_trees(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path, {"a-b": "1", "a/x": "2", "a.md": "3", "a0": "4"})
    store = GitStore(repo.path)
    tree = store.commit(repo.head()).tree
    new_tree = trees.rewrite_tree(store, tree, {"a/y": store.put_blob(b"5"), "a-b": None})
    new_commit = store.put_commit(new_tree, (), SIGNATURE, SIGNATURE, "Rewrite")
    repo.git("update-ref", "refs/heads/rewritten", new_commit)
    assert repo.fsck() == ""
    assert repo.git("ls-tree", "-r", "--name-only", "rewritten").split() == ["a.md", "a/x", "a/y", "a0"]


def test_diff_reads_only_different_subtrees(store: GitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"d{number}/f.md": b"x" for number in range(50)}
    old_tree = write_tree(store, files)
    new_tree = trees.rewrite_tree(store, old_tree, {"d7/f.md": store.put_blob(b"y")})
    reads = []
    compare_trees = GitStore.compare_trees
    monkeypatch.setattr(
        GitStore, "compare_trees", lambda self, *ids: reads.append(ids) or compare_trees(self, *ids)
    )
    assert [change.path for change in trees.diff_trees(store, old_tree, new_tree)] == ["d7/f.md"]
    assert len(reads) == 2


def test_modes_are_preserved_and_links_refused(store: GitStore) -> None:
    blob = store.put_blob(b"#!/bin/sh\n")
    tree = store.put_tree([TreeEntry("run.md", blob, EXECUTABLE_MODE), TreeEntry("link.md", blob, LINK_MODE)])
    tree = trees.rewrite_tree(store, tree, {"run.md": store.put_blob(b"new"), "plain.md": blob})
    modes = {path: entry.mode for path, entry in trees.walk_tree(store, tree)}
    assert modes == {"run.md": EXECUTABLE_MODE, "link.md": LINK_MODE, "plain.md": FILE_MODE}
    for path in ("link.md", "link.md/below.md"):
        with pytest.raises(PathBlocked):
            trees.rewrite_tree(store, tree, {path: blob})
    with pytest.raises(PathBlocked):
        trees.rewrite_tree(store, tree, {"link.md": None})


def test_whole_entry_preserves_kind_and_mode(store: GitStore) -> None:
    blob, other_blob = store.put_blob(b"x"), store.put_blob(b"y")
    link, executable = (
        WholeEntry(TreeEntry("any", blob, LINK_MODE)),
        WholeEntry(TreeEntry("any", blob, EXECUTABLE_MODE)),
    )
    tree = trees.rewrite_tree(store, None, {"a": other_blob, "b/c": link, "d": executable})
    assert [(path, *entry[1:]) for path, entry in trees.walk_tree(store, tree)] == [
        ("a", other_blob, FILE_MODE),
        ("b/c", blob, LINK_MODE),
        ("d", blob, EXECUTABLE_MODE),
    ]
    new_tree = trees.rewrite_tree(
        store, tree, {"a": link, "b/c": WholeEntry(None), "b": executable, "d": WholeEntry(None)}
    )
    assert [(path, entry.mode) for path, entry in trees.walk_tree(store, new_tree)] == [
        ("a", LINK_MODE),
        ("b", EXECUTABLE_MODE),
    ]
    assert trees.rewrite_tree(store, tree, {"nothing": WholeEntry(None), "b": WholeEntry(None)}) == tree
    for path in ("b", "a/below"):
        with pytest.raises(PathBlocked):
            trees.rewrite_tree(store, tree, {path: executable})


def test_file_and_folder_can_replace_each_other(store: GitStore) -> None:
    old_blob, new_blob = store.put_blob(b"1"), store.put_blob(b"2")
    tree = trees.rewrite_tree(store, None, {"a": old_blob, "b/c/d": old_blob})
    assert read_tree(store, trees.rewrite_tree(store, tree, {"a": None, "a/b": new_blob})) == {
        "b/c/d": b"1",
        "a/b": b"2",
    }
    assert read_tree(store, trees.rewrite_tree(store, tree, {"b/c/d": None, "b": new_blob})) == {
        "a": b"1",
        "b": b"2",
    }
    assert read_tree(store, trees.rewrite_tree(store, tree, {"b/c/d": None})) == {"a": b"1"}
    for path in ("a/b", "b", "b/c"):
        with pytest.raises(PathBlocked):
            trees.rewrite_tree(store, tree, {path: new_blob})
    assert trees.rewrite_tree(store, tree, {"nothing/here": None, "b": None, "a/x": None}) == tree


def test_find_in_tree_returns_entry_or_none(store: GitStore) -> None:
    tree = write_tree(store, {"a/b/c.md": b"1"})
    entry = trees.find_in_tree(store, tree, "a/b/c.md")
    assert entry is not None
    assert store.blob(entry.id) == b"1"
    folder = trees.find_in_tree(store, tree, "a/b")
    assert folder is not None
    assert folder.is_tree
    for path in ("x", "a/x", "a/b/c.md/d"):
        assert trees.find_in_tree(store, tree, path) is None
