"""Where the terms of a query stand in a text.

Bytes are searched at C's speed for what begins as a term does, and only words that hold it are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from index.analysis import TOKEN, expand
from index.analysis.words import spaced

Match = tuple[int, frozenset[str]]
"""The character at which a token begins, and which of the terms it stands for."""

# A word holds all of its stem but the last letter, if that is one of these ("retried", "using",
# "accessibility", "skies"), and the word is longer than two. Only "dying", "lying", "tying" and the like are
# stemmed otherwise, and a snippet can do without these.
_REWRITTEN = "iely"

_SPACED = spaced()

_FOREIGN = re.compile(rb"[\x80-\xff][^ ]*+")

_LONG = 100
"""A word of more bytes is a line in a script without spaces, or data: nobody asks for it as a whole."""


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

    def word(self, start: int) -> str:
        """Return what stands from a place in the source to the next space."""
        return _text(self.source[start : self.lowered.index(b" ", start)])


class Matcher:
    """Finds the terms of one query in one text after the other, and remembers the words that it met."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = frozenset(terms)
        self._sought = {_encoded(_sought(term)) for term in self._terms}
        self._words: dict[str | bytes, frozenset[str]] = {}

    def matches(self, text: str) -> list[Match]:
        """Find every token of a text that stands for some of the terms, in order."""
        searchable = Searchable(text)
        held, long = self._held(searchable)
        starts = sorted(long.union(held))
        found: list[Match] = []
        for place, start in zip(_characters(searchable.source, starts), starts, strict=True):
            found += self._tokens(place, searchable.word(start))
        return found

    def words(self, text: Searchable) -> tuple[Sequence[int], Sequence[frozenset[str]]]:
        """Find what stands between spaces and holds terms: where each begins, ascending, and its terms.

        Of a long word each token counts by itself.
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
        """Find the tokens with terms in a word that begins at a place."""
        for token in TOKEN.finditer(word):
            if terms := self._terms.intersection(expand(token[0])):
                yield place + token.start(), terms

    def _held(self, text: Searchable) -> tuple[dict[int, frozenset[str]], set[int]]:
        """Find words with terms, and long ones, which may have some, by where they begin in the source.

        What is not ASCII may hold any term, for letters are folded.
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


def _sought(term: str) -> str:
    """Return what every ASCII word that stands for a term has in it."""
    return term[:-1] if len(term) > 2 and term[-1] in _REWRITTEN else term


# Each word of Cyrillic text is checked: a hit of 3,000 words takes 6 ms without the cache, 2 with it.
@lru_cache(maxsize=1 << 14)
def _terms_in(word: str | bytes) -> frozenset[str]:
    return frozenset(term for token in TOKEN.findall(_text(word)) for term in expand(token))


def _characters(source: str | bytes, starts: Sequence[int]) -> Sequence[int]:
    """Count the characters of a source before some of its places, which ascend."""
    if isinstance(source, str):
        return starts
    parts = (source[start:end] for start, end in pairwise((0, *starts)))
    return [*accumulate(len(_text(part)) for part in parts)]


def _text(source: str | bytes) -> str:
    return source if isinstance(source, str) else source.decode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
