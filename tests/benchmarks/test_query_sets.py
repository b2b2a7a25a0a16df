"""Query sets contain queries of several kinds, repeat no query, and are equal for the same corpus."""

from __future__ import annotations

from benchmarks.corpus import SectionText
from benchmarks.search.query_sets import WARM_UP_COUNT, draw_query_sets

SECTION_TEXTS = [
    SectionText(
        f"a{number}.md#b",
        f"Heading {number} of many",
        f"one two three `max_{number}_retries` four",
        "",
        "a.md",
        "",
    )
    for number in range(30)
]
WORDS = [f"word{number} other" for number in range(60)]


def test_queries_are_drawn_from_words_headings_identifiers_and_phrases() -> None:
    sets = draw_query_sets(SECTION_TEXTS, WORDS, 10)
    assert {query for query in sets.queries if query in WORDS} == set(WORDS[:10])
    assert sum(query.startswith("Heading") for query in sets.queries) == 10
    assert sum(query.startswith("max_") for query in sets.queries) == 10
    assert sets.phrases == ['"one two three"']
    assert len(sets.warm_up) == WARM_UP_COUNT


def test_no_query_is_drawn_twice() -> None:
    sets = draw_query_sets(SECTION_TEXTS, [*WORDS, WORDS[0]], 10)
    all_queries = [*sets.queries, *sets.phrases, *sets.warm_up]
    assert len(set(all_queries)) == len(all_queries)


def test_same_corpus_gives_same_queries() -> None:
    assert draw_query_sets(SECTION_TEXTS, WORDS, 10) == draw_query_sets(SECTION_TEXTS, WORDS, 10)


def test_written_questions_are_drawn_only_for_their_corpus() -> None:
    path = "vba/excel/Concepts/about-coauthoring-in-excel.md"
    sets = draw_query_sets([SECTION_TEXTS[0]._replace(path=path)], [])
    assert any("two people edit" in query for query in sets.queries)
    assert not any("two people edit" in query for query in draw_query_sets(SECTION_TEXTS, []).queries)
