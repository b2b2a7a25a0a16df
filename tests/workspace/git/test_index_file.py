"""Splices change Git's index file, and git reads the changed index."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.example_counts import scale_examples
from tests.repositories import Repo
from workspace.git.index_file import IndexFile, PathOccupied
from workspace.git.objects import EXECUTABLE_MODE, FILE_MODE

LONG_NAME = "c" * 200
FOLDERS = [
    "",
    "a/",
    "a/bb/",
    f"a/{LONG_NAME}/{LONG_NAME}/{LONG_NAME}/{LONG_NAME}/{LONG_NAME}/{LONG_NAME}/{LONG_NAME}/",
    "a.b/",
    "z/y/x/w/",
]
FILES = {f"{folder}f{number}.md": f"{folder}{number}\n" for folder in FOLDERS for number in range(4)}
PATHS = st.sampled_from(
    [*FILES, "a/aa.md", "a/bb.md", "new.md", "z/y/n.md", f"q/{LONG_NAME}.md", "\u00e9/\u4e2d.md"]
)
BLOB_ID = "257cc5642cb1a054f08cc83f2d943e56fd3ebe99"  # the id of the blob "foo\n"
CHANGES = st.dictionaries(
    PATHS, st.sampled_from([None, (BLOB_ID, FILE_MODE), (BLOB_ID, EXECUTABLE_MODE)]), max_size=8
)


@pytest.fixture(scope="module", params=[2, 3, 4])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = repositories.create_repository(tmp_path_factory.mktemp("repo"), FILES)
    repo.git("update-index", f"--index-version={request.param}")
    if request.param == 3:
        repo.git("update-index", "--skip-worktree", "a/f1.md")
    subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=repo.path, input=b"foo\n", check=True)
    return repo


def list_index(repo: Repo) -> dict[str, tuple[str, int]]:
    entries = {}
    for line in repo.git("ls-files", "--stage", "-z").split("\0")[:-1]:
        fields, _, path = line.partition("\t")
        mode, id, stage = fields.split(" ")
        assert stage == "0"
        entries[path] = (id, int(mode, 8))
    return entries


def test_every_index_entry_is_read(repo: Repo) -> None:
    index = IndexFile.read(repo.path / ".git" / "index")
    entries, index_version = list_index(repo), index.data[7]
    assert len(index) == len(entries) == len(FILES)
    for path, (id, mode) in entries.items():
        entry = index.entry(path)
        assert entry is not None
        assert (entry.id, entry.mode) == (id, mode)
        assert entry.skip_worktree == (path == "a/f1.md" and index_version == 3)
    assert index.entry("a/f") is None


@settings(
    max_examples=scale_examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(CHANGES)
def test_git_reads_changed_index(repo: Repo, changes: Mapping[str, tuple[str, int] | None]) -> None:
    file = repo.path / ".git" / "index"
    old_data, entries = file.read_bytes(), list_index(repo)
    try:
        new_index = IndexFile(old_data).with_changes(changes)
        expected = dict(entries)
        for path, new_entry in changes.items():
            if new_entry is None:
                expected.pop(path, None)
            else:
                expected[path] = new_entry
        # The entries in memory equal those parsed from the bytes.
        assert [new_index.entry(path) for path in expected] == [
            IndexFile(new_index.data).entry(path) for path in expected
        ]
        file.write_bytes(new_index.data)
        assert list_index(repo) == expected
        tree = repo.git("write-tree")
        repo.git("read-tree", tree.strip())
        assert repo.git("write-tree") == tree
    finally:
        file.write_bytes(old_data)


def test_file_and_folder_of_same_name_are_refused(repo: Repo) -> None:
    index = IndexFile.read(repo.path / ".git" / "index")
    for path in ("a", "a/bb", "a/f1.md/below.md"):
        with pytest.raises(PathOccupied):
            index.with_changes({path: (BLOB_ID, FILE_MODE)})
    assert (
        index.with_changes({"a/f1.md": None, "a/f1.md/below.md": (BLOB_ID, FILE_MODE)}).entry("a/f1.md")
        is None
    )


def test_tree_cache_invalidates_only_changed_folders(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path, {**FILES, "foo": "foo\n"})
    tree = repo.git("write-tree")
    file = repo.path / ".git" / "index"
    index = IndexFile.read(file)
    assert b"TREE" in index.data
    file.write_bytes(index.with_changes({"a/bb/f1.md": (BLOB_ID, FILE_MODE)}).data)
    assert repo.git("write-tree") != tree
    entry = index.entry("a/bb/f1.md")
    assert entry is not None
    file.write_bytes(index.with_changes({"a/bb/f1.md": (entry.id, entry.mode)}).data)
    assert repo.git("write-tree") == tree
