"""Indexes of overlays: cached documents are reused; other documents are added in merged segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from index import overlays
from index.documents import IndexedDocument, UnreadableDocument
from index.overlays import CachedSegments, index_documents, reuse_documents
from index.segments.generation import SegmentReader
from tests.index.documents import make_document, make_segment
from tests.index.segments.test_merge import are_equal

DOCUMENTS = {
    path: make_document(path, f"# {path}\n\nalpha\n\n## One\n\nbeta {path}\n")
    for path in ("a.md", "b.md", "c.md")
}
BLOBS = {path: document.blob for path, document in DOCUMENTS.items()}


def return_no_facets(path: str) -> Mapping[str, tuple[str, ...]]:
    """Return no facets for any document, as in a repository without manifests."""
    return {}


def list_live_paths(segment_readers: Iterable[SegmentReader]) -> list[str]:
    return sorted(
        segment_reader.segment.path(number)
        for segment_reader in segment_readers
        for number in range(segment_reader.segment.document_count)
        if number not in segment_reader.dead_documents
    )


def test_document_with_same_path_blob_and_manifests_is_reused() -> None:
    segment_reader = SegmentReader.of(make_segment(DOCUMENTS.values()))
    required = {"a.md": BLOBS["a.md"], "b.md": "0" * 40, "d.md": BLOBS["c.md"]}
    reuse_result = reuse_documents(
        required, return_no_facets, [CachedSegments([segment_reader], return_no_facets)]
    )
    assert list_live_paths(reuse_result.segment_readers) == ["a.md"]
    assert reuse_result.remaining_blobs == {"b.md": "0" * 40, "d.md": BLOBS["c.md"]}


def test_documents_with_other_or_unknown_facets_are_not_reused() -> None:
    segment_reader = SegmentReader.of(make_segment(DOCUMENTS.values()))
    known_values = {"a.md": {"language": ("go",)}, "b.md": {}}
    reuse_result = reuse_documents(
        BLOBS, return_no_facets, [CachedSegments([segment_reader], known_values.get)]
    )
    assert list_live_paths(reuse_result.segment_readers) == ["b.md"]
    assert sorted(reuse_result.remaining_blobs) == ["a.md", "c.md"]


def test_each_live_document_is_reused_once() -> None:
    first = SegmentReader.of(make_segment(DOCUMENTS.values()), [0])
    second = SegmentReader.of(make_segment([DOCUMENTS["a.md"], DOCUMENTS["b.md"]]))
    reuse_result = reuse_documents(
        BLOBS,
        return_no_facets,
        [CachedSegments([first], return_no_facets), CachedSegments([second], return_no_facets)],
    )
    assert [list_live_paths([segment_reader]) for segment_reader in reuse_result.segment_readers] == [
        ["b.md", "c.md"],
        ["a.md"],
    ]
    assert reuse_result.remaining_blobs == {}


def test_large_segment_with_few_needed_documents_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "MAX_SMALL_OVERLAY_SECTIONS", 10)
    documents = [make_document(f"{number:02}.md", "# A\n\nalpha\n") for number in range(40)]
    segment_reader = SegmentReader.of(make_segment(documents))
    few_blobs = {document.path: document.blob for document in documents[:4]}
    assert reuse_documents(
        few_blobs, return_no_facets, [CachedSegments([segment_reader], return_no_facets)]
    ) == (
        (),
        few_blobs,
    )
    more_blobs = {document.path: document.blob for document in documents[:5]}
    assert list_live_paths(
        reuse_documents(
            more_blobs, return_no_facets, [CachedSegments([segment_reader], return_no_facets)]
        ).segment_readers
    ) == sorted(more_blobs)


def test_small_segments_are_merged_without_deleted_documents() -> None:
    segment_reader = SegmentReader.of(make_segment([DOCUMENTS["a.md"], DOCUMENTS["c.md"]]), [0])
    unreadable_document = UnreadableDocument("x.md", "1" * 40)
    remaining: list[IndexedDocument | UnreadableDocument] = [
        DOCUMENTS["a.md"],
        DOCUMENTS["b.md"],
        unreadable_document,
    ]
    segment_readers, unreadable = index_documents([segment_reader], remaining)
    assert unreadable == {"x.md": "1" * 40}
    [merged_reader] = segment_readers
    assert not merged_reader.dead_documents
    assert are_equal(merged_reader.segment, make_segment(DOCUMENTS.values()))


def test_large_segments_are_reused_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "MAX_SMALL_OVERLAY_SECTIONS", 2)
    segment_reader = SegmentReader.of(make_segment([DOCUMENTS["a.md"], DOCUMENTS["c.md"]]), [0])
    segment_readers, _ = index_documents([segment_reader], [DOCUMENTS["b.md"]])
    assert segment_readers[0] is segment_reader
    assert list_live_paths(segment_readers) == ["b.md", "c.md"]


def test_no_documents_give_no_segments() -> None:
    assert index_documents([], []) == ((), {})
