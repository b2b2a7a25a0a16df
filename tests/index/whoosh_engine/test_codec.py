"""The codec: the reader and searcher of Whoosh return the contents of the segments of an index."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from whoosh import query, scoring
from whoosh.matching import ReadTooFar
from whoosh.reading import IndexReader, TermNotFound

from index.port import State
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.store import Store
from index.whoosh_engine.codec import make_key, split_term
from index.whoosh_engine.flat_index import FlatIndex
from tests.index.documents import GrowingIndex, make_document, make_random_document, make_segment

PATHS = [f"{letter}{number}.md" for letter in "abc" for number in range(5)]


def grow_index(seed: int) -> GrowingIndex:
    rng = Random(seed)
    index = GrowingIndex()
    for _ in range(4):
        changed_paths = rng.sample(PATHS, 6)
        index.change(
            (make_random_document(rng, path, rng.randrange(5)) for path in changed_paths[:5]),
            changed_paths[5:],
        )
    return index


@pytest.fixture(params=range(4))
def index_snapshot(request: pytest.FixtureRequest, tmp_path: Path) -> IndexSnapshot:
    """Return an index with replaced documents that was committed to a folder and read again."""
    segment_readers = grow_index(request.param).segment_readers
    state = State("c", 1, sum(segment_reader.size for segment_reader in segment_readers), 1, "now")
    assert any(segment_reader.dead_documents for segment_reader in segment_readers)
    Store(tmp_path).commit(None, segment_readers, state)
    return Store(tmp_path).read()


def open_reader(*segment_readers: SegmentReader) -> IndexReader:
    state = State(None, 0, sum(segment_reader.size for segment_reader in segment_readers), 0, "")
    return FlatIndex(IndexSnapshot(0, state, segment_readers)).reader()


def test_whoosh_reader_equals_its_segment(index_snapshot: IndexSnapshot) -> None:
    segment_readers = index_snapshot.segment_readers
    with FlatIndex(index_snapshot).reader() as index_reader:
        assert index_reader.doc_count() == index_snapshot.state.chunks
        leaves = index_reader.leaf_readers()
        assert len(leaves) == len(segment_readers)
        for (reader, _), segment_reader in zip(leaves, segment_readers, strict=True):
            check_reader(reader, segment_reader)


def check_reader(reader: Any, segment_reader: SegmentReader) -> None:
    segment, dead_numbers = segment_reader.segment, set(segment_reader.dead_sections.tolist())
    live_numbers = [number for number in range(segment.size) if number not in dead_numbers]
    assert list(reader.all_doc_ids()) == live_numbers
    assert (reader.doc_count_all(), reader.doc_count()) == (segment.size, len(live_numbers))
    assert reader.has_deletions() == bool(dead_numbers)
    assert [reader.is_deleted(number) for number in range(segment.size)] == [
        n in dead_numbers for n in range(segment.size)
    ]
    assert [reader.doc_field_length(n, "text") for n in range(segment.size)] == segment.lengths.tolist()
    assert reader.field_length("text") == segment_reader.total_length
    assert reader.min_field_length("text") == min(segment.lengths, default=0)
    assert reader.max_field_length("text") == max(segment.lengths, default=0)
    for number in live_numbers:
        assert reader.stored_fields(number) == {"record": segment.record(number)}
    assert sorted(reader.all_terms()) == sorted(map(split_term, segment.term_keys()))
    for key in segment.term_keys():
        name, text = split_term(key)
        ids, weights = (array.tolist() for array in segment.postings(key))
        info = reader.term_info(name, text)
        assert (info.doc_frequency(), info.weight(), info.max_weight()) == (
            len(ids),
            sum(weights),
            max(weights),
        )
        assert (info.min_id(), info.max_id()) == (ids[0], ids[-1])
        assert info.min_length() == min(segment.lengths[number] for number in ids)
        assert info.max_length() == max(segment.lengths[number] for number in ids)
        assert reader.doc_frequency(name, text) == len(ids)
        assert (name, text) in reader
        terms = reader.postings(name, text)
        postings = []
        while terms.is_active():
            postings.append((terms.id(), terms.weight()))
            terms.next()
        assert postings == [pair for pair in zip(ids, weights, strict=True) if pair[0] not in dead_numbers]


def test_terms_are_listed_in_order_field_by_field(index_snapshot: IndexSnapshot) -> None:
    keys = {
        key for segment_reader in index_snapshot.segment_readers for key in segment_reader.segment.term_keys()
    }
    with FlatIndex(index_snapshot).reader() as reader:
        assert list(reader.all_terms()) == sorted(map(split_term, keys))
        for name in ("text", "facet_tags", "facet_type"):
            texts = sorted(text for field, text in map(split_term, keys) if field == name)
            assert list(reader.lexicon(name)) == texts
            for prefix in (b"", b"a", b"wo", b"\xff"):
                terms = list(reader.expand_prefix(name, prefix))
                assert terms == [text for text in texts if text.startswith(prefix)]


@pytest.mark.parametrize("weighting", [scoring.TF_IDF(), scoring.BM25F(), scoring.Frequency()])
def test_whoosh_searcher_finds_live_sections_of_each_term(
    index_snapshot: IndexSnapshot, weighting: scoring.WeightingModel
) -> None:
    with FlatIndex(index_snapshot).searcher(weighting=weighting) as searcher:
        for key in {
            key
            for segment_reader in index_snapshot.segment_readers
            for key in segment_reader.segment.term_keys()
        }:
            name, text = split_term(key)
            expected = {
                segment_reader.segment.address(number): weight
                for segment_reader in index_snapshot.segment_readers
                for number, weight in zip(
                    *(a.tolist() for a in segment_reader.segment.postings(key)), strict=True
                )
                if number not in segment_reader.dead_sections
            }
            hits = searcher.search(query.Term(name, text.decode()), limit=None)
            assert {hit["record"][:2] for hit in hits} == expected.keys()
            if isinstance(weighting, scoring.Frequency):
                assert {hit["record"][:2]: hit.score for hit in hits} == expected


def test_matcher_skips_and_starts_again() -> None:
    documents = [make_document(f"{number}.md", "# Yak" if number % 3 else "# Gnu") for number in range(9)]
    [(leaf, _)] = open_reader(SegmentReader.of(make_segment(documents))).leaf_readers()
    matcher = leaf.postings("text", "yak")
    assert list(matcher.all_ids()) == [1, 2, 4, 5, 7, 8]
    matcher.skip_to(3)
    assert matcher.id() == 4
    matcher_copy = matcher.copy()
    matcher_copy.skip_to(2)
    assert matcher_copy.id() == 4
    matcher_copy.skip_to(9)
    assert not matcher_copy.is_active()
    for failing_call in (matcher_copy.next, lambda: matcher_copy.skip_to(9)):
        with pytest.raises(ReadTooFar):
            failing_call()
    matcher_copy.reset()
    assert (matcher_copy.id(), matcher.id()) == (1, 4)
    assert matcher_copy.value() == b""


def test_unknown_term_raises_term_not_found() -> None:
    with open_reader(SegmentReader.of(make_segment([make_document("a.md", "# Yak\n")]))) as reader:
        assert ("text", "zebra") not in reader
        assert ("text", "yak") in reader
        assert ("path", "yak") not in reader
        assert reader.doc_frequency("text", "zebra") == 0
        with pytest.raises(TermNotFound):
            reader.postings("text", "zebra")
        with pytest.raises(TermNotFound):
            reader.term_info("facet_tags", "zebra")


def test_index_without_sections_is_empty() -> None:
    index = FlatIndex(IndexSnapshot(3, State(None, 0, 0, 0, ""), ()))
    assert (index.is_empty(), index.latest_generation(), index.doc_count()) == (True, 3, 0)
    with index.searcher() as searcher:
        assert list(searcher.search(query.Term("text", "yak"))) == []


def test_keys_and_terms_convert_both_ways() -> None:
    for key in (b"\0yak", b"tags\0a\0b", b"\xc3\xa9 \0x", b"text\0x", b"\0"):
        assert make_key(*split_term(key)) == key
    assert make_key("path", b"x") is None
