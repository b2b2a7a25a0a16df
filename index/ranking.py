"""BM25 over posting lists: which chunks answer the query's terms, and in which order.

    score = sum over terms of  qtf * idf * w * (k1 + 1) / (w + k1 * (1 - b + b * length / average))
    idf   = ln(1 + (N - df + 1/2) / (df + 1/2))        (Lucene's, which is never negative)

Terms are joined by OR. N, df and the average length count live chunks only, so an index that followed many
commits gives the same lists as one built afresh. Equal scores are ordered by address.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from index.chunks import Record
from index.generation import TEXT, Generation, Part

K1 = 1.6
B = 0.5


@dataclass(frozen=True, slots=True)
class Ranked:
    record: Record
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """One page of a ranking, and how many chunks it ranks in all."""

    page: tuple[Ranked, ...]
    total: int


Filter = Callable[[Part], "set[int] | None"]
"""Gives the documents of a segment that may answer; None means all of them."""


def rank(
    generation: Generation,
    query: Mapping[str, int],
    filters: Iterable[Filter] = (),
    *,
    offset: int,
    limit: int,
) -> Ranking:
    """Give the chunks from `offset` on that answer the query, best first."""
    limit = max(limit, 1)
    found: list[tuple[float, Part, int]] = []
    allowed = [_allowed(part, filters) for part in generation.parts]
    weights = _idf(generation, query)
    average = generation.total_length / max(generation.state.chunks, 1) or 1.0
    for part, some in zip(generation.parts, allowed, strict=True):
        if some is None or some:
            for document, score in _scores(part, weights, average).items():
                if document not in part.deleted and (some is None or document in some):
                    found.append((score, part, document))
    return Ranking(tuple(_best(found, offset, limit)), len(found))


def _allowed(part: Part, filters: Iterable[Filter]) -> set[int] | None:
    allowed: set[int] | None = None
    for choose in filters:
        chosen = choose(part)
        if chosen is not None:
            allowed = chosen if allowed is None else allowed & chosen
    return allowed


def _idf(generation: Generation, query: Mapping[str, int]) -> dict[str, float]:
    """Weigh each term that occurs by rarity and count in the query; sorted, so that sums never vary."""
    number = generation.state.chunks
    weights = {}
    for term in sorted(query):
        frequency = 0
        for part in generation.parts:
            ids, _ = part.segment.postings(TEXT, term)
            frequency += len(ids)
            if part.deleted and ids:
                frequency -= sum(1 for document in ids if document in part.deleted)
        if frequency:
            weights[term] = query[term] * math.log(1 + (number - frequency + 0.5) / (frequency + 0.5))
    return weights


def _scores(part: Part, weights: Mapping[str, float], average: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    norms = part.segment.norms(average, _norms)
    get = scores.get
    for term, weight in weights.items():
        factor = weight * (K1 + 1)
        ids, frequencies = part.segment.postings(TEXT, term)
        for document, frequency in zip(ids, frequencies, strict=True):
            scores[document] = get(document, 0.0) + factor * frequency / (frequency + norms[document])
    return scores


def _norms(lengths: Iterable[int], average: float) -> array[float]:
    return array("d", (K1 * (1 - B + B * length / average) for length in lengths))


def _best(found: list[tuple[float, Part, int]], offset: int, limit: int) -> list[Ranked]:
    """Sort no more of the list than the page needs, all ties of its last score included."""
    wanted = offset + limit
    if wanted < len(found):
        worst = heapq.nlargest(wanted, (score for score, _, _ in found))[-1]
        found = [item for item in found if item[0] >= worst]
    ranked = [Ranked(part.record(document), score) for score, part, document in found]
    ranked.sort(key=lambda item: (-item.score, item.record.path, item.record.key))
    return ranked[offset:wanted]
