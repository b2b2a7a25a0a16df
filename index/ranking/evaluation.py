"""Which sections of a block score best, exactly.

A small block is scored whole: all its lists are added up at once. So is any block for a query of very many
terms. In a large one most of the lists is never looked at. Terms are taken in the order of the most that each
can add, and what a section must score to be among the best is known from the start: as much as a term's own
k-th best impact gives. A section enters the candidates only at a term that lifts it so high that the terms
still to come could carry it over that threshold; their lists are looked up for the candidates alone. As
candidates gather, the threshold rises to their k-th best score.

Posting lists made ready for scoring: impacts instead of weights, and the best of them by themselves.
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
    return ready(ids, impacts(weights, segment.lengths[ids], average))


def ready(ids: NDArray[np.uint32], impacts: NDArray[np.uint16]) -> Postings:
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


class Weighted(NamedTuple):
    """A term of the query in one block: its weight, its list, and the most that it can add to a score."""

    weight: int
    postings: Postings
    most: int


class Found(NamedTuple):
    """Numbers of sections, and their scores in units of 2**-32."""

    numbers: Numbers
    scores: Scores


NOTHING = Found(np.empty(0, np.uint32), np.empty(0, np.int64))


_NOWHERE = np.empty(0, np.intp)


def evaluate(
    terms: Sequence[Weighted],
    size: int,
    k: int,
    mask: Mask | None = None,
    floor: int = 1,
    starts: Starts = (0,),
) -> Found:
    """Return the k best of `size` sections, as `topmost` does.

    `mask` has a flag for each section that may be found. What scores less than `floor`, at least 1, may be
    left out: what was found in one block makes the next one quick.
    """
    threshold = max([floor, *(_alone(term, k, mask) for term in terms)])
    if sum(term.most for term in terms) < threshold:
        return NOTHING
    if len(terms) > MANY:
        return topmost(_reaching(_summed(terms, size), mask, threshold), k, starts)
    if size <= WHOLE:
        return topmost(_reaching(_joined(terms, size), mask, threshold), k, starts)
    return topmost(_pruned(terms, size, k, mask, threshold), k, starts)


def score(terms: Sequence[Weighted], numbers: Numbers) -> Found:
    """Score these sections, whose numbers ascend, by all the terms."""
    scores = np.zeros(len(numbers), np.int64)
    for weight, postings, _ in terms:
        places = postings.ids.searchsorted(numbers)
        shared = (postings.ids.take(places, mode="clip") == numbers).nonzero()[0]
        scores[shared] += _gains(weight, postings.impacts[places[shared]])
    return Found(numbers, scores)


def holding(lists: Sequence[Numbers]) -> Numbers:
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


def topmost(found: Found, k: int, starts: Starts = (0,)) -> Found:
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
    return Found(numbers, scores)


def _joined(terms: Sequence[Weighted], size: int) -> NDArray[np.float64]:
    """Score every section, all lists at once."""
    ids = np.concatenate([postings.ids for _, postings, _ in terms])
    gains = np.concatenate([postings.impacts * float(weight) for weight, postings, _ in terms])
    # The sums are whole numbers below 2**53, so doubles hold them exactly.
    return np.bincount(ids, gains, size).astype(np.float64, copy=False)


def _summed(terms: Sequence[Weighted], size: int) -> NDArray[np.float64]:
    """Score every section, one list after the other, which takes little memory however many there are."""
    scores = np.zeros(size)
    for weight, postings, _ in terms:
        scores[postings.ids] += postings.impacts * float(weight)
    return scores


def _reaching(scores: NDArray[np.float64], mask: Mask | None, threshold: int) -> Found:
    """Return all sections that reach the threshold."""
    numbers = (scores >= threshold).nonzero()[0]
    if mask is not None:
        numbers = numbers[mask.take(numbers)]
    return Found(numbers.astype(np.uint32), scores[numbers].astype(np.int64))


def _pruned(terms: Sequence[Weighted], size: int, k: int, mask: Mask | None, threshold: int) -> Found:
    """Return sections that reach the threshold: the k best, what equals the last of them, and some more."""
    terms = sorted(terms, key=lambda term: -term.most)
    # Where a section is left out, the rest alone is below the threshold: none comes in later, half counted.
    rests = list(accumulate((term.most for term in reversed(terms)), initial=0))[-2::-1]
    numbers, scores = NOTHING
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
            places = _entering(postings.impacts, -((rest - threshold) // weight), known)
            fresh, gains = postings.ids[places], _gains(weight, postings.impacts[places])
            if mask is not None:
                kept = mask.take(fresh).nonzero()[0]
                fresh, gains = fresh[kept], gains[kept]
            numbers = np.concatenate((numbers, fresh))
            scores = np.concatenate((scores, gains))
    return Found(numbers, scores)


def _entering(impacts: NDArray[np.uint16], least: int, known: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the places of a list with at least this impact, those of the candidates left out."""
    flags = impacts >= max(least, 1)
    flags[known] = False
    return flags.nonzero()[0]


class _Scratch(threading.local):
    """A place for each section of the largest block that this thread has met; anything may be in it."""

    def __init__(self) -> None:
        self.places = np.empty(0, np.uint32)
        self.counting = np.empty(0, np.uint32)

    def at_least(self, size: int) -> None:
        if len(self.places) < size:
            self.places = np.zeros(size, np.uint32)
            self.counting = np.arange(size, dtype=np.uint32)


_scratch = _Scratch()


def _places(ids: Numbers, numbers: Numbers, size: int) -> NDArray[np.integer]:
    """Return the places of these numbers in a list; any place for a number that is not in it."""
    if len(numbers) * _NEAR < len(ids):
        return ids.searchsorted(numbers)
    _scratch.at_least(size)
    _scratch.places[ids.astype(np.intp)] = _scratch.counting[: len(ids)]
    return _scratch.places[numbers]


def _alone(term: Weighted, k: int, mask: Mask | None) -> int:
    """The score that the term alone gives to its k-th best section of all that may be found; 0 if unknown."""
    postings = term.postings
    peaks = postings.peaks if mask is None else postings.peaks[mask.take(postings.best)]
    return term.weight * int(peaks[k - 1]) if k <= len(peaks) else 0


def _gains(weight: int, impacts: NDArray[np.uint16]) -> Scores:
    gains = impacts.astype(np.int64)
    gains *= weight
    return gains
