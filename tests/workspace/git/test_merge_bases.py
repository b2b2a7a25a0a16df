"""The best common ancestors of two commits are those that `git merge-base --all` finds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.history.streams import Made, history
from workspace.git.ancestry import Node
from workspace.git.merge_bases import Ancestry, ShallowHistory, find_best_common_ancestors
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository

FILES = {"a.md": b"# A\n"}


def _node(parents: Sequence[str], time: int) -> Node:
    return Node("", "", tuple(parents), time)


def made(parents: Sequence[Sequence[int]], late: Sequence[int] = ()) -> list[Made]:
    """Return commits with these parents; `late` is the clock error of each in seconds."""
    clocks = itertools.chain(late, itertools.repeat(0))
    return [
        Made({**FILES, "n.md": b"%d" % n}, these, late=by)
        for n, (these, by) in enumerate(zip(parents, clocks, strict=False))
    ]


@loop_over("seed", range(4))
def test_merge_bases_equal_those_of_git(tmp_path: Path, seed: int) -> None:
    """Random graphs with several roots; in half of them the clocks are wrong."""
    chosen = random.Random(seed)
    parents: list[list[int]] = [[]]
    for number in range(1, 40):
        count = chosen.choice([0, 1, 1, 1, 1, 2, 2, 3]) if number > 20 else chosen.choice([1, 1, 2])
        near = range(max(0, number - 8), number)
        parents.append(chosen.sample(near, min(count, len(near))))
    late = [chosen.randrange(-50_000, 50_000) if seed % 2 else 0 for _ in parents]
    repo, ids = history(tmp_path / "repo", made(parents, late))
    reader = GitReader(repo.path)
    pairs = [chosen.choices(ids, k=2) for _ in range(25)]
    for one, other in pairs:
        expected = repo.git("merge-base", "--all", one, other, check=False).split()
        assert sorted(reader.merge_bases(one, other)) == sorted(expected)


def test_merge_bases_equal_definition_in_random_graphs() -> None:
    """The definition: common ancestors without the ancestors of other common ancestors."""
    chosen = random.Random(11)
    for _ in range(300):
        size = chosen.randrange(2, 14)
        parents = [chosen.sample(range(n), min(n, chosen.choice([0, 1, 1, 2, 2, 3]))) for n in range(size)]
        above: list[set[int]] = []
        for n, these in enumerate(parents):
            above.append({n}.union(*(above[parent] for parent in these)))
        times = [chosen.randrange(5) for _ in range(size)]
        commits = {
            str(n): _node([str(parent) for parent in these], times[n]) for n, these in enumerate(parents)
        }
        for one, other in itertools.combinations(range(size), 2):
            common = above[one] & above[other]
            best = {n for n in common if not any(n in above[rest] for rest in common - {n})}
            found = find_best_common_ancestors(
                str(one), str(other), Ancestry(commits.__getitem__, frozenset())
            )
            assert {int(id) for id in found} == best
            assert len(found) == len(best)


def test_repository_returns_its_merge_bases(tmp_path: Path) -> None:
    repo, ids = history(tmp_path / "repo", made([[], [0], [0], [1, 2], [2, 1], [3], [4]]))
    reader = GitReader(repo.path)
    assert {*reader.merge_bases(ids[5], ids[6])} == {ids[1], ids[2]}
    assert reader.merge_bases(ids[5], ids[1]) == (ids[1],)
    assert reader.merge_bases(ids[5], ids[5]) == (ids[5],)


def test_merge_base_reads_only_newer_commits() -> None:
    commits = {str(n): _node([str(n - 1)] if n else [], n) for n in range(10_000)}
    commits |= {"x": _node(["9990"], 10_000), "y": _node(["9995"], 10_001)}
    read = []

    def look(id: str) -> Node:
        read.append(id)
        return commits[id]

    assert find_best_common_ancestors("x", "y", Ancestry(look, frozenset())) == ("9990",)
    assert len(read) < 15


def test_shallow_clone_raises_error_if_base_is_uncertain(tmp_path: Path) -> None:
    repo, ids = history(tmp_path / "repo", made([[], [0], [1], [2], [0], [4], [3], [3]]))
    for number in range(5):
        repo.git("update-ref", "-d", f"refs/heads/at{number}")
    shallow = Repo(tmp_path / "shallow")
    options = ["--bare", "--depth", "2", "--no-single-branch"]
    repo.git("clone", "-q", *options, repo.path.as_uri(), str(shallow.path))
    reader = GitReader(shallow.path)
    assert reader.is_shallow
    assert reader.merge_bases(ids[6], ids[7]) == (ids[3],)
    with pytest.raises(ShallowHistory):
        reader.merge_bases(ids[3], ids[5])


@loop_over("order", [("a", "b"), ("b", "a")])
def test_shallow_boundary_can_be_a_merge_base(order: tuple[str, str]) -> None:
    # All commits have the same time, so the walk may reach either end first.
    commits = {id: _node(parents, 5) for id, parents in (("a", ("gone",)), ("c", ("a",)), ("b", ("c",)))}
    ancestry = Ancestry(commits.__getitem__, frozenset({"a"}))
    assert find_best_common_ancestors(*order, ancestry) == ("a",)


def test_equal_commit_times_hide_no_ancestor_in_shallow_clone() -> None:
    for merged, ours, theirs, base, first in permutations("abcde"):
        parents = {merged: (ours, theirs), ours: (base,), theirs: (base,), base: (first,), first: ("gone",)}
        commits = {id: _node(found, 5) for id, found in parents.items()}
        ancestry = Ancestry(commits.__getitem__, frozenset({first}))
        assert find_best_common_ancestors(merged, theirs, ancestry) == (theirs,)
        assert find_best_common_ancestors(ours, theirs, ancestry) == (base,)


def test_missing_commit_raises_damaged_repository(tmp_path: Path) -> None:
    repo, ids = history(tmp_path / "repo", made([[], [0]]))
    with pytest.raises(DamagedRepository):
        GitReader(repo.path).merge_bases(ids[0], "f" * 40)
