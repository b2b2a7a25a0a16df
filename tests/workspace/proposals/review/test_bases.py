"""The base of a proposal is a result of `git merge-base`, also after its target has moved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.workspace.proposals.review.scene import Scene
from workspace.git.ancestry import Graph
from workspace.proposals.review.changes import MergeBases

PARENTS = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=2, unique=True), min_size=2, max_size=14)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return one repository for all tests: their commits are independent."""
    return Scene(tmp_path_factory.mktemp("bases") / "repo", {"a.md": "0\n"})


def history(scene: Scene, parents: list[list[int]]) -> list[str]:
    """Create commits, each with parents among those before it."""
    commits = [scene.made({"a.md": "0\n"})]
    for number, row in enumerate(parents, 1):
        above = list(dict.fromkeys(commits[place % len(commits)] for place in row))
        commits.append(scene.made({"a.md": f"{number}\n"}, *above))
    return commits


@settings(max_examples=scale_examples(60))
@given(PARENTS, st.data())
def test_base_is_a_merge_base_of_git(scene: Scene, parents: list[list[int]], data: st.DataObject) -> None:
    commits = history(scene, parents)
    bases = MergeBases(scene.store, Graph(scene.store))
    tips = data.draw(st.lists(st.sampled_from(commits), min_size=2, max_size=4))
    for target in data.draw(st.lists(st.sampled_from(commits), min_size=1, max_size=4)):
        for tip in tips:
            every = scene.store.merge_bases(target, tip)
            found = bases.find(target, tip)
            in_history = [base for base in every if base in bases.list_first_parents(target, 0)]
            assert found == (in_history or every)[0]


def test_criss_cross_uses_newest_base_in_first_parent_history(scene: Scene) -> None:
    ours = scene.made({"a.md": "1\n"}, scene.first)
    theirs = scene.made({"b.md": "1\n"}, scene.first, minutes=9)
    target = scene.made({}, ours, theirs)
    tip = scene.made({}, theirs, ours)
    bases = MergeBases(scene.store, Graph(scene.store))
    assert set(scene.store.merge_bases(target, tip)) == {ours, theirs}
    assert bases.find(target, tip) == ours, "though the other one is younger"
    assert bases.find(tip, target) == theirs


def test_unrelated_histories_have_no_base(scene: Scene) -> None:
    other = scene.made({"b.md": "1\n"})
    assert MergeBases(scene.store, Graph(scene.store)).find(scene.first, other) is None


def test_behind_counts_first_parent_steps_of_target(scene: Scene) -> None:
    bases = MergeBases(scene.store, Graph(scene.store))
    tip = scene.made({"b.md": "1\n"}, scene.first)
    assert bases.behind(scene.first, tip) == 0
    one = scene.made({"a.md": "1\n"}, scene.first)
    side = scene.made({"c.md": "1\n"}, scene.first)
    side = scene.made({"c.md": "2\n"}, side)
    two = scene.made({"c.md": "2\n"}, one, side)
    assert bases.behind(two, tip) == 2, "a merge is one step, however many commits came with it"
    refreshed = scene.made({}, tip, one)
    assert bases.behind(two, refreshed) == 1
    assert bases.behind(two, scene.made({}, refreshed, two)) == 0


def test_behind_counts_to_first_parent_that_contains_base(scene: Scene) -> None:
    side = scene.made({"b.md": "1\n"}, scene.first)
    merge = scene.made({"b.md": "1\n"}, scene.made({"a.md": "1\n"}, scene.first), side)
    tip = scene.made({"c.md": "1\n"}, side)
    bases = MergeBases(scene.store, Graph(scene.store))
    assert bases.find(merge, tip) == side
    assert bases.behind(merge, tip) == 2
