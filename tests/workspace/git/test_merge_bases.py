"""The best common ancestors of two commits equal the result of `git merge-base --all`."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.history.fast_import import PlannedCommit, write_history
from workspace.git.ancestry import Node
from workspace.git.merge_bases import Ancestry, ShallowHistory, find_best_common_ancestors
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository

FILES = {"a.md": b"# A\n"}


def _build_node(parents: Sequence[str], time: int) -> Node:
    return Node("", "", tuple(parents), time)


def build_commits(parents: Sequence[Sequence[int]], clock_errors: Sequence[int] = ()) -> list[PlannedCommit]:
    """Return commits with these parent indexes; `clock_errors` has the clock error of each in seconds."""
    clocks = itertools.chain(clock_errors, itertools.repeat(0))
    return [
        PlannedCommit({**FILES, "n.md": b"%d" % n}, parent_indexes, clock_error_s=clock_error)
        for n, (parent_indexes, clock_error) in enumerate(zip(parents, clocks, strict=False))
    ]


@loop_over("seed", range(4))
def test_merge_bases_equal_those_of_git(tmp_path: Path, seed: int) -> None:
    """Random graphs with several roots; in half of them the clocks are wrong."""
    rng = random.Random(seed)
    parents: list[list[int]] = [[]]
    for number in range(1, 40):
        count = rng.choice([0, 1, 1, 1, 1, 2, 2, 3]) if number > 20 else rng.choice([1, 1, 2])
        recent_commits = range(max(0, number - 8), number)
        parents.append(rng.sample(recent_commits, min(count, len(recent_commits))))
    clock_errors = [rng.randrange(-50_000, 50_000) if seed % 2 else 0 for _ in parents]
    repo, ids = write_history(tmp_path / "repo", build_commits(parents, clock_errors))
    reader = GitReader(repo.path)
    pairs = [rng.choices(ids, k=2) for _ in range(25)]
    for first_id, second_id in pairs:
        expected = repo.git("merge-base", "--all", first_id, second_id, check=False).split()
        assert sorted(reader.merge_bases(first_id, second_id)) == sorted(expected)


def test_merge_bases_equal_definition_in_random_graphs() -> None:
    """The definition: common ancestors without the ancestors of other common ancestors."""
    rng = random.Random(11)
    for _ in range(300):
        size = rng.randrange(2, 14)
        parents = [rng.sample(range(n), min(n, rng.choice([0, 1, 1, 2, 2, 3]))) for n in range(size)]
        ancestors: list[set[int]] = []
        for n, parent_indexes in enumerate(parents):
            ancestors.append({n}.union(*(ancestors[parent] for parent in parent_indexes)))
        times = [rng.randrange(5) for _ in range(size)]
        commits = {
            str(n): _build_node([str(parent) for parent in parent_indexes], times[n])
            for n, parent_indexes in enumerate(parents)
        }
        for first, second in itertools.combinations(range(size), 2):
            common_ancestors = ancestors[first] & ancestors[second]
            best = {
                n
                for n in common_ancestors
                if not any(n in ancestors[ancestor] for ancestor in common_ancestors - {n})
            }
            bases = find_best_common_ancestors(
                str(first), str(second), Ancestry(commits.__getitem__, frozenset())
            )
            assert {int(id) for id in bases} == best
            assert len(bases) == len(best)


def test_criss_cross_merge_has_two_merge_bases(tmp_path: Path) -> None:
    repo, ids = write_history(tmp_path / "repo", build_commits([[], [0], [0], [1, 2], [2, 1], [3], [4]]))
    reader = GitReader(repo.path)
    assert {*reader.merge_bases(ids[5], ids[6])} == {ids[1], ids[2]}
    assert reader.merge_bases(ids[5], ids[1]) == (ids[1],)
    assert reader.merge_bases(ids[5], ids[5]) == (ids[5],)


def test_merge_base_is_found_without_reading_older_commits() -> None:
    commits = {str(n): _build_node([str(n - 1)] if n else [], n) for n in range(10_000)}
    commits |= {"x": _build_node(["9990"], 10_000), "y": _build_node(["9995"], 10_001)}
    read_ids = []

    def read_node(id: str) -> Node:
        read_ids.append(id)
        return commits[id]

    assert find_best_common_ancestors("x", "y", Ancestry(read_node, frozenset())) == ("9990",)
    # The walk reads both tips and the commits 9995 to 9990, and a few of their parents.
    assert len(read_ids) < 15


def test_shallow_clone_raises_error_if_base_is_uncertain(tmp_path: Path) -> None:
    repo, ids = write_history(tmp_path / "repo", build_commits([[], [0], [1], [2], [0], [4], [3], [3]]))
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
    commits = {
        id: _build_node(parents, 5) for id, parents in (("a", ("gone",)), ("c", ("a",)), ("b", ("c",)))
    }
    ancestry = Ancestry(commits.__getitem__, frozenset({"a"}))
    assert find_best_common_ancestors(*order, ancestry) == ("a",)


def test_equal_commit_times_hide_no_ancestor_in_shallow_clone() -> None:
    for merge, ours, theirs, base, boundary in permutations("abcde"):
        parents = {
            merge: (ours, theirs),
            ours: (base,),
            theirs: (base,),
            base: (boundary,),
            boundary: ("gone",),
        }
        commits = {id: _build_node(parent_ids, 5) for id, parent_ids in parents.items()}
        ancestry = Ancestry(commits.__getitem__, frozenset({boundary}))
        assert find_best_common_ancestors(merge, theirs, ancestry) == (theirs,)
        assert find_best_common_ancestors(ours, theirs, ancestry) == (base,)


def test_missing_commit_raises_damaged_repository(tmp_path: Path) -> None:
    repo, ids = write_history(tmp_path / "repo", build_commits([[], [0]]))
    with pytest.raises(DamagedRepository):
        GitReader(repo.path).merge_bases(ids[0], "f" * 40)
