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
    known = {hash_object("tree", data): data for data in trees}
    comparison = TreeComparison(known.__getitem__)
    for one in (None, *known):
        for other in (None, *known):
            left, right = (parse_tree(known[id]) if id else () for id in (one, other))
            found = comparison.compare(one, other)
            assert found == (
                tuple(entry for entry in left if entry not in right),
                tuple(entry for entry in right if entry not in left),
            )


def test_cached_tree_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_comparison, "MAX_CACHED_ENTRIES", 25)
    known = {
        str(number): encode_tree([TreeEntry(f"{number}-{name}", "1" * 40, FILE_MODE) for name in range(10)])
        for number in range(4)
    }
    reads: Counter[str] = Counter()

    def read(id: str) -> bytes:
        reads[id] += 1
        return known[id]

    comparison = TreeComparison(read)
    for old, new in ("01", "12", "23"):
        comparison.compare(old, new)
    assert reads == Counter("0123")
    comparison.compare("0", "3")
    assert reads["0"] == 2
    assert reads["3"] == 1
