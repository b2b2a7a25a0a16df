"""Sets of distinct queries of several kinds, equal for equal corpora."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.child import ROOT
from benchmarks.corpus import SEED, SectionText
from benchmarks.search.known_items import find_identifiers

QUERIES_PER_KIND = 80
"""The number of queries of each kind, except written questions. A small corpus gives fewer."""

WARM_UP_COUNT = 20
"""The number of queries that a server answers before the measured ones."""

QUESTIONS_FOLDER = ROOT / "benchmarks" / "questions"
_DRAWS_PER_QUERY = 100  # sections drawn for each query
_PHRASE = re.compile(r"[A-Za-z]{3,}(?: [A-Za-z]{3,}){2}")
_WORD = re.compile(r"[A-Za-z]{3,}")


class QuerySets(NamedTuple):
    """Queries and quoted phrases to measure, and queries for the warm-up of a server. All are distinct.

    Phrases are a separate set: each check of a phrase reads a section and takes many times as long.
    """

    queries: list[str]
    phrases: list[str]
    warm_up: list[str]


def draw_query_sets(
    section_texts: Sequence[SectionText], word_queries: Sequence[str], count: int = QUERIES_PER_KIND
) -> QuerySets:
    """Return queries of words, headings, identifiers and written questions, and quoted phrases.

    `word_queries` are the queries of words: the first `count` are measured, others are for the warm-up. A
    small corpus gives fewer queries of the other kinds.
    """
    rng = random.Random(SEED)
    unique_queries = dict.fromkeys(word_queries[:count])
    for draw_query in (_draw_heading, _draw_identifier):
        unique_queries |= dict.fromkeys(_draw_queries(section_texts, draw_query, rng, count))
    unique_queries |= dict.fromkeys(_read_questions({text.path for text in section_texts}))
    queries = list(unique_queries)
    rng.shuffle(queries)
    warm_up = [query for query in dict.fromkeys(word_queries[count:]) if query not in unique_queries]
    return QuerySets(queries, _draw_queries(section_texts, _draw_phrase, rng, count), warm_up[:WARM_UP_COUNT])


def _draw_queries(
    section_texts: Sequence[SectionText],
    draw_query: Callable[[SectionText, random.Random], str],
    rng: random.Random,
    count: int,
) -> list[str]:
    unique_queries: dict[str, None] = {}
    for _ in range(count * _DRAWS_PER_QUERY):
        if len(unique_queries) == count:
            break
        if query := draw_query(rng.choice(section_texts), rng):
            unique_queries[query] = None
    return list(unique_queries)


def _draw_heading(text: SectionText, rng: random.Random) -> str:
    return text.title if _WORD.search(text.title) else ""


def _draw_phrase(text: SectionText, rng: random.Random) -> str:
    phrases = _PHRASE.findall(text.body)
    return f'"{rng.choice(phrases)}"' if phrases else ""


def _draw_identifier(text: SectionText, rng: random.Random) -> str:
    names = sorted(find_identifiers(text))
    return rng.choice(names) if names else ""


def _read_questions(paths: set[str]) -> Iterator[str]:
    """Yield the questions that people wrote about documents of this corpus.

    Queries with judgements in a separate file (`*.queries.jsonl`) belong to other corpora.
    """
    for file in sorted(set(QUESTIONS_FOLDER.glob("*.jsonl")) - set(QUESTIONS_FOLDER.glob("*.queries.jsonl"))):
        for line in file.read_text().splitlines():
            question = json.loads(line)
            if question["expected"] in paths:
                yield question["query"]
