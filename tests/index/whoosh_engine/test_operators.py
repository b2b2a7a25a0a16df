"""Queries with operators: results and selected sections equal those of the reference engine."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import pytest
from whoosh import query as whoosh_query

from index.analysis.words import TOKEN
from index.conditions import Condition, HasPrefix, HasSimilarWord, HasValue
from index.documents import IndexedDocument, SectionRecord
from index.port import Query, QueryTooBroad, State
from index.query import parse_query
from index.ranking.cache import ArrayCache
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.segment import PostingLists, Segment, TableBuilder
from index.whoosh_engine import condition_nodes
from index.whoosh_engine.condition_nodes import ConditionEvaluator, ConditionTranslator, Deadline
from index.whoosh_engine.engine import Searcher
from index.whoosh_engine.flat_index import FlatIndex
from tests.index.documents import PATHS, GrowingIndex, make_document, make_segment
from tests.index.random_conditions import (
    make_random_condition,
    make_random_dated_document,
    make_random_operator_query,
)
from tests.index.reference import make_entries
from tests.index.reference_conditions import expand, rank, satisfies
from tests.loops import loop_over
from tests.stdio_client import ROOT

DocumentsByPath = Mapping[str, IndexedDocument]


def make_searcher(index: GrowingIndex) -> Searcher:
    state = State("c", len(index.documents), sum(reader.size for reader in index.segment_readers), 0, "now")
    return Searcher(IndexSnapshot(0, state, index.segment_readers), ArrayCache())


def make_section_reader(documents: DocumentsByPath) -> Callable[[SectionRecord], bytes]:
    def read(record: SectionRecord) -> bytes:
        document = documents[record.path]
        [section] = [section for section in document.sections if section.key == record.key]
        return document.text(section)

    return read


def make_index(rng: Random) -> GrowingIndex:
    index = GrowingIndex()
    paths = [*PATHS, *(f"docs/{number}.md" for number in range(12))]
    for _ in range(rng.randint(1, 5)):
        changed_paths = rng.sample(paths, 8)
        index.change(
            (make_random_dated_document(rng, path, rng.randrange(8)) for path in changed_paths[:6]),
            changed_paths[6:],
        )
        if rng.random() < 0.3:
            first = rng.randrange(len(index.segment_readers))
            index.merge(slice(first, first + rng.randint(1, 3)))
    return index


def search(
    searcher: Searcher, documents: DocumentsByPath, query: Query, limit: int = 10
) -> list[tuple[str, float]]:
    hits = searcher.search(query, make_section_reader(documents), limit=limit).hits
    return [(hit.record.chunk_id, hit.score) for hit in hits]


@pytest.fixture(
    params=[(1 << 16, 1 << 12), (60, 1 << 12), (0, 1 << 12), (0, 20)],
    ids=["one group", "several groups", "each segment pruned", "large segments joined and pruned"],
)
def scoring_mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Score segments in full, in one or more groups; or prune each segment, or the joined large ones."""
    max_full_scoring, max_small_sections = request.param
    for module in ("index.ranking.evaluation", "index.ranking.segment_groups"):
        monkeypatch.setattr(f"{module}.MAX_FULLY_SCORED_SECTIONS", max_full_scoring)
    monkeypatch.setattr("index.ranking.segment_groups.MAX_SMALL_SEGMENT_SECTIONS", max_small_sections)


@pytest.mark.property
@pytest.mark.usefixtures("scoring_mode")
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 12))])
def test_results_equal_reference_engine(seed: int) -> None:
    rng = Random(seed)
    index = make_index(rng)
    searcher = make_searcher(index)
    entries = [entry for document in index.documents.values() for entry in make_entries(document)]
    for _ in range(60):
        query, limit = make_random_operator_query(rng), rng.choice((1, 3, 10, 50, 60))
        offset = rng.choice((0, 0, 1, 10, 41, 51))
        expected_results, is_partial = rank(entries, query, max(50, offset + limit + 1))
        expected = [
            (item.entry.record.chunk_id, item.score) for item in expected_results[offset : offset + limit]
        ]
        results = searcher.search(query, make_section_reader(index.documents), offset=offset, limit=limit)
        assert [(hit.record.chunk_id, hit.score) for hit in results.hits] == expected
        assert (results.has_more, results.is_partial) == (len(expected_results) > offset + limit, is_partial)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(4))
def test_selected_sections_equal_reference_engine_and_whoosh_matchers(seed: int) -> None:
    rng = Random(seed)
    index = make_index(rng)
    searcher = make_searcher(index)
    read = make_section_reader(index.documents)
    entries = [entry for document in index.documents.values() for entry in make_entries(document)]
    whoosh = FlatIndex(searcher.generation).searcher()
    for _ in range(60):
        condition = make_random_condition(rng)
        selected_addresses = {
            (entry.document.path, entry.section.key) for entry in entries if satisfies(entry, condition)
        }
        query = Query({}, condition=condition, includes_all_selected=True)
        assert {
            hit.record[:2] for hit in searcher.search(query, read, limit=10_000).hits
        } == selected_addresses
        node = ConditionTranslator(searcher.statistics, read, Deadline()).make_node(condition)
        whoosh_hits = whoosh.search(whoosh_query.And([whoosh_query.Every(), node]), limit=None)
        assert {hit["record"][:2] for hit in whoosh_hits} == selected_addresses
    assert whoosh.reader().doc_count() == len(entries)


@pytest.mark.parametrize("seed", range(4))
def test_expansions_equal_reference_engine(seed: int) -> None:
    rng = Random(seed)
    index = make_index(rng)
    searcher = make_searcher(index)
    entries = [entry for document in index.documents.values() for entry in make_entries(document)]
    live_terms = {term for entry in entries for term in entry.terms}
    translator = ConditionTranslator(searcher.statistics, make_section_reader(index.documents), Deadline())
    for part in [
        *(HasPrefix("text", prefix, "") for prefix in ("a", "alphas", "rare", "é", "x", "snake_c", "rate")),
        *(HasSimilarWord("text", word, edits, "") for word in ("alpah", "rare", "be") for edits in (1, 2)),
    ]:
        assert set(translator.expand(part)) & live_terms == expand(entries, part)


@pytest.mark.parametrize("seed", range(3))
def test_layout_of_segments_does_not_change_results(seed: int) -> None:
    rng = Random(seed)
    index = make_index(rng)
    merged_index, rebuilt_index = GrowingIndex(), GrowingIndex()
    merged_index.segment_readers, merged_index.documents = index.segment_readers, index.documents
    merged_index.merge(slice(None))
    rebuilt_index.change(index.documents.values())
    searchers = [make_searcher(layout) for layout in (index, merged_index, rebuilt_index)]
    for _ in range(40):
        query = make_random_operator_query(rng)
        first, *other_hits = (search(searcher, index.documents, query, limit=1_000) for searcher in searchers)
        assert all(hits == first for hits in other_hits)


@pytest.mark.process
def test_hash_seeds_do_not_change_results() -> None:
    code = """if True:
        from random import Random
        from tests.index.random_conditions import make_random_operator_query
        from tests.index.whoosh_engine.test_operators import make_index, make_searcher, search
        rng = Random(7)
        index = make_index(rng)
        searcher = make_searcher(index)
        for _ in range(40):
            print(search(searcher, index.documents, make_random_operator_query(rng), limit=100))
    """

    def run(seed: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
        )
        return result.stdout

    assert run("1") == run("2") != ""


def make_index_of_words(count: int, stem: str = "word", segment_count: int = 1) -> GrowingIndex:
    """Return an index of `count` different terms with the same prefix, in `segment_count` segments."""
    index = GrowingIndex()
    for number in range(segment_count):
        words = (f"{stem}{i}x" for i in range(number, count, segment_count))
        index.change([make_document(f"{number}.md", " ".join(words))])
    return index


def test_prefix_of_too_many_terms_is_refused_before_matching(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = make_index_of_words(condition_nodes.MAX_EXPANSIONS + 1, stem="a")
    searcher = make_searcher(index)
    monkeypatch.setattr(ConditionEvaluator, "evaluate_by_segment", lambda *_: pytest.fail("matched"))
    for text in ("a*", "a* AND b", "tag:x OR (c AND NOT a*)", "path:docs a*"):
        with pytest.raises(QueryTooBroad, match=r"'a\*' matches more than 1,000") as error_info:
            searcher.search(parse_query(text), make_section_reader(index.documents))
        assert error_info.value.details == {"limit": 1_000, "part": "a*"}
        assert error_info.value.fix.endswith(".")


@loop_over("segment_count", [1, 4])
def test_expansions_up_to_the_limit_are_searched(segment_count: int) -> None:
    index = make_index_of_words(condition_nodes.MAX_EXPANSIONS, segment_count=segment_count)
    assert len(search(make_searcher(index), index.documents, parse_query("wor*"))) == segment_count


def test_prefix_of_very_many_terms_is_counted_without_reading_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = make_index_of_words(50_000)
    searcher = make_searcher(index)
    assert searcher.statistics.section_count == 1
    monkeypatch.setattr(Segment, "terms_with_prefix", lambda *_: pytest.fail("the terms were read"))
    with pytest.raises(QueryTooBroad):
        searcher.search(parse_query("word*"), make_section_reader(index.documents))


def test_only_terms_of_live_sections_count() -> None:
    index = make_index_of_words(5_000)
    index.change([make_document("0.md", "wordy words worded")])
    assert len(index.segment_readers) == 2
    assert [path for path, _ in search(make_searcher(index), index.documents, parse_query("word*"))] == [
        "0.md#_preamble"
    ]


def test_values_of_a_prefix_are_limited_too() -> None:
    index = GrowingIndex()
    index.change(make_document(f"{number}.md", "# A", tags=[f"t{number}"]) for number in range(1_001))
    searcher = make_searcher(index)
    with pytest.raises(QueryTooBroad, match=r"'tag:t\*'"):
        searcher.search(parse_query("tag:t*"), make_section_reader(index.documents))
    assert len(search(searcher, index.documents, parse_query("tag:T100*"), limit=50)) == 2


def test_phrase_condition_over_the_candidate_limit_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(condition_nodes, "MAX_PHRASE_CANDIDATES", 3)
    index = GrowingIndex()
    index.change(make_document(f"{number}.md", "alpha beta" + " gamma" * (number < 3)) for number in range(5))
    searcher = make_searcher(index)
    # Only sections that satisfy the other conditions are counted as candidates.
    hit_counts = {
        'alpha AND "beta gamma"': 3,
        '"alpha beta" AND gamma': 3,
        '"alpha beta" OR gamma': 5,
        'gamma NOT "alpha beta"': 0,
        '"alpha beta" AND path:0.md': 1,
    }
    for text, count in hit_counts.items():
        assert len(search(searcher, index.documents, parse_query(text))) == count
    for text in ('alpha AND "alpha beta"', 'alpha AND "of the"', '"alpha beta" OR delta'):
        with pytest.raises(QueryTooBroad, match=r"are in more than 3 sections") as error_info:
            searcher.search(parse_query(text), make_section_reader(index.documents))
        assert error_info.value.details["part"] in text


@loop_over("text", ["auth* x", "alpha AND beta", 'alpha AND "beta gamma"', "NOT alpha beta", "path:docs"])
def test_time_of_operators_is_limited(text: str) -> None:
    index = make_index_of_words(10, stem="auth")
    with pytest.MonkeyPatch.context() as context:
        context.setattr(Deadline, "__init__", lambda self: self.__dict__.update(_seconds=2, _end=0))
        with pytest.raises(QueryTooBroad, match=r"take too long \(limit 2 s\)"):
            make_searcher(index).search(parse_query(text), make_section_reader(index.documents))


def make_segment_with_empty_lists(documents: list[IndexedDocument], terms: list[bytes]) -> Segment:
    """Return a segment of documents whose dictionary also contains terms without postings."""
    segment, tables = make_segment(documents), TableBuilder()
    for document in sorted(documents, key=lambda document: document.path):
        tables.add(document)
    starts = segment.arrays["starts"].astype(np.int64).tolist()
    lists = dict(zip(segment.term_keys(), itertools.pairwise(starts), strict=True))
    keys = sorted({*lists, *terms})
    ends = [0]
    for key in keys:
        ends.append(lists[key][1] if key in lists else ends[-1])
    posting_lists = PostingLists(
        keys, np.array(ends, np.int64), segment.ids, segment.weights, segment.lengths
    )
    return Segment.of(tables.arrays(), posting_lists)


@loop_over("dead_documents", [(), (0,)])
@loop_over(
    "text",
    ["auth*", "authz", "authz AND x", "x NOT authz", "authz~1", "title:authz*", "tag:zzz", "updated:>2020"],
)
def test_term_without_postings_gives_results_of_reference_engine(
    text: str, dead_documents: tuple[int, ...]
) -> None:
    documents = [
        make_document("a.md", "# Author\n\nx", tags=["t"]),
        make_document("b.md", "# Author\n\nx y", tags=["t"]),
    ]
    terms = [
        b"\0authz",
        b"#title\0authz",
        b"tags\0a",
        b"tags\0zzz",
        b"#date:updated\0002026-01-01",
        b"\0\xff",
    ]
    index = GrowingIndex()
    index.segment_readers = (
        SegmentReader.of(make_segment_with_empty_lists(documents, terms), dead_documents),
    )
    index.documents = {document.path: document for document in documents[len(dead_documents) :]}
    searcher = make_searcher(index)
    assert searcher.count_values("tags") == {"t": len(index.documents)}
    assert not searcher.has_dates("updated")
    query = parse_query(text)
    hits = [path for path, _ in search(searcher, index.documents, query)]
    entries = [entry for document in index.documents.values() for entry in make_entries(document)]
    assert hits == [item.entry.record.chunk_id for item in rank(entries, query, 50)[0]]


def test_empty_index_has_no_results() -> None:
    for text in ("auth*", "title:x", "a1 AND NOT b1", "path:/", "updated:>2020"):
        assert search(make_searcher(GrowingIndex()), {}, parse_query(text)) == []


def test_only_dates_of_live_documents_define_a_date_field() -> None:
    index = GrowingIndex()
    dated_document = make_document("a.md", "---\nupdated: 2026-01-31\ncreated: '2026-02-30'\n---\n# A")
    index.change([dated_document, make_document("b.md", "# B")])
    searcher = make_searcher(index)
    assert searcher.has_dates("updated")
    assert not any(map(searcher.has_dates, ("created", "upd", "updated\0", "", "updated2")))
    index.change(deletes=["a.md"])
    assert not make_searcher(index).has_dates("updated")


def test_values_in_any_case_and_script_are_found() -> None:
    index = GrowingIndex()
    index.change(
        [
            make_document("a.md", "# A", tags=["Straße", "重試"]),
            make_document("b.md", "# B", tags=["strasse"]),
        ]
    )
    searcher = make_searcher(index)

    def find_paths(condition: Condition) -> list[str]:
        query = Query({}, condition=condition, includes_all_selected=True)
        return [path for path, _ in search(searcher, index.documents, query)]

    assert find_paths(HasValue("tags", "STRASSE", "")) == ["a.md#_preamble", "b.md#_preamble"]
    assert find_paths(HasValue("tags", "重", "", is_prefix=True)) == ["a.md#_preamble"]


def test_stems_are_compared_with_prefixes() -> None:
    index = GrowingIndex()
    index.change([make_document("a.md", "We retry."), make_document("b.md", "Retries are configured.")])
    searcher = make_searcher(index)
    for text in ("retr*", "retries*", "RETRIES*", "config*", "configuring*"):
        expected = ["b.md#_preamble"] if "onf" in text else ["a.md#_preamble", "b.md#_preamble"]
        assert sorted(path for path, _ in search(searcher, index.documents, parse_query(text))) == expected
    assert TOKEN.findall("retries*") == ["retries"]


def test_exact_word_ranks_before_words_with_it_as_prefix() -> None:
    index = GrowingIndex()
    index.change(
        [
            make_document("a.md", "charset charset"),
            make_document("b.md", "char"),
            make_document("c.md", "chart"),
        ]
    )
    paths = search(make_searcher(index), index.documents, parse_query("char* s"))
    assert next(path for path, _ in paths) == "b.md#_preamble"
    assert len(paths) == 3
