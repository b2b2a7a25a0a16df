"""Versions that are told without a parse, held against a parse of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workspace.document import Document
from workspace.history.skipping import common_prefix, common_suffix, shifted

BLOCKS = [
    "## One\n",
    "### Two\n",
    "Three\n=====\n",
    "Four\n---\n",
    "Text.\n",
    "\n",
    "- item\n",
    "```\n",
    "> ## Q\n",
]
DOCUMENTS = st.lists(st.sampled_from([*BLOCKS, "More text.\r\n", "-\n", "<div>\n"]), max_size=12).map("".join)


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_a_section_is_where_it_is_said_to_be(head: str, old: str, new: str, tail: str) -> None:
    """One place of a document is edited; no section that is said to be the same has become another."""
    before, after = (head + old + tail).encode(), (head + new + tail).encode()
    earlier, later = Document.parse(before), Document.parse(after)
    for section in later.sections:
        move = shifted(after, before, section.start, section.tree_end)
        if move is None or section.is_preamble:
            continue
        there = before[section.start + move : section.tree_end + move]
        assert there == after[section.start : section.tree_end]
        found = [item for item in earlier.sections if item.start == section.start + move]
        assert [item.tree_end - section.tree_end for item in found] == [move]


@given(st.binary(max_size=20), st.binary(max_size=20), st.integers(0, 3))
def test_prefix_and_suffix_are_the_longest(one: bytes, other: bytes, times: int) -> None:
    one, other = one + b"x" * 5000 * times + b"1", other + b"x" * 5000 * times + b"2"
    prefix = common_prefix(one, other)
    assert one[:prefix] == other[:prefix]
    assert one[prefix : prefix + 1] != other[prefix : prefix + 1]
    suffix = common_suffix(one[::-1], other[::-1], 0)
    assert suffix == prefix


def test_what_is_appended_to_the_last_section_is_its_own() -> None:
    old = b"# T\n\n## One\n\nText.\n\n## Two\n\nText.\n"
    new = old + b"More.\n"
    assert shifted(new, old, old.index(b"## Two"), len(new)) is None
    assert shifted(new, old, 5, old.index(b"## Two")) == 0


def test_a_longer_paragraph_above_moves_a_section() -> None:
    old = b"# T\n\nOne.\nTwo.\nThree.\n\n## One\n\nText.\n"
    new = old.replace(b"Two.", b"Two and more.")
    assert shifted(new, old, new.index(b"## One"), len(new)) == -len(b" and more")
