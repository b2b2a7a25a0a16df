"""Git's commit-graph, held against the commits themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.history.streams import Made, history
from workspace.git import GitReader
from workspace.git.commit_graph import CommitGraph

FILES = {"a.md": b"# A\n"}


def octopus(path: Path) -> tuple[Repo, list[str]]:
    """Commits of no, one, two, three and four parents."""
    parents: list[list[int]] = [[], [0], [0], [0], [0], [1, 2], [3, 4, 5], [1, 2, 3, 6], [7]]
    return history(path, [Made({**FILES, "n.md": b"%d" % n}, these) for n, these in enumerate(parents)])


def check(repo: Repo, ids: list[str]) -> None:
    reader = GitReader(repo.path)
    graph = CommitGraph.open(reader.common_dir / "objects")
    assert graph is not None
    for id in (*reversed(ids), *ids):
        commit, row = reader.commit(id), graph.find(id)
        assert row == (commit.tree, commit.parents, commit.committer.time)
    assert graph.find("f" * 40) is graph.find("0" * 40) is None


def test_rows_are_the_commits(tmp_path: Path) -> None:
    repo, ids = octopus(tmp_path / "repo")
    repo.git("commit-graph", "write", "--reachable")
    check(repo, ids)


def test_layers_stand_upon_each_other(tmp_path: Path) -> None:
    repo, ids = octopus(tmp_path / "repo")
    for at in (2, 5, 8):
        repo.git("update-ref", "refs/heads/main", ids[at])
        for number in range(9):
            repo.git("update-ref", f"refs/heads/at{number}", ids[min(number, at)])
        repo.git("commit-graph", "write", "--reachable", "--split=no-merge")
    assert len([*(repo.path / "objects/info/commit-graphs").glob("*.graph")]) == 3
    check(repo, ids)


@pytest.mark.parametrize("at", [0, 4, 30, 1100, -30, -1])
def test_a_file_that_is_not_whole_does_not_count(tmp_path: Path, at: int) -> None:
    repo, _ = octopus(tmp_path / "repo")
    repo.git("commit-graph", "write", "--reachable")
    path = repo.path / "objects/info/commit-graph"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)
    assert CommitGraph.open(repo.path / "objects") is None
    path.write_bytes(data[:100])
    assert CommitGraph.open(repo.path / "objects") is None
    path.write_bytes(b"")
    assert GitReader(repo.path).commit_graph is None


def test_it_does_not_count_where_it_is_switched_off_or_the_clone_is_shallow(tmp_path: Path) -> None:
    repo, ids = octopus(tmp_path / "repo")
    repo.git("commit-graph", "write", "--reachable")
    assert GitReader(repo.path).commit_graph is not None
    cut = tmp_path / "cut"
    shutil.copytree(repo.path, cut)
    (cut / "shallow").write_text(ids[5] + "\n")
    assert GitReader(cut).commit_graph is None
    repo.git("config", "core.commitGraph", "false")
    assert GitReader(repo.path).commit_graph is None


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    repo, _ = octopus(tmp_path / "repo")
    assert GitReader(repo.path).commit_graph is None
