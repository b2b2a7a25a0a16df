"""The formula of a score, in integers, so that every order of adding gives the same sum.

    I(w, length) = round(65536 * w / (w + K1 * (1 - B + B * length / average)))      the impact
    W(term)      = round(65536 * qtf * ln(1 + (N - df + 1/2) / (df + 1/2)) * (K1 + 1))   the weight
    score        = sum over the query's terms of W(term) * I(w, length) / 2**32

This is BM25 with Lucene's inverse document frequency, which is never negative. `w` is the weight of a term in
a section (1 to 255), and `length` the sum of the weights of all its terms. `qtf` is the weight of the term in
the query (`weigh_query_terms`), `df` the number of sections with it, `N` the number of all sections. `I` and
`W` are at least 1, so that every section with a term of the query has a score above 0. Halves are rounded to
the nearest even number, and doubles are evaluated in the order written.

Since a weight is at most 255, no impact exceeds 65331, which fits 16 bits.

A scored phrase is a term too: `w` is the number of its occurrences, those in the heading counted twice, and
`df` the number of sections with it.

Among the best 50, the score of a section then gains from its document: first a bonus for the document's other
good sections, then a gain for its title:

    bonus = (second best + third best score of the document) / 4
    title = (score + bonus) * 3/20 * (sum of W of the title's terms in the query) / (sum of W of all of them)

The terms of a title are the distinct terms of its first 100 characters, without stop words if there are other
terms, each with qtf = 1. A score is an integer multiple of 2**-34, and the gain of a title is rounded down.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.6
B = 0.5

FIXED_POINT_ONE = 1 << 16
"""The number 1 in fixed-point impacts and weights."""

SCORE_SCALE = float(FIXED_POINT_ONE * FIXED_POINT_ONE)
"""The divisor that turns a sum of impacts times weights into a score."""

BONUS_DEPTH = 50
"""The number of best sections among which documents with several good sections are preferred."""

BONUS_DIVISOR = 4
"""Each section of a document gains the sum of its second and third best scores, divided by this."""

_TITLE_NUMERATOR, _TITLE_DENOMINATOR = 3, 20  # a title that the query contains in full adds 15 %


def compute_average_length(total_length: int, count: int) -> float:
    """Return the average length of `count` sections, rounded to quarters, so that few commits change it."""
    return max(round(4 * total_length / count) / 4, 0.25) if count else 0.25


def compute_impact(w: int, length: int, average: float) -> int:
    """Return the impact of a term of weight `w` in a section of this length, from 1 to 65331."""
    return max(round(FIXED_POINT_ONE * w / (w + K1 * (1 - B + B * length / average))), 1)


def compute_impacts(w: NDArray[np.uint8], lengths: NDArray[np.uint32], average: float) -> NDArray[np.uint16]:
    """Return the impacts of weights in sections of these lengths, bit-identical to `compute_impact`."""
    import numpy as np

    weights = w.astype(np.float64)
    norms = K1 * (1 - B + B * lengths / average)
    return np.maximum(np.rint(FIXED_POINT_ONE * weights / (weights + norms)), 1).astype(np.uint16)


def compute_title_gain(score: int, matched_weight: int, total_weight: int) -> int:
    """Return the gain of a section of this score from the title of its document.

    The title's terms have the weight `total_weight`; those that the query contains have `matched_weight`.
    """
    return score * _TITLE_NUMERATOR * matched_weight // (_TITLE_DENOMINATOR * total_weight)


def compute_min_score_before_title(score: int) -> int:
    """Return the lowest score that can reach `score` with the largest gain from a title."""
    return -(-score * _TITLE_DENOMINATOR // (_TITLE_DENOMINATOR + _TITLE_NUMERATOR))


@lru_cache(maxsize=20_000)
def compute_weight(qtf: int, df: int, section_count: int) -> int:
    """Return the weight of a term, at least 1.

    The query has the term `qtf` times, and `df` of `section_count` sections contain it.
    """
    return max(
        round(FIXED_POINT_ONE * qtf * math.log(1 + (section_count - df + 0.5) / (df + 0.5)) * (K1 + 1)), 1
    )
