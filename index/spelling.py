"""Spelling: terms that a misspelt word may mean, by edit distance.

An edit inserts, deletes or replaces a letter, or swaps two adjacent letters. Terms are stems, and a typo in
the ending of a word changes its stem. Therefore all words one edit away from the word are also stemmed:
"paginaton" is far from the term "pagin", but one edit away from "pagination".
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from index.analysis.words import stem, stem_all
from index.segments.segment import TEXT, make_term_key

if TYPE_CHECKING:
    from index.ranking.segment_groups import Statistics

PREFIX_LENGTH = 2
"""The number of first letters that terms two edits away must have in common with the word."""

_MIN_LENGTH_FOR_TWO_EDITS = 6
_MAX_LENGTH = 32


def can_check_spelling(word: str) -> bool:
    """Return True if the spelling of a folded word is checked: it has only letters, and at most 32.

    Vowel signs and other marks on a letter count as letters, as in Devanagari.
    """
    return len(word) <= _MAX_LENGTH and word[:1].isalpha() and all(category(sign)[0] in "LM" for sign in word)


def compute_max_edits(word: str) -> int:
    """Return the largest allowed number of edits: two for a word of six letters or more, else one."""
    return 2 if len(word) >= _MIN_LENGTH_FOR_TWO_EDITS else 1


def stem_all_edits(word: str) -> frozenset[str]:
    """Return the stems of all words one edit away; edits use the letters of the word and a to z."""
    letters = sorted({*ascii_lowercase, *word})
    splits = [(word[:cut], word[cut:]) for cut in range(len(word) + 1)]
    words = {head + tail[1:] for head, tail in splits if tail}
    words |= {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    words |= {head + letter + tail[1:] for head, tail in splits if tail for letter in letters}
    words |= {head + letter + tail for head, tail in splits for letter in letters}
    words -= {word, ""}
    return frozenset(stem_all(list(words)))


def compute_edit_distances(word: str, terms: Sequence[str]) -> NDArray[np.int8]:
    """Return the number of edits from a word to each term (optimal string alignment distance).

    All terms are processed at once, letter by letter.
    """
    sizes = np.fromiter(map(len, terms), np.intp, len(terms))
    longest, count = int(sizes.max(initial=1)), len(terms)
    # A row for each letter position. The padding after a shorter term does not change its own distances.
    letters = np.array(terms, f"U{longest}").view(np.uint32).reshape(count, longest).T.copy()
    codes = list(map(ord, word))
    previous_row: list[NDArray[np.int8]] = []
    row = [np.full(count, position, np.int8) for position in range(longest + 1)]
    for number, code in enumerate(codes):
        row_before_previous, previous_row, row = previous_row, row, [np.full(count, number + 1, np.int8)]
        for position in range(longest):
            cell = np.minimum(
                previous_row[position] + (letters[position] != code), previous_row[position + 1] + 1
            )
            np.minimum(cell, row[position] + 1, out=cell)
            if number and position:
                is_swapped = (letters[position - 1] == code) & (letters[position] == codes[number - 1])
                cell = np.where(is_swapped, np.minimum(cell, row_before_previous[position - 1] + 1), cell)
            row.append(cell)
    return np.array(row)[sizes, np.arange(count)]


def find_similar_terms(statistics: Statistics, word: str, limit: int) -> tuple[str, ...]:
    """Return at most `limit` terms of live sections that a folded word may mean (`index.port.Engine`)."""
    if not can_check_spelling(word):
        return ()
    distances = _find_distances(statistics, word, compute_max_edits(word))
    for distance in sorted(set(distances.values())):
        counts = {
            term: _count_sections(statistics, term) for term in distances if distances[term] == distance
        }
        if live_terms := [term for term, count in counts.items() if count]:
            return tuple(sorted(live_terms, key=lambda term: (-counts[term], term))[:limit])
    return ()


def find_terms_within_distance(
    statistics: Statistics, word: str, max_distance: int, field: str = TEXT
) -> tuple[str, ...]:
    """Return the term of a folded word, and a field's terms at most `max_distance` edits away, sorted.

    Terms two edits away begin with the word's first two letters. Some terms may not be in any segment.
    """
    distances = _find_distances(statistics, word, max_distance, field) if can_check_spelling(word) else {}
    return tuple(
        sorted({stem(word), *(term for term, distance in distances.items() if distance <= max_distance)})
    )


def _find_distances(
    statistics: Statistics, word: str, max_distance: int, field: str = TEXT
) -> dict[str, int]:
    """Return the number of edits to each term within `max_distance`. Some may not be in any segment."""
    own_term = stem(word)
    terms_one_edit_away = stem_all_edits(word)
    terms_with_prefix = {
        term
        for reader in statistics.segment_readers
        for term in reader.segment.terms_with_prefix(field, own_term[:PREFIX_LENGTH])
    }
    candidates = [term for term in terms_with_prefix if abs(len(term) - len(own_term)) <= max_distance]
    distances = {
        term: distance
        for term, distance in zip(
            candidates, compute_edit_distances(own_term, candidates).tolist(), strict=True
        )
        if distance <= max_distance
    }
    distances |= {
        term: 1
        for term in terms_one_edit_away
        if term in terms_with_prefix or not term.startswith(own_term[:PREFIX_LENGTH])
    }
    distances.pop(own_term, None)
    return distances


def _count_sections(statistics: Statistics, term: str) -> int:
    """Return the number of live sections that contain a term."""
    key, count = make_term_key(TEXT, term), 0
    for reader, live_flags in zip(statistics.segment_readers, statistics.live_flags, strict=True):
        ids, _ = reader.segment.postings(key)
        count += len(ids) if live_flags is None else int(np.count_nonzero(live_flags[ids]))
    return count
