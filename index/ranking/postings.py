"""Posting lists made ready for scoring: impacts instead of weights, and the best of them by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.ranking.bm25 import impacts
from index.segments.terms import TEXT, term_key

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
