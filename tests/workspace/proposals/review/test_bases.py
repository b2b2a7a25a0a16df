"""The base of a proposal is a result of `git merge-base`, even after its target has moved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.workspace.proposals.review.proposal_setup import ProposalSetup
from workspace.git.ancestry import Graph
from workspace.proposals.review.changes import MergeBases

PARENTS = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=2, unique=True), min_size=2, max_size=14)


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> ProposalSetup:
    """Return one repository for all tests: their commits are independent."""
    return ProposalSetup(tmp_path_factory.mktemp("bases") / "repo", {"a.md": "0\n"})


def create_history(setup: ProposalSetup, parents: list[list[int]]) -> list[str]:
    """Create commits, each with parents among the earlier commits, and return their ids."""
    commits = [setup.create_commit({"a.md": "0\n"})]
    for number, parent_indexes in enumerate(parents, 1):
        parent_ids = list(dict.fromkeys(commits[index % len(commits)] for index in parent_indexes))
        commits.append(setup.create_commit({"a.md": f"{number}\n"}, *parent_ids))
    return commits


@settings(max_examples=scale_examples(60))
@given(PARENTS, st.data())
def test_base_is_a_merge_base_of_git(
    setup: ProposalSetup, parents: list[list[int]], data: st.DataObject
) -> None:
    commits = create_history(setup, parents)
    bases = MergeBases(setup.store, Graph(setup.store))
    tips = data.draw(st.lists(st.sampled_from(commits), min_size=2, max_size=4))
    for target in data.draw(st.lists(st.sampled_from(commits), min_size=1, max_size=4)):
        for tip in tips:
            all_bases = setup.store.merge_bases(target, tip)
            found_base = bases.find(target, tip)
            first_parent_bases = [base for base in all_bases if base in bases.list_first_parents(target, 0)]
            assert found_base == (first_parent_bases or all_bases)[0]


def test_criss_cross_uses_newest_base_in_first_parent_history(setup: ProposalSetup) -> None:
    our_commit = setup.create_commit({"a.md": "1\n"}, setup.first_commit)
    their_commit = setup.create_commit({"b.md": "1\n"}, setup.first_commit, minutes=9)
    target = setup.create_commit({}, our_commit, their_commit)
    tip = setup.create_commit({}, their_commit, our_commit)
    bases = MergeBases(setup.store, Graph(setup.store))
    assert set(setup.store.merge_bases(target, tip)) == {our_commit, their_commit}
    assert bases.find(target, tip) == our_commit, "although the other base is newer"
    assert bases.find(tip, target) == their_commit


def test_unrelated_histories_have_no_base(setup: ProposalSetup) -> None:
    unrelated_commit = setup.create_commit({"b.md": "1\n"})
    assert MergeBases(setup.store, Graph(setup.store)).find(setup.first_commit, unrelated_commit) is None


def test_commits_behind_are_first_parent_commits_of_target(setup: ProposalSetup) -> None:
    bases = MergeBases(setup.store, Graph(setup.store))
    tip = setup.create_commit({"b.md": "1\n"}, setup.first_commit)
    assert bases.count_commits_behind(setup.first_commit, tip) == 0
    first_step = setup.create_commit({"a.md": "1\n"}, setup.first_commit)
    side_commit = setup.create_commit({"c.md": "1\n"}, setup.first_commit)
    side_commit = setup.create_commit({"c.md": "2\n"}, side_commit)
    second_step = setup.create_commit({"c.md": "2\n"}, first_step, side_commit)
    assert bases.count_commits_behind(second_step, tip) == 2, (
        "a merge is one step, for any number of merged commits"
    )
    refreshed_tip = setup.create_commit({}, tip, first_step)
    assert bases.count_commits_behind(second_step, refreshed_tip) == 1
    assert bases.count_commits_behind(second_step, setup.create_commit({}, refreshed_tip, second_step)) == 0


def test_commits_behind_end_at_first_parent_that_base_contains(setup: ProposalSetup) -> None:
    side_commit = setup.create_commit({"b.md": "1\n"}, setup.first_commit)
    merge_commit = setup.create_commit(
        {"b.md": "1\n"}, setup.create_commit({"a.md": "1\n"}, setup.first_commit), side_commit
    )
    tip = setup.create_commit({"c.md": "1\n"}, side_commit)
    bases = MergeBases(setup.store, Graph(setup.store))
    assert bases.find(merge_commit, tip) == side_commit
    assert bases.count_commits_behind(merge_commit, tip) == 2
