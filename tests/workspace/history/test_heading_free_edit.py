"""Edits that change no heading are found without a parse; the results equal those of parsed versions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from workspace.document.document import Document
from workspace.history.origins import find_heading_free_edit, measure_common_prefix, measure_common_suffix
from workspace.history.text_ranges import find_section_end

BLOCKS = [
    "## One\n",
    "# T\n",
    "  ### Two\n",
    "Three\n=====\n",
    "Four\n---\n",
    "Text.\n",
    "  Text.\n",
    "\n",
    "\n",
    "- item\n",
    "* item\n",
    "1. item\n",
    "```\n",
    "  ```\n",
    "> ## Q\n",
    "<div>\n",
    "<!--\n",
    "ends -->\n",
    "More text.\r\n",
    "One\rtwo\r",
    "-\n",
    "---\n",
    "title: x\n",
    "\ufeff",
]
TEXT_BLOCKS = BLOCKS[5:12]
DOCUMENTS = st.lists(st.sampled_from(BLOCKS), max_size=12).map("".join)
EDITS = st.lists(st.sampled_from([*TEXT_BLOCKS, "a", " ", "\r\n"]), max_size=4).map("".join)


@settings(max_examples=scale_examples(400))
@given(DOCUMENTS, EDITS, EDITS, DOCUMENTS)
def test_mapped_range_is_that_of_the_same_section(head: str, old: str, new: str, tail: str) -> None:
    """After one edit, a section that is reported as unchanged is the same section."""
    old_data, new_data = (head + old + tail).encode(), (head + new + tail).encode()
    old_document, new_document = Document.parse(old_data), Document.parse(new_data)
    edit = find_heading_free_edit(new_data, old_data)
    if edit is None:
        return
    spans = {section.key: (section.start, find_section_end(section)) for section in old_document.sections}
    for section in new_document.sections:
        old_range = edit.map_range(section.start, find_section_end(section))
        assert old_range is None or spans.get(section.key) == old_range


@given(st.binary(max_size=20), st.binary(max_size=20), st.integers(0, 3))
def test_prefix_and_suffix_are_the_longest(left: bytes, right: bytes, times: int) -> None:
    left, right = left + b"x" * 5000 * times + b"1", right + b"x" * 5000 * times + b"2"
    prefix = measure_common_prefix(left, right)
    assert left[:prefix] == right[:prefix]
    assert left[prefix : prefix + 1] != right[prefix : prefix + 1]
    suffix = measure_common_suffix(left[::-1], right[::-1], 0)
    assert suffix == prefix


def map_range(new: bytes, old: bytes, start: int, end: int) -> tuple[int, int] | None:
    edit = find_heading_free_edit(new, old)
    return edit.map_range(start, end) if edit else None


def test_text_appended_to_the_last_section_belongs_to_it() -> None:
    old = b"# T\n\n## One\n\nText.\n\n## Two\n\nText.\n"
    new = old + b"More.\n"
    assert map_range(new, old, old.index(b"## Two"), len(new)) == (old.index(b"## Two"), len(old))
    first_range = (old.index(b"## One"), old.index(b"## Two"))
    assert map_range(new, old, *first_range) == first_range


def test_longer_paragraph_above_shifts_section_range() -> None:
    old = b"# T\n\nOne.\nTwo.\nThree.\n\n## One\n\nText.\n"
    new = old.replace(b"Two.", b"Two and more.")
    start = old.index(b"## One")
    assert map_range(new, old, start + len(b" and more"), len(new)) == (start, len(old))


def test_edit_within_section_needs_no_parse() -> None:
    old = b"# T\n\n## One\n\nText.\n\nMore.\n\n## Two\n\nText.\n"
    new = old.replace(b"More.", b"Other words.")
    start = old.index(b"## One")
    assert map_range(new, old, start, new.index(b"## Two")) == (start, old.index(b"## Two"))


def test_edit_that_may_create_a_heading_is_not_found() -> None:
    old = b"# T\n\n- item\n\n  Text.\n\n  ## One\n"
    assert find_heading_free_edit(old.replace(b"  Text.", b"Text."), old) is None
