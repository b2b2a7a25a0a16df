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

WHO = repositories.signature()
# Few names, some of them prefixes of others, so that Git's sort order of folders matters.
PATHS = st.lists(st.sampled_from(["a", "a.md", "a-b", "b", "ä"]), min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.sampled_from([b"", b"one", b"two"]), max_size=8)


@pytest.fixture(scope="module")
def store() -> Iterator[GitStore]:
    with tempfile.TemporaryDirectory() as folder:
        yield GitStore(repositories.unborn(Path(folder)).path)


def without_clashes(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files without those at a path where another file needs a folder."""
    return {path: data for path, data in files.items() if not any(p.startswith(path + "/") for p in files)}


def write(store: GitStore, files: dict[str, bytes]) -> str:
    return trees.rewrite_tree(store, None, {path: store.put_blob(data) for path, data in files.items()})


def read(store: GitStore, tree: str) -> dict[str, bytes]:
    return {path: store.blob(entry.id) for path, entry in trees.walk_tree(store, tree)}


@settings(max_examples=scale_examples(60), deadline=None)
@given(FILES.map(without_clashes), FILES.map(without_clashes))
def test_rewritten_tree_differs_by_exactly_its_changes(
    store: GitStore, old: dict[str, bytes], new: dict[str, bytes]
) -> None:
    before, after = write(store, old), write(store, new)
    assert read(store, before) == old
    changes = {change.path: change for change in trees.diff_trees(store, before, after)}
    assert set(changes) == {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    for path, change in changes.items():
        assert (change.old is None, change.new is None) == (path not in old, path not in new)
    # Removals come first, in a step of their own: one batch may swap a file and a folder twice.
    removed = trees.rewrite_tree(store, before, {path: None for path in old if path not in new})
    written = {path: store.put_blob(data) for path, data in new.items()}
    assert trees.rewrite_tree(store, removed, written) == after
    assert set(trees.diff_trees(store, None, after)) == {
        trees.TreeChange(path, None, entry) for path, entry in trees.walk_tree(store, after)
    }
    assert list(trees.diff_trees(store, after, after)) == []


def test_git_fsck_accepts_rewritten_trees(tmp_path: Path) -> None:
    repo = repositories.normal(tmp_path, {"a-b": "1", "a/x": "2", "a.md": "3", "a0": "4"})
    store = GitStore(repo.path)
    tree = store.commit(repo.head()).tree
    changed = trees.rewrite_tree(store, tree, {"a/y": store.put_blob(b"5"), "a-b": None})
    repo.git("update-ref", "refs/heads/made", store.put_commit(changed, (), WHO, WHO, "Made"))
    assert repo.fsck() == ""
    assert repo.git("ls-tree", "-r", "--name-only", "made").split() == ["a.md", "a/x", "a/y", "a0"]


def test_diff_reads_only_different_subtrees(store: GitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"d{number}/f.md": b"x" for number in range(50)}
    before = write(store, files)
    after = trees.rewrite_tree(store, before, {"d7/f.md": store.put_blob(b"y")})
    reads = []
    real = GitStore.compare_trees
    monkeypatch.setattr(GitStore, "compare_trees", lambda self, *ids: reads.append(ids) or real(self, *ids))
    assert [change.path for change in trees.diff_trees(store, before, after)] == ["d7/f.md"]
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
    blob, other = store.put_blob(b"x"), store.put_blob(b"y")
    link, run = (
        WholeEntry(TreeEntry("any", blob, LINK_MODE)),
        WholeEntry(TreeEntry("any", blob, EXECUTABLE_MODE)),
    )
    tree = trees.rewrite_tree(store, None, {"a": other, "b/c": link, "d": run})
    assert [(path, *entry[1:]) for path, entry in trees.walk_tree(store, tree)] == [
        ("a", other, FILE_MODE),
        ("b/c", blob, LINK_MODE),
        ("d", blob, EXECUTABLE_MODE),
    ]
    changed = trees.rewrite_tree(
        store, tree, {"a": link, "b/c": WholeEntry(None), "b": run, "d": WholeEntry(None)}
    )
    assert [(path, entry.mode) for path, entry in trees.walk_tree(store, changed)] == [
        ("a", LINK_MODE),
        ("b", EXECUTABLE_MODE),
    ]
    assert trees.rewrite_tree(store, tree, {"nothing": WholeEntry(None), "b": WholeEntry(None)}) == tree
    for path in ("b", "a/below"):
        with pytest.raises(PathBlocked):
            trees.rewrite_tree(store, tree, {path: run})


def test_file_and_folder_can_replace_each_other(store: GitStore) -> None:
    one, two = store.put_blob(b"1"), store.put_blob(b"2")
    tree = trees.rewrite_tree(store, None, {"a": one, "b/c/d": one})
    assert read(store, trees.rewrite_tree(store, tree, {"a": None, "a/b": two})) == {
        "b/c/d": b"1",
        "a/b": b"2",
    }
    assert read(store, trees.rewrite_tree(store, tree, {"b/c/d": None, "b": two})) == {"a": b"1", "b": b"2"}
    assert read(store, trees.rewrite_tree(store, tree, {"b/c/d": None})) == {"a": b"1"}
    for path in ("a/b", "b", "b/c"):
        with pytest.raises(PathBlocked):
            trees.rewrite_tree(store, tree, {path: two})
    assert trees.rewrite_tree(store, tree, {"nothing/here": None, "b": None, "a/x": None}) == tree


def test_find_in_tree_returns_entry_or_none(store: GitStore) -> None:
    tree = write(store, {"a/b/c.md": b"1"})
    found = trees.find_in_tree(store, tree, "a/b/c.md")
    assert found is not None
    assert store.blob(found.id) == b"1"
    folder = trees.find_in_tree(store, tree, "a/b")
    assert folder is not None
    assert folder.is_tree
    for path in ("x", "a/x", "a/b/c.md/d"):
        assert trees.find_in_tree(store, tree, path) is None
