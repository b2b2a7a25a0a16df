"""Where the terms of a query stand in a text.

Bytes are searched at C's speed for what begins as a term does, and only words that hold it are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from index.analysis import TOKEN, expand
from index.analysis.tokens import spaced

Match = tuple[int, frozenset[str]]
"""The character at which a token begins, and which of the terms it stands for."""

# Stemming rewrites endings: a word holds all of its stem but the last letter. Only "dying", "lying" and
# "tying" are stemmed otherwise, and a snippet can do without these.
_BEGINNING = 5

_SPACED = spaced()

_FOREIGN = re.compile(rb"[^ \x80-\xff]*+[\x80-\xff][^ ]*+")


class Matcher:
    """Finds the terms of one query in one text after the other, and remembers the words that it met."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = frozenset(terms)
        self._beginnings = {_encoded(term[: max(1, min(len(term) - 1, _BEGINNING))]) for term in self._terms}
        self._words: dict[bytes, list[Match]] = {}

    def matches(self, text: str) -> list[Match]:
        """Find every token of a text that stands for some of the terms, in order."""
        data = b" %b " % _encoded(text).translate(_SPACED)
        is_ascii = len(data) == len(text) + 2
        found: list[Match] = []
        words, end = self._words, data.index
        place, position = 1, 0
        for start in sorted(self._candidates(data)):
            word = data[start : end(b" ", start)]
            here = words.get(word)
            if here is None:
                here = words[word] = self._within(word)
            if here:
                position += start - place if is_ascii else len(_decoded(data[place:start]))
                place = start
                for offset, terms in here:
                    found.append((position + offset, terms))
        return found

    def _candidates(self, data: bytes) -> set[int]:
        """Find where words begin that may hold a term; all that are not ASCII may, for letters are folded."""
        lowered = data.lower()
        find, before = lowered.find, lowered.rfind
        starts: set[int] = set()
        for beginning in self._beginnings:
            at = find(beginning)
            while at >= 0:
                starts.add(before(b" ", 0, at) + 1)
                at = find(beginning, at + 1)
        if not data.isascii():
            starts.update(word.start() for word in _FOREIGN.finditer(data))
        return starts

    def _within(self, word: bytes) -> list[Match]:
        """Give the matches in a word, by the character of the word at which each begins."""
        wanted = self._terms.intersection
        return [(start, held) for start, terms in _tokens(word) if (held := wanted(terms))]


@lru_cache(maxsize=1 << 14)
def _tokens(word: bytes) -> tuple[tuple[int, tuple[str, ...]], ...]:
    return tuple((token.start(), expand(token[0])) for token in TOKEN.finditer(_decoded(word)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
