"""What scores need to know of all live sections: how many there are, how long, and how many hold a term."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from index.ranking.blocks import alive, blocks_of
from index.ranking.bm25 import average
from index.ranking.cache import ArrayCache
from index.ranking.evaluation import Mask
from index.ranking.postings import Postings
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from index.page import Record
    from index.segments.generation import Part

_WORDS = 20_000
_RECORDS = 4_096


class Word(NamedTuple):
    """A term of the text: how many live sections hold it, and the places of the blocks that have it."""

    df: int
    places: tuple[int, ...]


class Statistics:
    """The figures of one generation, exact: what is dead counts nowhere. Safe to use from threads.

    `number` counts the live sections, `length` is the sum of their lengths, `average` the quotient as the
    formula has it. `blocks` are the `parts` as they are scored; a block is named by its place among them.
    """

    def __init__(self, parts: Iterable[Part], cache: ArrayCache | None = None) -> None:
        """Count the sections of these parts; lists come from `cache`, which outlives a generation."""
        self.cache = ArrayCache() if cache is None else cache
        self.blocks = blocks_of(self.cache, parts)
        self.parts = tuple(part for block in self.blocks for part in block.parts)
        owners = {name for block in self.blocks for name in (block.name, *block.segments)}
        # Arrays are views of mapped files, and a file stays open as long as there is one.
        self.cache.retain(lambda name: cast("tuple[str, ...]", name)[0] in owners)
        self.number = sum(part.size for part in self.parts)
        self.length = sum(part.total for part in self.parts)
        self.average = average(self.length, self.number)
        self._words: LRUCache[str, Word] = LRUCache(_WORDS)
        self._records: LRUCache[tuple[int, int], Record] = LRUCache(_RECORDS)

    @cached_property
    def alive(self) -> tuple[Mask | None, ...]:
        """A flag for each section of each of the parts; None for a part in which nothing is dead."""
        return tuple(map(alive, self.parts))

    def word(self, term: str) -> Word:
        """Say how many live sections hold a term, and in which blocks its lists are."""
        return self._words.get(term, self._count, term)

    def postings(self, place: int, term: str) -> Postings | None:
        """Give the list of a term in a block, dead sections included."""
        return self.blocks[place].postings(term, self.average)

    def address(self, place: int, number: int) -> tuple[str, str]:
        """Give the path and the key of a section by the place of its part and its number there."""
        return self.parts[place].segment.address(number)

    def record(self, place: int, number: int) -> Record:
        """Give what lists need of a section by the place of its part and its number there."""
        return self._records.get((place, number), self.parts[place].segment.record, number)

    def _count(self, term: str) -> Word:
        df = 0
        places = []
        for place, block in enumerate(self.blocks):
            if (found := self.postings(place, term)) is not None:
                places.append(place)
                mask = block.alive
                df += len(found.ids) if mask is None else int(np.count_nonzero(mask[found.ids]))
        return Word(df, tuple(places))
