"""The results of a query, which equal the results of the reference engine: hits, scores, order, and flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.documents import IndexedDocument, SectionRecord
from index.phrases import find_required_terms, make_phrase_filter, make_phrase_weigher
from index.port import Query
from index.query import parse_query
from index.ranking.cache import ArrayCache
from index.ranking.results import ScoredPhrase, find_top_results
from index.ranking.segment_groups import Statistics
from index.segments.generation import SegmentReader
from tests.example_counts import scale_examples
from tests.index.documents import (
    PATH_FILTERS,
    PATHS,
    TERMS,
    WORDS,
    GrowingIndex,
    make_document,
    make_random_document,
    make_random_query,
    make_segment,
    open_section_reader,
)
from tests.index.reference import Entry, make_entries, rank
from tests.loops import loop_over

PHRASES = ((("alpha", "beta"),), (("gamma",),), (("omega",), ("beta", "delta")), (("the", "RateLimitError"),))


class RankedPage(NamedTuple):
    """The ids and scores of the hits of a page, and the flags of the results."""

    hits: list[tuple[str, float]]
    has_more: bool
    is_partial: bool


def find_expected_page(
    entry_lists: Iterable[Sequence[Entry]], query: Query, offset: int, limit: int
) -> RankedPage:
    results, is_partial = rank(
        [entry for entries in entry_lists for entry in entries], query, max(50, offset + limit + 1)
    )
    hits = [(item.entry.record.chunk_id, item.score) for item in results[offset : offset + limit]]
    return RankedPage(hits, len(results) > offset + limit, is_partial)


def find_page(
    documents: Mapping[str, IndexedDocument], statistics: Statistics, query: Query, offset: int, limit: int
) -> RankedPage:
    def read(record: SectionRecord) -> bytes:
        return documents[record.path].data[record.body : record.end]

    results = find_top_results(
        statistics,
        query,
        offset=offset,
        limit=limit,
        required_terms=[term for phrase in query.phrases for term in find_required_terms(phrase)],
        verify=make_phrase_filter(query.phrases, read) if query.phrases else None,
        scored_phrases=[
            ScoredPhrase(find_required_terms(words), make_phrase_weigher(words, read))
            for words in query.scored_phrases
        ],
    )
    hits = [(hit.record.chunk_id, hit.score) for hit in results.hits]
    return RankedPage(hits, results.has_more, results.is_partial)


@pytest.fixture(
    params=[(1 << 16, 1 << 12), (300, 1 << 12), (0, 1 << 12), (0, 50)],
    ids=["one group", "several groups", "each segment pruned", "large segments joined and pruned"],
)
def scoring_mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Score segments in full, in one or more groups; or prune each segment, or the joined large ones."""
    max_full_scoring, max_small_sections = request.param
    for module in ("index.ranking.evaluation", "index.ranking.segment_groups"):
        monkeypatch.setattr(f"{module}.MAX_FULLY_SCORED_SECTIONS", max_full_scoring)
    monkeypatch.setattr("index.ranking.segment_groups.MAX_SMALL_SEGMENT_SECTIONS", max_small_sections)


@pytest.fixture(params=[16, 1], ids=["usual limit", "limit of one term"])
def pruning_limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with the usual limit of pruned terms, and with a limit that most queries exceed."""
    monkeypatch.setattr("index.ranking.evaluation.MAX_PRUNED_TERMS", request.param)


@pytest.mark.property
@pytest.mark.usefixtures("scoring_mode", "pruning_limit")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_results_after_edits_and_merges_equal_reference_engine(seed: int) -> None:
    rng = Random(seed)
    index, cache = GrowingIndex(), ArrayCache(limit=100_000)
    paths = [*PATHS, *(f"docs/{number}.md" for number in range(30))]
    index.change(make_random_document(rng, path, rng.randrange(30)) for path in paths)
    for _ in range(6):
        changed_paths = rng.sample(paths, rng.randrange(6))
        index.change(
            [make_random_document(rng, path, rng.randrange(30)) for path in changed_paths],
            rng.sample(paths, rng.randrange(4)),
        )
        if rng.random() < 0.3:
            first = rng.randrange(len(index.segment_readers))
            index.merge(slice(first, first + rng.randint(1, 3)))
        statistics = Statistics(open_section_reader(index.segment_readers), cache)
        entries = [make_entries(document) for document in index.documents.values()]
        for _ in range(8):
            query, limit = make_random_query(rng), rng.choice((1, 3, 10, 50, 60))
            offset = rng.choice((0, 0, 1, 10, 41, 49, 50, 51, 70, 300))
            assert find_page(index.documents, statistics, query, offset, limit) == find_expected_page(
                entries, query, offset, limit
            )


def test_results_equal_reference_engine_with_low_limit_of_phrase_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("index.ranking.results.MAX_VERIFIED_SECTIONS", 6)
    monkeypatch.setattr("tests.index.reference.MAX_READ_SECTIONS", 6)
    rng = Random(5)
    index = GrowingIndex()
    for _ in range(3):
        index.change(make_random_document(rng, path, 12) for path in rng.sample(PATHS, 6))
    statistics = Statistics(open_section_reader(index.segment_readers))
    entries = [make_entries(document) for document in index.documents.values()]
    partial_flags = set()
    for _ in range(150):
        query = replace(make_random_query(rng), scored_phrases=rng.choice(PHRASES))
        results = find_page(index.documents, statistics, query, 0, 60)
        assert results == find_expected_page(entries, query, 0, 60)
        partial_flags.add(results.is_partial)
    assert partial_flags == {True, False}


@pytest.mark.usefixtures("scoring_mode")
@loop_over("limit", [1, 10, 49, 50, 60, 75, 140, 1000])
def test_equal_scores_across_segments_are_ordered_by_address(limit: int) -> None:
    index = GrowingIndex()
    rng = Random(limit)
    names = [f"{number:03}.md" for number in range(150)]
    for start in range(5):
        index.change(make_document(name, "wombat") for name in names[start::5])
    index.change(deletes=rng.sample(names, 30))
    statistics = Statistics(open_section_reader(index.segment_readers))
    results = find_top_results(statistics, Query({"wombat": 1}), limit=limit)
    assert [hit.record.path for hit in results.hits] == sorted(index.documents)[:limit]
    assert results.has_more == (limit < 120)


# The changes of a commit by path: None deletes the document, a list contains the headings of its sections.
COMMITS = st.lists(
    st.dictionaries(st.sampled_from(PATHS), st.none() | st.lists(st.sampled_from(WORDS), max_size=5)),
    min_size=1,
    max_size=4,
)
QUERIES = st.builds(
    Query,
    st.dictionaries(st.sampled_from(TERMS), st.integers(1, 3), min_size=1),
    path=st.none() | st.sampled_from(PATH_FILTERS),
)


@settings(deadline=None, max_examples=scale_examples(60))
@given(COMMITS, QUERIES, st.integers(0, 20), st.integers(1, 20))
def test_results_of_any_commits_equal_reference_engine(
    commits: list[dict[str, list[str] | None]], query: Query, offset: int, limit: int
) -> None:
    index = GrowingIndex()
    for commit in commits:
        texts = {path: "".join(f"## {word}\n" for word in words or ()) for path, words in commit.items()}
        index.change(make_document(path, text) for path, text in texts.items())
        index.change(deletes=[path for path, words in commit.items() if words is None])
    entries = [make_entries(document) for document in index.documents.values()]
    assert find_page(
        index.documents, Statistics(open_section_reader(index.segment_readers)), query, offset, limit
    ) == find_expected_page(entries, query, offset, limit)


@pytest.mark.parametrize(
    ("query", "title", "has_gain"),
    [
        ("UnhookAll", "__unhook", False),
        ("UnhookAll", "UnhookAll", True),
        ("UnhookAll", "Unhook a handler", True),
        ("unhook", "__unhook", True),
        ("unhook UnhookAll", "__unhook", True),
    ],
)
def test_title_has_gain_unless_it_shares_only_a_name_part_with_the_query(
    query: str, title: str, has_gain: bool
) -> None:
    segment = make_segment([make_document("a.md", f"# {title}\n"), make_document("b.md", "Text.\n")])
    statistics = Statistics(open_section_reader([SegmentReader.of(segment)]))
    parsed_query = parse_query(query)
    matched_weight, _ = statistics.weigh_title_terms(0, 0, parsed_query.terms, parsed_query.name_parts)
    assert bool(matched_weight) == has_gain
