"""Questions for first asks: many different ones of several kinds, the same for the same corpus."""

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
"""The number of questions of each kind."""

WARM_UP_COUNT = 20
"""The number of questions that a server answers before the measured ones."""

WRITTEN = ROOT / "benchmarks" / "questions"
_DRAWS = 100  # sections that are looked at for each question
_PHRASE = re.compile(r"[A-Za-z]{3,}(?: [A-Za-z]{3,}){2}")
_WORD = re.compile(r"[A-Za-z]{3,}")


class Questions(NamedTuple):
    """Questions and quoted phrases to measure, and other questions to warm a server up. None is in two lists.

    Phrases are apart: a section is read for each check of a phrase, so that they take many times as long.
    """

    questions: list[str]
    phrases: list[str]
    warm_up: list[str]


def draw_questions(texts: Sequence[Text], word_queries: Sequence[str], count: int = COUNT) -> Questions:
    """Return words, headings and identifiers of sections, what people asked about them, and quoted phrases.

    `word_queries` are the words. A small corpus gives fewer of the other kinds.
    """
    chance = random.Random(SEED)
    drawn = dict.fromkeys(word_queries[:count])
    for draw in (_heading, _identifier):
        drawn |= dict.fromkeys(_draw(texts, draw, chance, count))
    drawn |= dict.fromkeys(_written({text.path for text in texts}))
    questions = list(drawn)
    chance.shuffle(questions)
    warm_up = [query for query in dict.fromkeys(word_queries[count:]) if query not in drawn]
    return Questions(questions, _draw(texts, _phrase, chance, count), warm_up[:WARM_UP_COUNT])


def _draw(
    texts: Sequence[Text], draw: Callable[[Text, random.Random], str], chance: random.Random, count: int
) -> list[str]:
    drawn: dict[str, None] = {}
    for _ in range(count * _DRAWS):
        if len(drawn) == count:
            break
        if question := draw(chance.choice(texts), chance):
            drawn[question] = None
    return list(drawn)


def _heading(text: Text, chance: random.Random) -> str:
    return text.title if _WORD.search(text.title) else ""


def _phrase(text: Text, chance: random.Random) -> str:
    phrases = _PHRASE.findall(text.body)
    return f'"{chance.choice(phrases)}"' if phrases else ""


def _identifier(text: Text, chance: random.Random) -> str:
    names = sorted(identifiers(text))
    return chance.choice(names) if names else ""


def _written(paths: set[str]) -> Iterator[str]:
    """Yield the questions that people wrote about documents of this corpus."""
    for file in sorted(WRITTEN.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            question = json.loads(line)
            if question["expected"] in paths:
                yield question["query"]
