"""Sets of different queries of several kinds, always the same for the same corpus."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.child import ROOT
from benchmarks.corpus import SEED, Text
from benchmarks.search.known_items import identifiers

COUNT = 80
"""The number of queries of each kind."""

WARM_UP_COUNT = 20
"""The number of queries that a server answers before the measured ones."""

QUESTIONS_FOLDER = ROOT / "benchmarks" / "questions"
_DRAWS = 100  # sections that are tried for each query
_PHRASE = re.compile(r"[A-Za-z]{3,}(?: [A-Za-z]{3,}){2}")
_WORD = re.compile(r"[A-Za-z]{3,}")


class QuerySets(NamedTuple):
    """Queries and quoted phrases to measure, and other queries to warm a server up. No two are equal.

    Phrases are a separate set: each check of a phrase reads a section, so that they take many times as long.
    """

    queries: list[str]
    phrases: list[str]
    warm_up: list[str]


def draw_query_sets(texts: Sequence[Text], word_queries: Sequence[str], count: int = COUNT) -> QuerySets:
    """Return queries of words, headings, identifiers and written questions, and quoted phrases.

    `word_queries` are the queries of words. A small corpus gives fewer of the other kinds.
    """
    chance = random.Random(SEED)
    drawn = dict.fromkeys(word_queries[:count])
    for draw in (_draw_heading, _draw_identifier):
        drawn |= dict.fromkeys(_draw(texts, draw, chance, count))
    drawn |= dict.fromkeys(_read_questions({text.path for text in texts}))
    queries = list(drawn)
    chance.shuffle(queries)
    warm_up = [query for query in dict.fromkeys(word_queries[count:]) if query not in drawn]
    return QuerySets(queries, _draw(texts, _draw_phrase, chance, count), warm_up[:WARM_UP_COUNT])


def _draw(
    texts: Sequence[Text], draw: Callable[[Text, random.Random], str], chance: random.Random, count: int
) -> list[str]:
    drawn: dict[str, None] = {}
    for _ in range(count * _DRAWS):
        if len(drawn) == count:
            break
        if query := draw(chance.choice(texts), chance):
            drawn[query] = None
    return list(drawn)


def _draw_heading(text: Text, chance: random.Random) -> str:
    return text.title if _WORD.search(text.title) else ""


def _draw_phrase(text: Text, chance: random.Random) -> str:
    phrases = _PHRASE.findall(text.body)
    return f'"{chance.choice(phrases)}"' if phrases else ""


def _draw_identifier(text: Text, chance: random.Random) -> str:
    names = sorted(identifiers(text))
    return chance.choice(names) if names else ""


def _read_questions(paths: set[str]) -> Iterator[str]:
    """Yield the questions that people wrote about documents of this corpus.

    Sets of queries with judgements in another file (`*.queries.jsonl`) are of other corpora.
    """
    for file in sorted(set(QUESTIONS_FOLDER.glob("*.jsonl")) - set(QUESTIONS_FOLDER.glob("*.queries.jsonl"))):
        for line in file.read_text().splitlines():
            question = json.loads(line)
            if question["expected"] in paths:
                yield question["query"]
