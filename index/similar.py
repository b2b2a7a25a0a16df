"""The terms of the text that a misspelt word may stand for, looked up among those that live sections hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from index.analysis.stemming import stem
from index.segments.terms import TEXT, term_key
from index.spelling import ALIKE, distances, is_word, reach, stems_of_edits

if TYPE_CHECKING:
    from index.ranking.statistics import Statistics


def similar(statistics: Statistics, word: str, most: int) -> tuple[str, ...]:
    """Give at most so many terms that are like a folded word, as the port says."""
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
    own, limit = stem(word), reach(word)
    near = stems_of_edits(word)
    alike = {term for part in statistics.parts for term in part.segment.terms_from(TEXT, own[:ALIKE])}
    known = [term for term in alike if abs(len(term) - len(own)) <= limit]
    found = {
        term: edits
        for term, edits in zip(known, distances(own, known).tolist(), strict=True)
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
