"""The collector: Whoosh runs every search, and its matchers select the same sections as the collector."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from whoosh import qparser, scoring
from whoosh.searching import Searcher as WhooshSearcher

from index.analysis.terms import weigh_query_terms
from index.analysis.words import TOKEN
from index.documents import IndexedDocument, SectionRecord
from index.port import Query, State
from index.ranking.cache import ArrayCache
from index.segments.generation import IndexSnapshot
from index.whoosh_engine.codec import FlatDocumentReader, FlatTermsReader, make_schema
from index.whoosh_engine.engine import Searcher
from index.whoosh_engine.flat_index import FlatIndex
from index.whoosh_engine.section_query import SectionQuery
from tests.index.documents import PATHS, GrowingIndex, make_random_document, make_random_query
from tests.index.test_branch_updates import OpenIndex


def make_index(rng: Random) -> tuple[IndexSnapshot, Mapping[str, IndexedDocument]]:
    index = GrowingIndex()
    paths = [*PATHS, *(f"docs/{number}.md" for number in range(12))]
    for _ in range(4):
        changed_paths = rng.sample(paths, 8)
        index.change(
            (make_random_document(rng, path, rng.randrange(8)) for path in changed_paths[:6]),
            changed_paths[6:],
        )
    state = State(
        "c",
        len(index.documents),
        sum(segment_reader.size for segment_reader in index.segment_readers),
        0,
        "now",
    )
    return IndexSnapshot(0, state, index.segment_readers), index.documents


def make_section_reader(documents: Mapping[str, IndexedDocument]) -> Callable[[SectionRecord], bytes]:
    return lambda record: bytes(documents[record.path].data[record.body : record.end])


@pytest.mark.parametrize("seed", range(4))
def test_whoosh_matchers_select_the_same_sections(seed: int) -> None:
    rng = Random(seed)
    index_snapshot, documents = make_index(rng)
    searcher = Searcher(index_snapshot, ArrayCache())
    read = make_section_reader(documents)
    has_hits = False
    with FlatIndex(index_snapshot).searcher(weighting=scoring.BM25F()) as whoosh:
        for _ in range(40):
            query = make_random_query(rng)
            hits = searcher.search(query, read, limit=10_000).hits
            results = whoosh.search(SectionQuery(query, read), limit=None)
            assert {hit["record"][:2] for hit in results} == {hit.record[:2] for hit in hits}
            has_hits = has_hits or bool(hits)
    assert has_hits


def test_every_search_runs_whoosh_searcher(open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    original = WhooshSearcher.search_with_collector

    def record_run(self: Any, query: Any, collector: Any, context: Any = None) -> None:
        runs.append(query)
        original(self, query, collector, context)

    monkeypatch.setattr(WhooshSearcher, "search_with_collector", record_run)
    index = open_index()
    assert index.search("retries").hits
    assert len(runs) == 1
    assert index.search("retries", ref="HEAD").hits
    assert len(runs) == 2
    monkeypatch.setattr(WhooshSearcher, "search_with_collector", lambda *_: None)
    assert not index.search("retries").hits


def test_terms_counts_and_stored_fields_are_read_with_the_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    index_snapshot, documents = make_index(Random(1))
    read = make_section_reader(documents)

    def search() -> list[tuple[str, float]]:
        searcher = Searcher(index_snapshot, ArrayCache())
        hits = searcher.search(Query({"alpha": 1}), read).hits
        return [(hit.record.path, hit.score) for hit in hits]

    expected = search()
    assert expected
    with monkeypatch.context() as context:
        context.setattr(FlatDocumentReader, "doc_count", lambda self: 1_000_000)
        assert [score for _, score in search()] != [score for _, score in expected]
    with monkeypatch.context() as context:
        context.setattr(FlatDocumentReader, "field_length", lambda self, name: 1_000_000)
        assert [score for _, score in search()] != [score for _, score in expected]
    record = index_snapshot.segment_readers[0].segment.record(0)
    with monkeypatch.context() as context:
        context.setattr(FlatDocumentReader, "stored_fields", lambda self, number: {"record": record})
        assert {path for path, _ in search()} == {record.path}
    matcher = FlatTermsReader.matcher
    with monkeypatch.context() as context:
        context.setattr(
            FlatTermsReader, "matcher", lambda self, name, text, *rest: matcher(self, name, b"beta", *rest)
        )
        assert search() != expected


@pytest.mark.process
def test_engine_cannot_be_imported_without_whoosh() -> None:
    code = "import sys; sys.modules['whoosh'] = None; import index.whoosh_engine.engine"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "whoosh" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "text", ["Rate limits", "the --dry-run of RateLimitError", "/v1/search naïve", "重试退避"]
)
def test_analyzer_gives_whoosh_the_terms_of_the_index(text: str) -> None:
    terms = [token.text for token in make_schema()["text"].analyzer(text)]
    assert dict.fromkeys(terms) == dict.fromkeys(weigh_query_terms(TOKEN.findall(text)))
    parsed_query = qparser.QueryParser("text", make_schema(), plugins=[], group=qparser.OrGroup).parse(text)
    assert {term for _, term in parsed_query.iter_all_terms()} == set(terms)
