"""Commits and trees read as bytes, held against the parsers of whole objects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.git import DamagedRepository, Entry, Signature
from workspace.git.ancestry import find_entry, parse_node, route_of
from workspace.objects import FILE_MODE, TREE_MODE, commit_bytes, parse_tree, tree_bytes

IDS = st.binary(min_size=20, max_size=20).map(bytes.hex)
NAMES = st.text(st.sampled_from("ab 1064.\u00e9"), min_size=1, max_size=12).filter(
    lambda name: name not in ". .."
)
ENTRIES = st.dictionaries(NAMES, st.tuples(IDS, st.sampled_from((FILE_MODE, TREE_MODE, 0o100755, 0o120000))))


@given(ENTRIES, NAMES)
def test_an_entry_is_found_as_a_parser_finds_it(entries: dict[str, tuple[str, int]], other: str) -> None:
    data = tree_bytes(Entry(name, id, mode) for name, (id, mode) in entries.items())
    known = {entry.name: entry for entry in parse_tree(data)}
    for name in (*entries, other):
        entry = known.get(name)
        blob = entry.id if entry is not None and entry.is_blob else None
        assert find_entry(data, route_of(name)[-1]) == blob
        folder = entry.id if entry is not None and entry.is_tree else None
        assert find_entry(data, route_of(f"{name}/x")[0]) == folder


def test_a_name_that_ends_like_an_entry_is_not_one() -> None:
    data = tree_bytes(
        [Entry("my 100644 a.md", "1" * 40, FILE_MODE), Entry("notes a.md", "2" * 40, FILE_MODE)]
    )
    assert find_entry(data, route_of("a.md")[0]) is None


@given(IDS, st.lists(IDS, max_size=3), st.integers(0, 2**40), st.text(max_size=20))
def test_a_commit_is_its_tree_its_parents_and_its_time(
    tree: str, parents: list[str], time: int, words: str
) -> None:
    author, committer = Signature("A > B", "a@example.org", 5), Signature(words, "c@example.org", time, 90)
    node = parse_node(commit_bytes(tree, parents, author, committer, "tree 0\nparent 1\n"))
    assert node == (tree, tuple(parents), time)


@pytest.mark.parametrize("data", [b"", b"tree x\n", b"tree " + b"0" * 40 + b"\n"])
def test_what_is_no_commit_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedRepository):
        parse_node(data)
