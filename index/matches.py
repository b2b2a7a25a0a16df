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

# A word holds all of its stem but the last letter, if that is one of these ("retried", "using",
# "accessibility", "skies"), and the word is longer than two. Only "dying", "lying" and "tying" are stemmed
# otherwise, and a snippet can do without these.
_REWRITTEN = "iely"

_SPACED = spaced()

_FOREIGN = re.compile(rb"[^ \x80-\xff]*+[\x80-\xff][^ ]*+")


class Searchable:
    """A text made ready for matchers.

    `source` is the text, as bytes if it is not ASCII, and `lowered` has the same places: small letters, a
    space for each byte that is in no token, and one at the end.
    """

    __slots__ = ("lowered", "source")

    def __init__(self, text: str) -> None:
        data = _encoded(text)
        self.source: str | bytes = text if len(data) == len(text) else data
        self.lowered = data.translate(_SPACED).lower() + b" "


class Matcher:
    """Finds the terms of one query in one text after the other, and remembers the words that it met."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = frozenset(terms)
        self._sought = {_encoded(_sought(term)) for term in self._terms}
        self._words: dict[str | bytes, list[Match]] = {}

    def matches(self, text: str | Searchable) -> list[Match]:
        """Find every token of a text that stands for some of the terms, in order."""
        if isinstance(text, str):
            text = Searchable(text)
        held = self._held(text)
        if isinstance(text.source, str):
            return [(start + offset, terms) for start in sorted(held) for offset, terms in held[start]]
        found: list[Match] = []
        place = position = 0
        for start in sorted(held):
            position += len(_decoded(text.source[place:start]))
            place = start
            found += ((position + offset, terms) for offset, terms in held[start])
        return found

    def _held(self, text: Searchable) -> dict[int, list[Match]]:
        """Find the words that hold a term, by where they begin in the source.

        One that is not ASCII may hold any, for letters are folded.
        """
        source, lowered = text.source, text.lowered
        find, before, after = lowered.find, lowered.rfind, lowered.index
        words, held = self._words, dict[int, list[Match]]()
        for sought in self._sought:
            at = find(sought)
            while at >= 0:
                start, end = before(b" ", 0, at) + 1, after(b" ", at)
                word = source[start:end]
                here = words.get(word)
                if here is None:
                    here = words[word] = self._within(word)
                if here:
                    held[start] = here
                at = find(sought, end)
        if isinstance(source, bytes):
            for foreign in _FOREIGN.finditer(lowered):
                if here := self._within(source[foreign.start() : foreign.end()]):
                    held[foreign.start()] = here
        return held

    def _within(self, word: str | bytes) -> list[Match]:
        """Give the matches in a word, by the character of the word at which each begins."""
        wanted = self._terms.intersection
        return [(start, held) for start, terms in _tokens(word) if (held := wanted(terms))]


def _sought(term: str) -> str:
    """Give what every ASCII word that stands for a term has in it."""
    return term[:-1] if len(term) > 2 and term[-1] in _REWRITTEN else term


@lru_cache(maxsize=1 << 14)
def _tokens(word: str | bytes) -> tuple[tuple[int, tuple[str, ...]], ...]:
    text = word if isinstance(word, str) else _decoded(word)
    return tuple((token.start(), expand(token[0])) for token in TOKEN.finditer(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
