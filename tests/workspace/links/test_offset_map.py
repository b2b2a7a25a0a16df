"""Offset maps: each preserved byte of an edit is mapped, and written bytes are reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import loop_over
from workspace.document.document import Document
from workspace.document.splices import Splice
from workspace.links.offset_map import OffsetMap, PreservedSpan, match_rewritten_headings

pytestmark = pytest.mark.smoke


@st.composite
def edits(draw: st.DrawFn) -> tuple[Document, tuple[Splice, ...]]:
    """Draw a document, and splices of it that do not overlap."""
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
    document_after = Document.parse(data, new_path or "a.md")
    is_preserved = [False] * len(data)
    for offset, byte in enumerate(document.data):
        new_position = offset_map.map_offset("a.md", offset)
        is_removed = any(splice.start <= offset < splice.end for splice in splices)
        assert (new_position is None) == is_removed
        if new_position is not None:
            assert new_position[0] == document_after.path
            assert data[new_position[1]] == byte
            is_preserved[new_position[1]] = True
    written_offsets = [
        offset for start, end in offset_map.find_written_spans(document_after) for offset in range(start, end)
    ]
    assert written_offsets == [offset for offset in range(len(data)) if not is_preserved[offset]]
    assert offset_map.find_new_path("a.md") == document_after.path
    assert offset_map.map_offset("other.md", 5) == ("other.md", 5)


def test_span_is_mapped_only_if_contiguous() -> None:
    spans = (PreservedSpan("a.md", 0, 10, "a.md", 0), PreservedSpan("a.md", 10, 20, "b.md", 100))
    offset_map = OffsetMap(spans)
    assert offset_map.map_span("a.md", 3, 10) == ("a.md", 3)
    assert offset_map.map_span("a.md", 12, 20) == ("b.md", 102)
    assert offset_map.map_span("a.md", 8, 12) is None
    assert offset_map.map_span("a.md", 19, 21) is None
    assert offset_map.map_span("c.md", 19, 21) == ("c.md", 19)
    assert offset_map.paths == {"a.md"}
    assert offset_map.new_paths == ("a.md", "b.md")
    assert offset_map.find_new_path("a.md") == "a.md"


def test_removed_and_created_documents_have_no_preserved_bytes() -> None:
    removal_map = OffsetMap.of_removal("a.md")
    assert (removal_map.find_new_path("a.md"), removal_map.map_offset("a.md", 0), removal_map.new_paths) == (
        None,
        None,
        (),
    )
    creation_map = OffsetMap.of_creation("a.md")
    assert creation_map.find_written_spans(Document.parse(b"# A\n", "a.md")) == [(0, 4)]
    assert creation_map.find_written_spans(Document.parse(b"# A\n", "b.md")) == ()


@loop_over(
    ("old_text", "splice", "new_text", "matched_offsets"),
    [
        ("# A\n\n## B\n", (5, 10, "## C {#b}\n"), "# A\n\n## C {#b}\n", {5: 5}),
        ("## B\n\n## A\n\n## B\n", (0, 6, ""), "## A\n\n## B\n", {}),
        ("## B {#b}\n\n## C {#b}\n", (0, 9, "## B {#b}"), "## B {#b}\n\n## C {#b}\n", {}),
        ("## A\n\n### B\n", (6, 12, "x\n\n### B\n"), "## A\n\nx\n\n### B\n", {6: 9}),
    ],
    ids=["renamed", "removed", "ambiguous", "rewritten unchanged"],
)
def test_rewritten_heading_matches_the_only_heading_at_its_address(
    old_text: str, splice: tuple[int, int, str], new_text: str, matched_offsets: dict[int, int]
) -> None:
    old_document, new_document = (Document.parse(text.encode(), "a.md") for text in (old_text, new_text))
    start, end, text = splice
    matches = match_rewritten_headings(old_document, new_document, [Splice(start, end, text.encode())])
    assert matches == {
        ("a.md", old_start): ("a.md", new_start) for old_start, new_start in matched_offsets.items()
    }
