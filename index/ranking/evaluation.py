"""Evaluation: the best-scoring sections of a group, exactly.

A small group is scored completely: all its lists are added up at once. So is any group for a query of very
many terms. In a large group most of the lists is never read. Terms are processed in the order of their
maximal contribution. The threshold is known from the start: a term's own k-th best impact. A section becomes
a candidate only at a term with which the remaining terms could still lift it over the threshold; their lists
are looked up for the candidates alone. The threshold rises to the k-th best score of the candidates.

`Postings` are posting lists with impacts instead of weights, and with their best sections at hand.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.ranking.bm25 import impacts
from index.segments.segment import TEXT, term_key

if TYPE_CHECKING:
    from index.segments.segment import Segment

BEST = 64
"""How many of a list's best impacts are known by themselves."""


class Postings(NamedTuple):
    """The sections of a segment that hold a term, ascending, with the term's impact in each.

    `peaks` are the 64 highest impacts (or all), highest first, `best` the numbers of their sections; `top` is
    the highest.
    """

    ids: NDArray[np.uint32]
    impacts: NDArray[np.uint16]
    top: int
    best: NDArray[np.uint32]
    peaks: NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        """The bytes of memory; ids that are a view of the segment's own array take none."""
        own = self.ids.nbytes if self.ids.flags.owndata else 0
        return own + self.impacts.nbytes + self.best.nbytes + self.peaks.nbytes


def postings(segment: Segment, term: str, average: float) -> Postings | None:
    """Make the list of a term ready for one average length; None if no section of the segment holds it."""
    ids, weights = segment.postings(term_key(TEXT, term))
    if not len(ids):
        return None
    return make_postings(ids, impacts(weights, segment.lengths[ids], average))


def make_postings(ids: NDArray[np.uint32], impacts: NDArray[np.uint16]) -> Postings:
    """Find the best of a list, which is not empty; of equal impacts, the first."""
    count = min(BEST, len(ids))
    places = np.argpartition(impacts, len(ids) - count)[-count:]
    places = places[np.lexsort((places, -impacts[places].astype(np.int32)))]
    return Postings(ids, impacts, int(impacts[places[0]]), ids[places], impacts[places])


WHOLE = 1 << 16
"""Up to this number of sections it takes longer to leave something out than to add up everything."""

MANY = 16
"""With more terms than this hardly a list can be left out."""

_NEAR = 24  # from this ratio of lengths on, searching costs less than marking a whole list
Numbers = NDArray[np.uint32]
Scores = NDArray[np.int64]
Mask = NDArray[np.bool_]
Starts = Sequence[int] | NDArray[np.int64]


class WeightedTerm(NamedTuple):
    """A term of the query in one block: its weight, its list, and the most that it can add to a score."""

    weight: int
    postings: Postings
    most: int


class ScoredNumbers(NamedTuple):
    """Numbers of sections, and their scores in units of 2**-32."""

    numbers: Numbers
    scores: Scores


NO_SECTIONS = ScoredNumbers(np.empty(0, np.uint32), np.empty(0, np.int64))
_NOWHERE = np.empty(0, np.intp)


def evaluate(
    terms: Sequence[WeightedTerm],
    size: int,
    k: int,
    mask: Mask | None = None,
    floor: int = 1,
    starts: Starts = (0,),
) -> ScoredNumbers:
    """Return the k best of `size` sections, as `topmost` does.

    `mask` has a flag for each section that may be found. What scores less than `floor`, at least 1, may be
    left out: what was found in one block makes the next one quick.
    """
    threshold = max([floor, *(_single_term_threshold(term, k, mask) for term in terms)])
    if sum(term.most for term in terms) < threshold:
        return NO_SECTIONS
    if len(terms) > MANY:
        return top_k(_find_reaching(_score_by_list(terms, size), mask, threshold), k, starts)
    if size <= WHOLE:
        return top_k(_find_reaching(_score_all(terms, size), mask, threshold), k, starts)
    return top_k(_evaluate_pruned(terms, size, k, mask, threshold), k, starts)


def score(terms: Sequence[WeightedTerm], numbers: Numbers) -> ScoredNumbers:
    """Score these sections, whose numbers ascend, by all the terms."""
    scores = np.zeros(len(numbers), np.int64)
    for weight, postings, _ in terms:
        places = postings.ids.searchsorted(numbers)
        shared = (postings.ids.take(places, mode="clip") == numbers).nonzero()[0]
        scores[shared] += _gains(weight, postings.impacts[places[shared]])
    return ScoredNumbers(numbers, scores)


def intersect(lists: Sequence[Numbers]) -> Numbers:
    """Return the sections that stand in every one of these lists, at least one, ascending."""
    numbers, *others = sorted(lists, key=len)
    for ids in others:
        if not len(ids):
            return ids
        numbers = numbers[ids.take(ids.searchsorted(numbers), mode="clip") == numbers]
    return numbers


def kth(scores: Scores, k: int) -> int:
    """Return the k-th highest of at least k scores."""
    scores = scores.copy()
    scores.partition(len(scores) - k)
    return int(scores[-k])


def top_k(found: ScoredNumbers, k: int, starts: Starts = (0,)) -> ScoredNumbers:
    """Return the k best of some sections, in no order; of equal scores, those with the lowest numbers.

    `starts` has the first number of each part. Where the last score is shared, and only addresses tell which
    part comes first, each part has its share in what is given, so that this is more than k.
    """
    numbers, scores = found
    if len(scores) > k:
        last = kth(scores, k)
        kept = (scores >= last).nonzero()[0]
        numbers, scores = numbers[kept], scores[kept]
        if len(kept) > k:
            better = scores > last
            equal = np.sort(numbers[~better])
            part = np.searchsorted(starts, equal, "right")
            rank = np.arange(len(equal)) - part.searchsorted(part)
            equal = equal[rank < k - np.count_nonzero(better)]
            numbers = np.concatenate((numbers[better], equal))
            scores = np.concatenate((scores[better], np.full(len(equal), last)))
    return ScoredNumbers(numbers, scores)


def _score_all(terms: Sequence[WeightedTerm], size: int) -> NDArray[np.float64]:
    """Score every section, all lists at once."""
    ids = np.concatenate([postings.ids for _, postings, _ in terms])
    gains = np.concatenate([postings.impacts * float(weight) for weight, postings, _ in terms])
    # The sums are whole numbers below 2**53, so doubles hold them exactly.
    return np.bincount(ids, gains, size).astype(np.float64, copy=False)


def _score_by_list(terms: Sequence[WeightedTerm], size: int) -> NDArray[np.float64]:
    """Score every section, one list after the other, which takes little memory however many there are."""
    scores = np.zeros(size)
    for weight, postings, _ in terms:
        scores[postings.ids] += postings.impacts * float(weight)
    return scores


def _find_reaching(scores: NDArray[np.float64], mask: Mask | None, threshold: int) -> ScoredNumbers:
    """Return all sections that reach the threshold."""
    numbers = (scores >= threshold).nonzero()[0]
    if mask is not None:
        numbers = numbers[mask.take(numbers)]
    return ScoredNumbers(numbers.astype(np.uint32), scores[numbers].astype(np.int64))


def _evaluate_pruned(
    terms: Sequence[WeightedTerm], size: int, k: int, mask: Mask | None, threshold: int
) -> ScoredNumbers:
    """Return sections that reach the threshold: the k best, what equals the last of them, and some more."""
    terms = sorted(terms, key=lambda term: -term.most)
    # Where a section is left out, the rest alone is below the threshold: none comes in later, half counted.
    rests = list(accumulate((term.most for term in reversed(terms)), initial=0))[-2::-1]
    numbers, scores = NO_SECTIONS
    for (weight, postings, most), rest in zip(terms, rests, strict=True):
        known = _NOWHERE
        if len(numbers):
            places = _places(postings.ids, numbers, size)
            shared = (postings.ids.take(places, mode="clip") == numbers).nonzero()[0]
            known = places[shared]
            raised = scores[shared] + _gains(weight, postings.impacts[known])
            scores[shared] = raised
            if len(raised) >= k:
                threshold = max(threshold, kth(raised, k))
            kept = (scores >= threshold - rest).nonzero()[0]
            numbers, scores = numbers[kept], scores[kept]
        if most + rest >= threshold:
            places = _find_entering(postings.impacts, -((rest - threshold) // weight), known)
            fresh, gains = postings.ids[places], _gains(weight, postings.impacts[places])
            if mask is not None:
                kept = mask.take(fresh).nonzero()[0]
                fresh, gains = fresh[kept], gains[kept]
            numbers = np.concatenate((numbers, fresh))
            scores = np.concatenate((scores, gains))
    return ScoredNumbers(numbers, scores)


def _find_entering(impacts: NDArray[np.uint16], least: int, known: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the places of a list with at least this impact, those of the candidates left out."""
    flags = impacts >= max(least, 1)
    flags[known] = False
    return flags.nonzero()[0]


class _Scratch(threading.local):
    """A place for each section of the largest block that this thread has met; anything may be in it."""

    def __init__(self) -> None:
        self.places = np.empty(0, np.uint32)
        self.counting = np.empty(0, np.uint32)

    def reserve(self, size: int) -> None:
        if len(self.places) < size:
            self.places = np.zeros(size, np.uint32)
            self.counting = np.arange(size, dtype=np.uint32)


_scratch = _Scratch()


def _places(ids: Numbers, numbers: Numbers, size: int) -> NDArray[np.integer]:
    """Return the places of these numbers in a list; any place for a number that is not in it."""
    if len(numbers) * _NEAR < len(ids):
        return ids.searchsorted(numbers)
    _scratch.reserve(size)
    _scratch.places[ids.astype(np.intp)] = _scratch.counting[: len(ids)]
    return _scratch.places[numbers]


def _single_term_threshold(term: WeightedTerm, k: int, mask: Mask | None) -> int:
    """Return the score that the term alone gives to its k-th best allowed section; 0 if unknown."""
    postings = term.postings
    peaks = postings.peaks if mask is None else postings.peaks[mask.take(postings.best)]
    return term.weight * int(peaks[k - 1]) if k <= len(peaks) else 0


def _gains(weight: int, impacts: NDArray[np.uint16]) -> Scores:
    gains = impacts.astype(np.int64)
    gains *= weight
    return gains
