"""Whoosh's own reader and searcher open the index folder, and find the content of its segments."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from whoosh import query, scoring
from whoosh.filedb.filestore import RamStorage
from whoosh.index import TOC, open_dir
from whoosh.reading import TermNotFound

from index.port import State
from index.segments.generation import SegmentReader
from index.segments.store import Store, toc_name
from index.whoosh_engine.codec import NAME, key_of, schema, term_of, write_toc
from tests.index.pages import Growing, page, random_page, segment

PATHS = [f"{letter}{number}.md" for letter in "abc" for number in range(5)]


def grow_index(seed: int) -> Growing:
    chance = Random(seed)
    index = Growing()
    for _ in range(4):
        changed = chance.sample(PATHS, 6)
        index.change((random_page(chance, path, chance.randrange(5)) for path in changed[:5]), changed[5:])
    return index


@pytest.fixture(params=range(4))
def parts(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[SegmentReader, ...]:
    """Return the segments of an index committed to a folder; some of their pages are deleted."""
    chunks = (made := grow_index(request.param)).parts
    state = State("c", 1, sum(part.size for part in chunks), 1, "now")
    assert any(part.dead_pages for part in made.parts)
    return Store(tmp_path).commit(None, made.parts, state, write_toc).parts


def test_whoosh_reader_equals_its_segment(parts: tuple[SegmentReader, ...], tmp_path: Path) -> None:
    with open_dir(str(tmp_path)).reader() as multi:
        leaves = multi.leaf_readers()
        assert len(leaves) == len(parts)
        for (reader, _), part in zip(leaves, parts, strict=True):
            agree(reader, part)


def agree(reader: Any, part: SegmentReader) -> None:
    made, dead = part.segment, set(part.dead.tolist())
    live = [number for number in range(made.size) if number not in dead]
    assert list(reader.all_doc_ids()) == live
    assert (reader.doc_count_all(), reader.doc_count()) == (made.size, len(live))
    assert reader.has_deletions() == bool(dead)
    assert [reader.is_deleted(number) for number in range(made.size)] == [n in dead for n in range(made.size)]
    assert [reader.doc_field_length(n, "text") for n in range(made.size)] == made.lengths.tolist()
    assert reader.field_length("text") == made.total
    assert reader.min_field_length("text") == min(made.lengths, default=0)
    assert reader.max_field_length("text") == max(made.lengths, default=0)
    for number in live:
        path, key = made.address(number)
        assert reader.stored_fields(number) == {"path": path, "key": key}
    assert sorted(reader.all_terms()) == sorted(map(term_of, made.term_keys()))
    for key in made.term_keys():
        name, text = term_of(key)
        ids, weights = (array.tolist() for array in made.postings(key))
        info = reader.term_info(name, text)
        assert (info.doc_frequency(), info.weight(), info.max_weight()) == (
            len(ids),
            sum(weights),
            max(weights),
        )
        assert (info.min_id(), info.max_id()) == (ids[0], ids[-1])
        assert info.min_length() == min(made.lengths[number] for number in ids)
        assert info.max_length() == max(made.lengths[number] for number in ids)
        assert reader.doc_frequency(name, text) == len(ids)
        assert (name, text) in reader
        found = reader.postings(name, text)
        posted = []
        while found.is_active():
            posted.append((found.id(), found.weight()))
            found.next()
        assert posted == [pair for pair in zip(ids, weights, strict=True) if pair[0] not in dead]


def test_terms_are_listed_in_order_field_by_field(parts: tuple[SegmentReader, ...], tmp_path: Path) -> None:
    keys = {key for part in parts for key in part.segment.term_keys()}
    with open_dir(str(tmp_path)).reader() as reader:
        assert list(reader.all_terms()) == sorted(map(term_of, keys))
        for name in ("text", "facet_tags", "facet_type"):
            assert list(reader.lexicon(name)) == sorted(
                text for found, text in map(term_of, keys) if found == name
            )


@pytest.mark.parametrize("weighting", [scoring.TF_IDF(), scoring.BM25F(), scoring.Frequency()])
def test_whoosh_searcher_finds_live_sections_of_each_term(
    parts: tuple[SegmentReader, ...], tmp_path: Path, weighting: scoring.WeightingModel
) -> None:
    with open_dir(str(tmp_path)).searcher(weighting=weighting) as searcher:
        for key in {key for part in parts for key in part.segment.term_keys()}:
            name, text = term_of(key)
            wanted = {
                part.segment.address(number): weight
                for part in parts
                for number, weight in zip(*(a.tolist() for a in part.segment.postings(key)), strict=True)
                if number not in part.dead
            }
            hits = searcher.search(query.Term(name, text.decode()), limit=None)
            assert {(hit["path"], hit["key"]) for hit in hits} == wanted.keys()
            if isinstance(weighting, scoring.Frequency):
                assert {(hit["path"], hit["key"]): hit.score for hit in hits} == wanted


def test_unknown_term_raises_term_not_found(tmp_path: Path) -> None:
    made = [SegmentReader.of(segment([page("a.md", "# Yak\n")]))]
    Store(tmp_path).commit(None, made, State("c", 1, 1, 1, "now"), write_toc)
    with open_dir(str(tmp_path)).reader() as reader:
        assert ("text", "zebra") not in reader
        assert ("text", "yak") in reader
        assert ("path", "yak") not in reader
        assert reader.doc_frequency("text", "zebra") == 0
        with pytest.raises(TermNotFound):
            reader.postings("text", "zebra")
        with pytest.raises(TermNotFound):
            reader.term_info("facet_tags", "zebra")


def test_keys_and_terms_convert_both_ways() -> None:
    for key in (b"\0yak", b"tags\0a\0b", b"\xc3\xa9 \0x", b"text\0x", b"\0"):
        assert key_of(*term_of(key)) == key
    assert key_of("path", b"x") is None


def test_whoosh_reads_the_written_table_of_contents() -> None:
    index = grow_index(7)
    storage = RamStorage()
    storage.files[toc_name(41)] = write_toc(41, index.parts)
    segments = TOC.read(storage, NAME, 41, schema()).segments
    assert [segment.segid for segment in segments] == [part.segment.id for part in index.parts]
    assert [segment.deleted_count() for segment in segments] == [len(part.dead) for part in index.parts]
    assert TOC._filename(NAME, 41) == toc_name(41)
