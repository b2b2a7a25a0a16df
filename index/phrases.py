"""Exact phrases: whether words stand one after another in a section, and which terms it must have for that.

An index knows which sections hold the words of a phrase, not where. So a section that holds them all is read,
and the phrase looked for in its words: case and accents make no difference, endings do, and whatever is not
part of a word (punctuation, line breaks, the marks of emphasis and code) only separates words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from index.analysis import STOP_WORDS, TOKEN, expand, readable
from index.analysis.words import folded, normalised, scripts
from index.page import Record

_JOINERS = "./@:-"  # an underscore and an apostrophe stay in their word


def words_of(text: str) -> tuple[str, ...]:
    """Give the words of normalised text as they are written; in scripts without spaces, runs of characters.

    `snake_case`, `don't` and `C++` are words, `node.js` and `std::vector` are two.
    """
    words = " ".join(TOKEN.findall(text))
    for joiner in _JOINERS:
        words = words.replace(joiner, " ")
    if "_" in words:
        return tuple(bare for word in words.split() if (bare := word.strip("_")))
    return tuple(words.split())


def required_terms(phrase: Iterable[str]) -> tuple[str, ...]:
    """Give the index terms that each section with this phrase in its text holds; stop words are none.

    There are none for a phrase of stop words, so other terms of a query must say which sections to read.
    """
    words = (word for word in phrase if folded(word) not in STOP_WORDS)
    return tuple(dict.fromkeys(term for word in words for term in _terms_anywhere(word)))


def _terms_anywhere(word: str) -> Iterable[str]:
    """Give the terms that a word leaves in the index even where it is part of a longer name."""
    return (term for term in expand(f"x.{word}")[1:] if term != "x")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that must all occur, each as a run of folded words."""

    runs: tuple[str, ...]

    @classmethod
    def of(cls, phrases: Iterable[Iterable[str]]) -> Phrases:
        """The phrases of a query, each given as its words."""
        runs = (_run(" ".join(phrase)) for phrase in phrases)
        return cls(tuple(run for run in runs if not run.isspace()))

    def occur_in(self, heading: str, text: bytes) -> bool:
        """Whether each stands in a section's heading or in its Markdown. Takes time linear in the text."""
        read = _run(readable(text).decode("utf-8", "replace"))
        return all(run in read or run in _run(heading) for run in self.runs)


def verifier(phrases: Iterable[Iterable[str]], read: Callable[[Record], bytes]) -> Callable[[Record], bool]:
    """Make the function that says whether a section holds all the phrases.

    `read` gives the Markdown under the heading of a section.
    """
    wanted = Phrases.of(phrases)
    return lambda record: wanted.occur_in(record.heading, read(record))


def _run(text: str) -> str:
    """Write a text as its folded words with a space on both sides of each, or of each spaceless character."""
    words = " ".join(words_of(folded(normalised(text))))
    if not words.isascii():
        words = " ".join(scripts().sub(_apart, words).split())
    return f" {words} "


def _apart(run: re.Match[str]) -> str:
    return f" {' '.join(run[1])} " if run[1] else run[0]
