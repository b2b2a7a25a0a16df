"""Spelling: terms that a misspelt word may stand for, by edit distance.

An edit inserts, deletes or replaces a letter, or swaps two neighbours. Terms are stems, and a typo in a
word's ending hides what the stemmer would have removed. The edits of the word itself are therefore stemmed
too: "paginaton" is far from "pagin", but one edit away from "pagination". Only terms of live sections are
returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from index.analysis.words import stem, stem_all
from index.segments.segment import TEXT, term_key

if TYPE_CHECKING:
    from index.ranking.blocks import Statistics

ALIKE = 2
"""Letters at the beginning of a word that are right in all but the nearest terms."""

_LONG = 6
_LONGEST = 32


def is_word(word: str) -> bool:
    """Return True if a folded word is one whose spelling is looked at: letters alone, and not too many.

    Vowel signs and other marks on a letter belong to it, as in Devanagari.
    """
    return len(word) <= _LONGEST and word[:1].isalpha() and all(category(sign)[0] in "LM" for sign in word)


def max_edits(word: str) -> int:
    """Say how many edits away a term may be: two for a word of six letters or more, else one."""
    return 2 if len(word) >= _LONG else 1


def stems_of_edits(word: str) -> frozenset[str]:
    """Return the stems of all words that are one edit away, made of its own letters and the Latin ones."""
    letters = sorted({*ascii_lowercase, *word})
    parts = [(word[:cut], word[cut:]) for cut in range(len(word) + 1)]
    words = {head + tail[1:] for head, tail in parts if tail}
    words |= {head + tail[1] + tail[0] + tail[2:] for head, tail in parts if len(tail) > 1}
    words |= {head + letter + tail[1:] for head, tail in parts if tail for letter in letters}
    words |= {head + letter + tail for head, tail in parts for letter in letters}
    words -= {word, ""}
    return frozenset(stem_all(list(words)))


def edit_distances(word: str, terms: Sequence[str]) -> NDArray[np.int8]:
    """Count the edits from a word to each term; no letter is edited twice (optimal string alignment).

    All terms are worked on at once, place by place.
    """
    sizes = np.fromiter(map(len, terms), np.intp, len(terms))
    longest, count = int(sizes.max(initial=1)), len(terms)
    # A row for each place in the terms; what follows a shorter term does not reach back to it.
    letters = np.array(terms, f"U{longest}").view(np.uint32).reshape(count, longest).T.copy()
    codes = list(map(ord, word))
    above: list[NDArray[np.int8]] = []
    row = [np.full(count, place, np.int8) for place in range(longest + 1)]
    for number, code in enumerate(codes):
        before, above, row = above, row, [np.full(count, number + 1, np.int8)]
        for place in range(longest):
            here = np.minimum(above[place] + (letters[place] != code), above[place + 1] + 1)
            np.minimum(here, row[place] + 1, out=here)
            if number and place:
                swapped = (letters[place - 1] == code) & (letters[place] == codes[number - 1])
                here = np.where(swapped, np.minimum(here, before[place - 1] + 1), here)
            row.append(here)
    return np.array(row)[sizes, np.arange(count)]


def find_similar_terms(statistics: Statistics, word: str, most: int) -> tuple[str, ...]:
    """Return at most so many terms that are like a folded word, as the port says."""
    if not is_word(word):
        return ()
    edits = _edits(statistics, word)
    for nearest in sorted(set(edits.values())):
        counts = {term: _count(statistics, term) for term in edits if edits[term] == nearest}
        if live := [term for term, count in counts.items() if count]:
            return tuple(sorted(live, key=lambda term: (-counts[term], term))[:most])
    return ()


def _edits(statistics: Statistics, word: str) -> dict[str, int]:
    """Count the edits to each term that is near enough; a term may be in no segment."""
    own, limit = stem(word), max_edits(word)
    near = stems_of_edits(word)
    alike = {term for part in statistics.parts for term in part.segment.terms_from(TEXT, own[:ALIKE])}
    known = [term for term in alike if abs(len(term) - len(own)) <= limit]
    found = {
        term: edits
        for term, edits in zip(known, edit_distances(own, known).tolist(), strict=True)
        if edits <= limit
    }
    found |= {term: 1 for term in near if term in alike or not term.startswith(own[:ALIKE])}
    found.pop(own, None)
    return found


def _count(statistics: Statistics, term: str) -> int:
    """Count the live sections that hold a term."""
    key, count = term_key(TEXT, term), 0
    for part, alive in zip(statistics.parts, statistics.alive, strict=True):
        ids, _ = part.segment.postings(key)
        count += len(ids) if alive is None else int(np.count_nonzero(alive[ids]))
    return count
