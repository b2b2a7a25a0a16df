"""The base of a proposal is what `git merge-base` finds, however its target moved since it was last asked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.workspace.proposals.review.scene import Scene
from workspace.git.ancestry import Graph
from workspace.proposals.review.changes import MergeBases

PARENTS = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=2, unique=True), min_size=2, max_size=14)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """One repository for all: commits of one test do not know of those of another."""
    return Scene(tmp_path_factory.mktemp("bases") / "repo", {"a.md": "0\n"})


def history(scene: Scene, parents: list[list[int]]) -> list[str]:
    """Commits, each with parents among those before it."""
    commits = [scene.made({"a.md": "0\n"})]
    for number, row in enumerate(parents, 1):
        above = list(dict.fromkeys(commits[place % len(commits)] for place in row))
        commits.append(scene.made({"a.md": f"{number}\n"}, *above))
    return commits


@settings(max_examples=examples(60))
@given(PARENTS, st.data())
def test_as_git_finds_it(scene: Scene, parents: list[list[int]], data: st.DataObject) -> None:
    commits = history(scene, parents)
    bases = MergeBases(scene.store, Graph(scene.store))
    tips = data.draw(st.lists(st.sampled_from(commits), min_size=2, max_size=4))
    for target in data.draw(st.lists(st.sampled_from(commits), min_size=1, max_size=4)):
        for tip in tips:
            every = scene.store.merge_bases(target, tip)
            found = bases.find(target, tip)
            on_way = [base for base in every if base in bases.list_first_parents(target, 0)]
            assert found == (on_way or every)[0]


def test_a_criss_cross_takes_the_newest_on_the_way_of_the_target(scene: Scene) -> None:
    ours = scene.made({"a.md": "1\n"}, scene.first)
    theirs = scene.made({"b.md": "1\n"}, scene.first, minutes=9)
    target = scene.made({}, ours, theirs)
    tip = scene.made({}, theirs, ours)
    bases = MergeBases(scene.store, Graph(scene.store))
    assert set(scene.store.merge_bases(target, tip)) == {ours, theirs}
    assert bases.find(target, tip) == ours, "though the other one is younger"
    assert bases.find(tip, target) == theirs


def test_what_has_nothing_in_common_has_no_base(scene: Scene) -> None:
    other = scene.made({"b.md": "1\n"})
    assert MergeBases(scene.store, Graph(scene.store)).find(scene.first, other) is None


def test_behind_counts_steps_of_the_target(scene: Scene) -> None:
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


def test_a_base_beside_the_way_is_counted_to_where_the_way_left_it(scene: Scene) -> None:
    side = scene.made({"b.md": "1\n"}, scene.first)
    merge = scene.made({"b.md": "1\n"}, scene.made({"a.md": "1\n"}, scene.first), side)
    tip = scene.made({"c.md": "1\n"}, side)
    bases = MergeBases(scene.store, Graph(scene.store))
    assert bases.find(merge, tip) == side
    assert bases.behind(merge, tip) == 2
