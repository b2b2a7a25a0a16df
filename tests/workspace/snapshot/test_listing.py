"""The listing of a tree is bounded, because a few objects can represent more paths than fit in memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.repositories import Repo, create_empty_repository
from workspace.config.config import WorkspaceConfig
from workspace.git.reader import GitReader
from workspace.snapshot import snapshot
from workspace.snapshot.snapshot import Listing, TooManyFiles


def make_nested_tree(repo: Repo, name: str, depth: int) -> str:
    """Write a tree of 10 ** depth paths, and return its id: ten entries of each level are the same tree."""
    process = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        cwd=repo.path,
        input=b"# A\n",
        capture_output=True,
        check=True,
    )
    line, suffix = f"100644 blob {process.stdout.decode().strip()}", Path(name).suffix
    for _ in range(depth):
        rows = "".join(f"{line}\t{number}{suffix}\n" for number in range(10))
        tree = subprocess.run(
            ["git", "mktree"], cwd=repo.path, input=rows.encode(), capture_output=True, check=True
        )
        line, suffix = f"040000 tree {tree.stdout.decode().strip()}", ""
    return line.rpartition(" ")[2]


@pytest.mark.parametrize(("name", "limit"), [("a.md", "MAX_DOCUMENTS"), ("a.txt", "MAX_FILES")])
def test_tree_of_too_many_shared_folders_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    repo = create_empty_repository(tmp_path / "nested")
    git, config = GitReader(repo.path), WorkspaceConfig()
    assert len(Listing.read(git, make_nested_tree(repo, "a.md", 3), config).documents) == 1_000
    monkeypatch.setattr(snapshot, limit, 1_000)
    assert len(Listing.read(git, make_nested_tree(repo, "a.md", 3), config).documents) == 1_000
    with pytest.raises(TooManyFiles, match="more than 1,000"):
        Listing.read(git, make_nested_tree(repo, name, 12), config)
