"""A comparison of trees equals that of parsed trees, and reads each tree once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.git import tree_comparison
from workspace.git.objects import FILE_MODE, TREE_MODE, TreeEntry, encode_tree, hash_object, parse_tree
from workspace.git.tree_comparison import TreeComparison

NAMES = st.text(st.sampled_from("ab.é\n"), min_size=1, max_size=3).filter(
    lambda name: name not in {".", ".."}
)
TREES = st.lists(
    st.builds(
        TreeEntry,
        NAMES,
        st.sampled_from("123").map(lambda digit: digit * 40),
        st.sampled_from((FILE_MODE, TREE_MODE)),
    ),
    max_size=30,
    unique_by=lambda entry: entry.name,
).map(encode_tree)


@given(st.lists(TREES, min_size=1, max_size=5))
def test_comparison_equals_that_of_parsed_trees(trees: list[bytes]) -> None:
    trees_by_id = {hash_object("tree", data): data for data in trees}
    comparison = TreeComparison(trees_by_id.__getitem__)
    for left_id in (None, *trees_by_id):
        for right_id in (None, *trees_by_id):
            left_entries, right_entries = (
                parse_tree(trees_by_id[id]) if id else () for id in (left_id, right_id)
            )
            difference = comparison.compare(left_id, right_id)
            assert difference == (
                tuple(entry for entry in left_entries if entry not in right_entries),
                tuple(entry for entry in right_entries if entry not in left_entries),
            )


def test_cached_tree_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_comparison, "MAX_CACHED_ENTRIES", 25)
    trees_by_id = {
        str(number): encode_tree([TreeEntry(f"{number}-{name}", "1" * 40, FILE_MODE) for name in range(10)])
        for number in range(4)
    }
    reads: Counter[str] = Counter()

    def read_tree(id: str) -> bytes:
        reads[id] += 1
        return trees_by_id[id]

    comparison = TreeComparison(read_tree)
    for left_id, right_id in ("01", "12", "23"):
        comparison.compare(left_id, right_id)
    assert reads == Counter("0123")
    comparison.compare("0", "3")
    assert reads["0"] == 2
    assert reads["3"] == 1
