"""Evaluation: the best-scoring sections of a group, exactly.

In a small group every section is scored, with all posting lists at once. For a query of very many terms,
every section of any group is scored, with one list after another. Otherwise, in a large group, most postings
are never read (MaxScore pruning). Terms are processed in descending order of their maximal contribution. The
initial threshold is a term's own k-th best score. A section becomes a candidate only at a term with which,
together with the remaining terms, it can still reach the threshold. Later lists are searched only for the
candidates. The threshold rises to the k-th best score of the candidates.

`Postings` are posting lists with impacts instead of weights, and with their best sections precomputed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.ranking.bm25 import compute_impacts

if TYPE_CHECKING:
    from index.segments.segment import PostingArrays

PEAK_COUNT = 64
"""The number of a list's best impacts that are precomputed."""


class Postings(NamedTuple):
    """The sections of a segment that contain a term, ascending, with the term's impact in each.

    `peaks` are the 64 highest impacts (or all), highest first, and `peak_ids` the numbers of their sections.
    `max_impact` is the highest impact.
    """

    ids: NDArray[np.uint32]
    impacts: NDArray[np.uint16]
    max_impact: int
    peak_ids: NDArray[np.uint32]
    peaks: NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        """The bytes of memory, without ids that are a view of the segment's own array."""
        own_id_bytes = self.ids.nbytes if self.ids.flags.owndata else 0
        return own_id_bytes + self.impacts.nbytes + self.peak_ids.nbytes + self.peaks.nbytes


def score_postings(arrays: PostingArrays, lengths: NDArray[np.uint32], average: float) -> Postings | None:
    """Return the postings of a term for an average length of sections; None if there are none.

    `lengths` has the length of every section of the segment.
    """
    ids, term_impacts = score_arrays(arrays, lengths, average)
    return make_postings(ids, term_impacts) if len(ids) else None


def score_arrays(
    arrays: PostingArrays, lengths: NDArray[np.uint32], average: float
) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Return the sections that contain a term, and its impacts for an average length of sections."""
    ids, weights = arrays
    return ids, compute_impacts(weights, lengths[ids], average)


def make_postings(ids: NDArray[np.uint32], impacts: NDArray[np.uint16]) -> Postings:
    """Return the postings of a non-empty list; among equal impacts, the first sections are the best."""
    count = min(PEAK_COUNT, len(ids))
    positions = np.argpartition(impacts, len(ids) - count)[-count:]
    positions = positions[np.lexsort((positions, -impacts[positions].astype(np.int32)))]
    return Postings(ids, impacts, int(impacts[positions[0]]), ids[positions], impacts[positions])


MAX_FULLY_SCORED_SECTIONS = 1 << 16
"""Up to this number of sections, scoring every section is faster than pruning."""

MAX_PRUNED_TERMS = 16
"""With more terms than this, pruning skips almost no list."""

_SEARCH_RATIO = 24  # from this ratio of lengths on, binary search is faster than a lookup table
Numbers = NDArray[np.uint32]
"""The numbers of some sections."""

Scores = NDArray[np.int64]
"""The score of each section, in units of 2**-32."""

Mask = NDArray[np.bool_]
"""A flag for each section: True if it may be a result."""

Starts = Sequence[int] | NDArray[np.int64]
"""The number of the first section of each segment."""


class WeightedTerm(NamedTuple):
    """A term of the query in one group: its weight, its postings, and its largest contribution to a score."""

    weight: int
    postings: Postings
    max_gain: int


class ScoredNumbers(NamedTuple):
    """Numbers of sections, and their scores in units of 2**-32."""

    numbers: Numbers
    scores: Scores


NO_SECTIONS = ScoredNumbers(np.empty(0, np.uint32), np.empty(0, np.int64))
_NO_POSITIONS = np.empty(0, np.intp)


def evaluate(
    terms: Sequence[WeightedTerm],
    size: int,
    k: int,
    mask: Mask | None = None,
    min_score: int = 1,
    starts: Starts = (0,),
) -> ScoredNumbers:
    """Return the k best of `size` sections, as `top_k` defines.

    `mask` has a flag for each section: True if it may be a result. Sections with a score below `min_score`,
    which is at least 1, may be left out. The results of one group thus speed up the next group.
    """
    threshold = max([min_score, *(_compute_single_term_threshold(term, k, mask) for term in terms)])
    if sum(term.max_gain for term in terms) < threshold:
        return NO_SECTIONS
    if len(terms) > MAX_PRUNED_TERMS:
        return top_k(_find_sections_above_threshold(_score_by_list(terms, size), mask, threshold), k, starts)
    if size <= MAX_FULLY_SCORED_SECTIONS:
        return top_k(_find_sections_above_threshold(_score_all(terms, size), mask, threshold), k, starts)
    return top_k(_evaluate_pruned(terms, size, k, mask, threshold), k, starts)


def score_sections(terms: Sequence[WeightedTerm], numbers: Numbers) -> ScoredNumbers:
    """Return the scores of sections by all terms. `numbers` must be ascending."""
    scores = np.zeros(len(numbers), np.int64)
    for weight, postings, _ in terms:
        positions = postings.ids.searchsorted(numbers)
        shared = (postings.ids.take(positions, mode="clip") == numbers).nonzero()[0]
        scores[shared] += _compute_gains(weight, postings.impacts[positions[shared]])
    return ScoredNumbers(numbers, scores)


def intersect(lists: Sequence[Numbers]) -> Numbers:
    """Return the sections that are in every list, ascending; at least one list is required."""
    numbers, *others = sorted(lists, key=len)
    for other_numbers in others:
        if not len(other_numbers):
            return other_numbers
        numbers = numbers[other_numbers.take(other_numbers.searchsorted(numbers), mode="clip") == numbers]
    return numbers


def find_kth_highest(scores: Scores, k: int) -> int:
    """Return the k-th highest of at least k scores."""
    scores = scores.copy()
    scores.partition(len(scores) - k)
    return int(scores[-k])


def top_k(candidates: ScoredNumbers, k: int, starts: Starts = (0,)) -> ScoredNumbers:
    """Return the k best of some sections, in any order; of equal scores, those with the lowest numbers.

    `starts` has the first number of each segment. If several segments have sections with the k-th best score,
    only the addresses of these sections decide. Up to k of them of each segment are then returned, so that
    the result may have more than k sections.
    """
    numbers, scores = candidates
    if len(scores) > k:
        kth_score = find_kth_highest(scores, k)
        selected = (scores >= kth_score).nonzero()[0]
        numbers, scores = numbers[selected], scores[selected]
        if len(selected) > k:
            is_better = scores > kth_score
            ties = np.sort(numbers[~is_better])
            segment_indexes = np.searchsorted(starts, ties, "right")
            rank = np.arange(len(ties)) - segment_indexes.searchsorted(segment_indexes)
            ties = ties[rank < k - np.count_nonzero(is_better)]
            numbers = np.concatenate((numbers[is_better], ties))
            scores = np.concatenate((scores[is_better], np.full(len(ties), kth_score)))
    return ScoredNumbers(numbers, scores)


def _score_all(terms: Sequence[WeightedTerm], size: int) -> NDArray[np.float64]:
    """Return the score of every section, from all lists at once."""
    ids = np.concatenate([postings.ids for _, postings, _ in terms])
    gains = np.concatenate([postings.impacts * float(weight) for weight, postings, _ in terms])
    # The sums are whole numbers below 2**53, so doubles are exact.
    return np.bincount(ids, gains, size).astype(np.float64, copy=False)


def _score_by_list(terms: Sequence[WeightedTerm], size: int) -> NDArray[np.float64]:
    """Return the score of every section, one list after the other, which takes little memory."""
    scores = np.zeros(size)
    for weight, postings, _ in terms:
        scores[postings.ids] += postings.impacts * float(weight)
    return scores


def _find_sections_above_threshold(
    scores: NDArray[np.float64], mask: Mask | None, threshold: int
) -> ScoredNumbers:
    """Return all sections that reach the threshold."""
    numbers = (scores >= threshold).nonzero()[0]
    if mask is not None:
        numbers = numbers[mask.take(numbers)]
    return ScoredNumbers(numbers.astype(np.uint32), scores[numbers].astype(np.int64))


def _evaluate_pruned(
    terms: Sequence[WeightedTerm], size: int, k: int, mask: Mask | None, threshold: int
) -> ScoredNumbers:
    """Return the k best sections, those with the k-th best score, and possibly some more."""
    terms = sorted(terms, key=lambda term: -term.max_gain)
    # A section is dropped only if the remaining terms cannot raise it to the threshold. It is therefore never
    # added again later with a partial score.
    remaining_gains = list(accumulate((term.max_gain for term in reversed(terms)), initial=0))[-2::-1]
    numbers, scores = NO_SECTIONS
    for (weight, postings, max_gain), remaining_gain in zip(terms, remaining_gains, strict=True):
        known_positions = _NO_POSITIONS
        if len(numbers):
            positions = _find_positions(postings.ids, numbers, size)
            shared = (postings.ids.take(positions, mode="clip") == numbers).nonzero()[0]
            known_positions = positions[shared]
            new_scores = scores[shared] + _compute_gains(weight, postings.impacts[known_positions])
            scores[shared] = new_scores
            if len(new_scores) >= k:
                threshold = max(threshold, find_kth_highest(new_scores, k))
            selected = (scores >= threshold - remaining_gain).nonzero()[0]
            numbers, scores = numbers[selected], scores[selected]
        if max_gain + remaining_gain >= threshold:
            positions = _find_new_candidates(
                postings.impacts, -((remaining_gain - threshold) // weight), known_positions
            )
            new_numbers, gains = postings.ids[positions], _compute_gains(weight, postings.impacts[positions])
            if mask is not None:
                selected = mask.take(new_numbers).nonzero()[0]
                new_numbers, gains = new_numbers[selected], gains[selected]
            numbers = np.concatenate((numbers, new_numbers))
            scores = np.concatenate((scores, gains))
    return ScoredNumbers(numbers, scores)


def _find_new_candidates(
    impacts: NDArray[np.uint16], min_impact: int, known_positions: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Return the positions in a list with at least this impact, except the known positions of candidates."""
    flags = impacts >= max(min_impact, 1)
    flags[known_positions] = False
    return flags.nonzero()[0]


class _Scratch(threading.local):
    """Reusable arrays of one thread, with an entry for each section of the largest group so far."""

    def __init__(self) -> None:
        self.positions = np.empty(0, np.uint32)
        self.counter = np.empty(0, np.uint32)

    def reserve(self, size: int) -> None:
        if len(self.positions) < size:
            self.positions = np.zeros(size, np.uint32)
            self.counter = np.arange(size, dtype=np.uint32)


_scratch = _Scratch()


def _find_positions(ids: Numbers, numbers: Numbers, size: int) -> NDArray[np.integer]:
    """Return the position of each number in a list; an arbitrary position for a number that is missing."""
    if len(numbers) * _SEARCH_RATIO < len(ids):
        return ids.searchsorted(numbers)
    _scratch.reserve(size)
    _scratch.positions[ids.astype(np.intp)] = _scratch.counter[: len(ids)]
    return _scratch.positions[numbers]


def _compute_single_term_threshold(term: WeightedTerm, k: int, mask: Mask | None) -> int:
    """Return the k-th best score of allowed sections by this term alone; 0 if unknown."""
    postings = term.postings
    peaks = postings.peaks if mask is None else postings.peaks[mask.take(postings.peak_ids)]
    return term.weight * int(peaks[k - 1]) if k <= len(peaks) else 0


def _compute_gains(weight: int, impacts: NDArray[np.uint16]) -> Scores:
    gains = impacts.astype(np.int64)
    gains *= weight
    return gains
