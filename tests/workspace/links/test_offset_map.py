"""Offset maps: preserved bytes of an edit are mapped one by one, and written ones are distinguished."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.document.document import Document
from workspace.document.splices import Splice
from workspace.links.offset_map import OffsetMap, PreservedSpan, match_same_headings

pytestmark = pytest.mark.smoke


@st.composite
def edits(draw: st.DrawFn) -> tuple[Document, tuple[Splice, ...]]:
    data = draw(st.binary(max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    spans = zip(cuts[::2], cuts[1::2], strict=False)
    splices = [Splice(start, end, draw(st.binary(max_size=5))) for start, end in spans]
    return Document.parse(data, "a.md"), tuple(draw(st.permutations(splices)))


def apply_splices(data: bytes, splices: tuple[Splice, ...]) -> bytes:
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end), reverse=True):
        data = data[: splice.start] + splice.replacement + data[splice.end :]
    return data


@given(edits(), st.sampled_from([None, "b.md"]))
def test_each_preserved_byte_is_mapped(
    edit: tuple[Document, tuple[Splice, ...]], new_path: str | None
) -> None:
    document, splices = edit
    data = apply_splices(document.data, splices)
    offset_map = OffsetMap.of_splices(document, splices, new_path)
    after = Document.parse(data, new_path or "a.md")
    preserved = bytearray(len(data))
    for offset, byte in enumerate(document.data):
        place = offset_map.map_offset("a.md", offset)
        is_removed = any(splice.start <= offset < splice.end for splice in splices)
        assert (place is None) == is_removed
        if place is not None:
            assert place[0] == after.path
            assert data[place[1]] == byte
            preserved[place[1]] = 1
    written = [offset for start, end in offset_map.find_written_spans(after) for offset in range(start, end)]
    assert written == [offset for offset, flag in enumerate(preserved) if not flag]
    assert offset_map.find_new_path("a.md") == after.path
    assert offset_map.map_offset("other.md", 5) == ("other.md", 5)


def test_span_is_mapped_only_if_contiguous() -> None:
    pieces = (PreservedSpan("a.md", 0, 10, "a.md", 0), PreservedSpan("a.md", 10, 20, "b.md", 100))
    offset_map = OffsetMap(pieces)
    assert offset_map.map_span("a.md", 3, 10) == ("a.md", 3)
    assert offset_map.map_span("a.md", 12, 20) == ("b.md", 102)
    assert offset_map.map_span("a.md", 8, 12) is None
    assert offset_map.map_span("a.md", 19, 21) is None
    assert offset_map.map_span("c.md", 19, 21) == ("c.md", 19)
    assert offset_map.paths == {"a.md"}
    assert offset_map.new_paths == ("a.md", "b.md")
    assert offset_map.find_new_path("a.md") == "a.md"


def test_removed_and_created_documents_have_no_preserved_bytes() -> None:
    removed = OffsetMap.of_removal("a.md")
    assert (removed.find_new_path("a.md"), removed.map_offset("a.md", 0), removed.new_paths) == (
        None,
        None,
        (),
    )
    made = OffsetMap.of_creation("a.md")
    assert made.find_written_spans(Document.parse(b"# A\n", "a.md")) == [(0, 4)]
    assert made.find_written_spans(Document.parse(b"# A\n", "b.md")) == ()


@loop_over(
    ("before", "splice", "after", "renamed"),
    [
        ("# A\n\n## B\n", (5, 10, "## C {#b}\n"), "# A\n\n## C {#b}\n", {5: 5}),
        ("## B\n\n## A\n\n## B\n", (0, 6, ""), "## A\n\n## B\n", {}),
        ("## B {#b}\n\n## C {#b}\n", (0, 9, "## B {#b}"), "## B {#b}\n\n## C {#b}\n", {}),
        ("## A\n\n### B\n", (6, 12, "x\n\n### B\n"), "## A\n\nx\n\n### B\n", {6: 9}),
    ],
    ids=["renamed", "removed", "ambiguous", "sent again"],
)
def test_rewritten_heading_at_the_same_address_matches(
    before: str, splice: tuple[int, int, str], after: str, renamed: dict[int, int]
) -> None:
    old, new = (Document.parse(text.encode(), "a.md") for text in (before, after))
    start, end, text = splice
    found = match_same_headings(old, new, [Splice(start, end, text.encode())])
    assert found == {("a.md", was): ("a.md", now) for was, now in renamed.items()}
