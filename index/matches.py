"""Occurrences of a query's terms in a text.

Bytes are searched at C speed for the beginnings of terms, and only the words that contain one are analysed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from index.analysis import TOKEN, expand
from index.analysis.words import make_separator_table

Match = tuple[int, frozenset[str]]
"""The character at which a token begins, and which of the terms it stands for."""

# A word holds all of its stem but the last letter, if that is one of these ("retried", "using",
# "accessibility", "skies"), and the word is longer than two. Only "dying", "lying", "tying" and the like are
# stemmed otherwise, and a snippet can do without these.
_REWRITTEN = "iely"

_SPACED = make_separator_table()

_FOREIGN = re.compile(rb"[\x80-\xff][^ ]*+")

_LONG = 100
"""A word of more bytes is a line in a script without spaces, or data: nobody asks for it as a whole."""


class Searchable:
    """A text prepared for matchers.

    `source` is the text, as bytes if it is not ASCII. `lowered` has the same offsets, with small letters, a
    space for each byte outside tokens, and one at the end.
    """

    __slots__ = ("lowered", "source")

    def __init__(self, text: str) -> None:
        data = _encoded(text)
        self.source: str | bytes = text if len(data) == len(text) else data
        self.lowered = data.translate(_SPACED).lower() + b" "

    def word(self, start: int) -> str:
        """Return the source from an offset to the next space."""
        return _text(self.source[start : self.lowered.index(b" ", start)])


class Matcher:
    """A matcher of one query's terms in many texts, which caches the words that it has analysed."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = frozenset(terms)
        self._sought = {_encoded(_search_bytes(term)) for term in self._terms}
        self._words: dict[str | bytes, frozenset[str]] = {}

    def matches(self, text: str) -> list[Match]:
        """Find every token of a text that gives some of the terms, in order."""
        searchable = Searchable(text)
        held, long = self._held(searchable)
        starts = sorted(long.union(held))
        found: list[Match] = []
        for place, start in zip(_characters(searchable.source, starts), starts, strict=True):
            found += self._tokens(place, searchable.word(start))
        return found

    def words(self, text: Searchable) -> tuple[Sequence[int], Sequence[frozenset[str]]]:
        """Find the words that contain terms: the offset of each, ascending, and its terms.

        Each token of a long word counts by itself.
        """
        held, long = self._held(text)
        starts = sorted(long.union(held) if long else held)
        places = _characters(text.source, starts)
        if not long:
            return places, [*map(held.__getitem__, starts)]
        found: list[Match] = []
        for place, start in zip(places, starts, strict=True):
            found += self._tokens(place, text.word(start)) if start in long else [(place, held[start])]
        return [place for place, _ in found], [terms for _, terms in found]

    def _tokens(self, place: int, word: str) -> Iterator[Match]:
        """Find the tokens with terms in a word at an offset."""
        for token in TOKEN.finditer(word):
            if terms := self._terms.intersection(expand(token[0])):
                yield place + token.start(), terms

    def _held(self, text: Searchable) -> tuple[dict[int, frozenset[str]], set[int]]:
        """Find words with terms, and long words, which may have some, by their offsets in the source.

        A word that is not ASCII may contain any term, because letters are folded.
        """
        source, lowered = text.source, text.lowered
        find, before, after = lowered.find, lowered.rfind, lowered.index
        words, held, long = self._words, dict[int, frozenset[str]](), set[int]()
        for sought in self._sought:
            at = find(sought)
            while at >= 0:
                start, end = before(b" ", 0, at) + 1, after(b" ", at)
                if end - start > _LONG:
                    long.add(start)
                else:
                    word = source[start:end]
                    here = words.get(word)
                    if here is None:
                        here = words[word] = self._terms & _terms_in(word)
                    if here:
                        held[start] = here
                at = find(sought, end)
        if isinstance(source, bytes):
            for foreign in _FOREIGN.finditer(lowered):
                start, end = before(b" ", 0, foreign.start()) + 1, foreign.end()
                if end - start > _LONG:
                    long.add(start)
                elif here := self._terms & _terms_in(source[start:end]):
                    held[start] = here
        return held, long


def _search_bytes(term: str) -> str:
    """Return the bytes that every ASCII word of a term contains."""
    return term[:-1] if len(term) > 2 and term[-1] in _REWRITTEN else term


# Each word of Cyrillic text is checked: a hit of 3,000 words takes 6 ms without the cache, 2 with it.
@lru_cache(maxsize=1 << 14)
def _terms_in(word: str | bytes) -> frozenset[str]:
    return frozenset(term for token in TOKEN.findall(_text(word)) for term in expand(token))


def _characters(source: str | bytes, starts: Sequence[int]) -> Sequence[int]:
    """Count the characters of a source before some of its offsets, which ascend."""
    if isinstance(source, str):
        return starts
    parts = (source[start:end] for start, end in pairwise((0, *starts)))
    return [*accumulate(len(_text(part)) for part in parts)]


def _text(source: str | bytes) -> str:
    return source if isinstance(source, str) else source.decode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
