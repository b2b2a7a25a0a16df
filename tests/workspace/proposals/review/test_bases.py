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


def create_history(scene: Scene, parents: list[list[int]]) -> list[str]:
    """Create commits, each with parents among the earlier commits."""
    commits = [scene.create_commit({"a.md": "0\n"})]
    for number, parent_indexes in enumerate(parents, 1):
        parent_ids = list(dict.fromkeys(commits[index % len(commits)] for index in parent_indexes))
        commits.append(scene.create_commit({"a.md": f"{number}\n"}, *parent_ids))
    return commits


@settings(max_examples=scale_examples(60))
@given(PARENTS, st.data())
def test_base_is_a_merge_base_of_git(scene: Scene, parents: list[list[int]], data: st.DataObject) -> None:
    commits = create_history(scene, parents)
    bases = MergeBases(scene.store, Graph(scene.store))
    tips = data.draw(st.lists(st.sampled_from(commits), min_size=2, max_size=4))
    for target in data.draw(st.lists(st.sampled_from(commits), min_size=1, max_size=4)):
        for tip in tips:
            all_bases = scene.store.merge_bases(target, tip)
            found_base = bases.find(target, tip)
            first_parent_bases = [base for base in all_bases if base in bases.list_first_parents(target, 0)]
            assert found_base == (first_parent_bases or all_bases)[0]


def test_criss_cross_uses_newest_base_in_first_parent_history(scene: Scene) -> None:
    our_commit = scene.create_commit({"a.md": "1\n"}, scene.first_commit)
    their_commit = scene.create_commit({"b.md": "1\n"}, scene.first_commit, minutes=9)
    target = scene.create_commit({}, our_commit, their_commit)
    tip = scene.create_commit({}, their_commit, our_commit)
    bases = MergeBases(scene.store, Graph(scene.store))
    assert set(scene.store.merge_bases(target, tip)) == {our_commit, their_commit}
    assert bases.find(target, tip) == our_commit, "although the other base is newer"
    assert bases.find(tip, target) == their_commit


def test_unrelated_histories_have_no_base(scene: Scene) -> None:
    unrelated_commit = scene.create_commit({"b.md": "1\n"})
    assert MergeBases(scene.store, Graph(scene.store)).find(scene.first_commit, unrelated_commit) is None


def test_behind_counts_first_parent_steps_of_target(scene: Scene) -> None:
    bases = MergeBases(scene.store, Graph(scene.store))
    tip = scene.create_commit({"b.md": "1\n"}, scene.first_commit)
    assert bases.count_commits_behind(scene.first_commit, tip) == 0
    first_step = scene.create_commit({"a.md": "1\n"}, scene.first_commit)
    side_commit = scene.create_commit({"c.md": "1\n"}, scene.first_commit)
    side_commit = scene.create_commit({"c.md": "2\n"}, side_commit)
    second_step = scene.create_commit({"c.md": "2\n"}, first_step, side_commit)
    assert bases.count_commits_behind(second_step, tip) == 2, (
        "a merge is one step, for any number of merged commits"
    )
    refreshed_tip = scene.create_commit({}, tip, first_step)
    assert bases.count_commits_behind(second_step, refreshed_tip) == 1
    assert bases.count_commits_behind(second_step, scene.create_commit({}, refreshed_tip, second_step)) == 0


def test_behind_counts_to_first_parent_that_contains_base(scene: Scene) -> None:
    side_commit = scene.create_commit({"b.md": "1\n"}, scene.first_commit)
    merge_commit = scene.create_commit(
        {"b.md": "1\n"}, scene.create_commit({"a.md": "1\n"}, scene.first_commit), side_commit
    )
    tip = scene.create_commit({"c.md": "1\n"}, side_commit)
    bases = MergeBases(scene.store, Graph(scene.store))
    assert bases.find(merge_commit, tip) == side_commit
    assert bases.count_commits_behind(merge_commit, tip) == 2
