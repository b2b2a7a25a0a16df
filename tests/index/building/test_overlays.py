"""Overlays: cached pages are reused, and other pages are added in compact segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from index import overlays
from index.documents import IndexedDocument, UnreadableDocument
from index.overlays import CachedSegments, index_documents, reuse_documents
from index.segments.generation import SegmentReader
from tests.index.pages import make_page, make_segment
from tests.index.segments.test_merge import are_equal

PAGES = {
    path: make_page(path, f"# {path}\n\nalpha\n\n## One\n\nbeta {path}\n")
    for path in ("a.md", "b.md", "c.md")
}
BLOBS = {path: page.blob for path, page in PAGES.items()}


def find_no_values(path: str) -> Mapping[str, tuple[str, ...]]:
    """Return no values for a document, as if there were no manifests."""
    return {}


def list_live_paths(parts: Iterable[SegmentReader]) -> list[str]:
    return sorted(
        part.segment.path(number)
        for part in parts
        for number in range(part.segment.document_count)
        if number not in part.dead_documents
    )


def test_document_with_same_path_blob_and_manifests_is_reused() -> None:
    part = SegmentReader.of(make_segment(PAGES.values()))
    required = {"a.md": BLOBS["a.md"], "b.md": "0" * 40, "d.md": BLOBS["c.md"]}
    reused_parts = reuse_documents(required, find_no_values, [CachedSegments([part], find_no_values)])
    assert list_live_paths(reused_parts.segment_readers) == ["a.md"]
    assert reused_parts.remaining_blobs == {"b.md": "0" * 40, "d.md": BLOBS["c.md"]}


def test_documents_with_other_or_unknown_facets_are_not_reused() -> None:
    part = SegmentReader.of(make_segment(PAGES.values()))
    known_values = {"a.md": {"language": ("go",)}, "b.md": {}}
    reused_parts = reuse_documents(BLOBS, find_no_values, [CachedSegments([part], known_values.get)])
    assert list_live_paths(reused_parts.segment_readers) == ["b.md"]
    assert sorted(reused_parts.remaining_blobs) == ["a.md", "c.md"]


def test_each_live_document_is_reused_once() -> None:
    first = SegmentReader.of(make_segment(PAGES.values()), [0])
    second = SegmentReader.of(make_segment([PAGES["a.md"], PAGES["b.md"]]))
    reused_parts = reuse_documents(
        BLOBS,
        find_no_values,
        [CachedSegments([first], find_no_values), CachedSegments([second], find_no_values)],
    )
    assert [list_live_paths([part]) for part in reused_parts.segment_readers] == [["b.md", "c.md"], ["a.md"]]
    assert reused_parts.remaining_blobs == {}


def test_large_segment_with_few_needed_documents_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "MAX_SMALL_SECTIONS", 10)
    pages = [make_page(f"{number:02}.md", "# A\n\nalpha\n") for number in range(40)]
    part = SegmentReader.of(make_segment(pages))
    few_blobs = {page.path: page.blob for page in pages[:4]}
    assert reuse_documents(few_blobs, find_no_values, [CachedSegments([part], find_no_values)]) == (
        (),
        few_blobs,
    )
    more_blobs = {page.path: page.blob for page in pages[:5]}
    assert list_live_paths(
        reuse_documents(more_blobs, find_no_values, [CachedSegments([part], find_no_values)]).segment_readers
    ) == sorted(more_blobs)


def test_small_segments_are_merged_without_deleted_documents() -> None:
    part = SegmentReader.of(make_segment([PAGES["a.md"], PAGES["c.md"]]), [0])
    unreadable_page = UnreadableDocument("x.md", "1" * 40)
    remaining: list[IndexedDocument | UnreadableDocument] = [PAGES["a.md"], PAGES["b.md"], unreadable_page]
    parts, unreadable = index_documents([part], remaining)
    assert unreadable == {"x.md": "1" * 40}
    [merged_part] = parts
    assert not merged_part.dead_documents
    assert are_equal(merged_part.segment, make_segment(PAGES.values()))


def test_large_segments_are_reused_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "MAX_SMALL_SECTIONS", 2)
    part = SegmentReader.of(make_segment([PAGES["a.md"], PAGES["c.md"]]), [0])
    parts, _ = index_documents([part], [PAGES["b.md"]])
    assert parts[0] is part
    assert list_live_paths(parts) == ["b.md", "c.md"]


def test_no_documents_give_no_segments() -> None:
    assert index_documents([], []) == ((), {})
