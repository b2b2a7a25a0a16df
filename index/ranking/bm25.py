"""The formula of a score, in integers, so that every order of adding gives the same sum.

    I(w, length) = round(65536 * w / (w + K1 * (1 - B + B * length / average)))      the impact
    W(term)      = round(65536 * qtf * ln(1 + (N - df + 1/2) / (df + 1/2)) * (K1 + 1))   the weight
    score        = sum over the query's terms of W(term) * I(w, length) / 2**32

This is BM25 with Lucene's inverse document frequency, which is never negative. `w` is the weight of a term
in a section (1 to 255), `length` the sum of the weights of all its terms, `qtf` how often the query has the
term, `df` the number of sections with it, `N` of all. Both factors are at least 1: what holds a term is found
by it. Roundings are to the nearest even number, and doubles are evaluated in the order written.

Since a length is never less than a weight in it, no impact exceeds 65331, and 16 bits hold it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.6
B = 0.5

ONE = 1 << 16
"""The number 1 as impacts and weights count it."""

SCALE = float(ONE * ONE)
"""What the sum of impacts times weights is divided by to be a score."""

BONUS_DEPTH = 50
"""A page with several good sections is preferred among this many sections at the top of a list."""

BONUS_SHARE = 4
"""Each of these sections gains one in so many parts of its page's second and third best scores."""


def average(length: int, number: int) -> float:
    """Return the average length of `number` sections, to a quarter, so that most commits change no impact."""
    return max(round(4 * length / number) / 4, 0.25) if number else 0.25


def impact(w: int, length: int, average: float) -> int:
    """Return what a term of this weight adds to a section of this length, from 1 to 65331."""
    return max(round(ONE * w / (w + K1 * (1 - B + B * length / average))), 1)


def impacts(w: NDArray[np.uint8], lengths: NDArray[np.uint32], average: float) -> NDArray[np.uint16]:
    """Return the impact of each of these weights in sections of these lengths, bit-identical to `impact`."""
    import numpy as np

    weights = w.astype(np.float64)
    norms = K1 * (1 - B + B * lengths / average)
    return np.maximum(np.rint(ONE * weights / (weights + norms)), 1).astype(np.uint16)


def weight(qtf: int, df: int, number: int) -> int:
    """Return the weight of a term that the query has `qtf` times and `df` of `number` sections hold.

    At least 1.
    """
    return max(round(ONE * qtf * math.log(1 + (number - df + 0.5) / (df + 0.5)) * (K1 + 1)), 1)
