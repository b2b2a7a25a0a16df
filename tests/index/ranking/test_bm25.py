"""BM25: known values, equal scalar and vectorized results, and the range of 16 bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.ranking.bm25 import (
    compute_average_length,
    compute_impact,
    compute_impacts,
    compute_min_score_before_title,
    compute_title_gain,
    compute_weight,
)
from tests.loops import loop_over

AVERAGES = st.integers(1, 1 << 40).map(lambda quarters: quarters / 4)


@loop_over(
    ("weight", "length", "average", "expected"),
    [
        (1, 1, 1.0, 25206),  # 65536 / (1 + 1.6)
        (1, 40, 40.0, 25206),
        (2, 40, 40.0, 36409),
        (3, 10, 40.0, 49152),  # 65536 * 3 / (3 + 1.6 * (0.5 + 0.5 * 10 / 40))
        (1, 400, 40.0, 6687),
        (255, 255, 2.0**40, 65331),
        (1, 2**31, 0.25, 1),
    ],
)
def test_impact_equals_known_values(weight: int, length: int, average: float, expected: int) -> None:
    assert compute_impact(weight, length, average) == expected


@loop_over(
    ("qtf", "df", "section_count", "expected"),
    [(1, 1, 1, 49019), (2, 1, 1, 98038), (1, 1, 158_042, 1_970_629), (1, 10, 10, 7927), (1, 10**7, 10**7, 1)],
)
def test_weight_equals_known_values(qtf: int, df: int, section_count: int, expected: int) -> None:
    assert compute_weight(qtf, df, section_count) == expected


@loop_over(
    ("length", "section_count", "expected"),
    [(0, 0, 0.25), (0, 3, 0.25), (1, 3, 0.25), (9, 8, 1.0), (11, 8, 1.5), (10, 3, 3.25), (400, 10, 40.0)],
)
def test_average_is_rounded_to_a_quarter(length: int, section_count: int, expected: float) -> None:
    assert compute_average_length(length, section_count) == expected


@loop_over(
    ("score", "matched_weight", "total", "expected"),
    [(1000, 1, 1, 150), (1000, 0, 5, 0), (1000, 1, 3, 50), (999, 1, 2, 74), (2**60, 7, 7, 2**60 * 3 // 20)],
)
def test_title_gain_is_its_share_of_the_score(
    score: int, matched_weight: int, total: int, expected: int
) -> None:
    assert compute_title_gain(score, matched_weight, total) == expected


@given(st.integers(1, 1 << 60))
def test_min_score_before_title_is_lowest_that_can_reach_score(score: int) -> None:
    lowest = compute_min_score_before_title(score)
    assert (
        lowest + compute_title_gain(lowest, 1, 1) >= score > lowest - 1 + compute_title_gain(lowest - 1, 1, 1)
    )


@given(st.lists(st.tuples(st.integers(1, 255), st.integers(0, 1 << 31)), min_size=1), AVERAGES)
def test_vectorized_impacts_equal_scalar_impacts(items: list[tuple[int, int]], average: float) -> None:
    pairs = [(w, min(w + extra_length, (1 << 32) - 1)) for w, extra_length in items]
    weights = np.array([w for w, _ in pairs], np.uint8)
    impacts = compute_impacts(weights, np.array([length for _, length in pairs], np.uint32), average)
    assert impacts.dtype == np.uint16
    assert impacts.tolist() == [compute_impact(w, length, average) for w, length in pairs]


@given(st.integers(1, 255), st.integers(0, 10**9), AVERAGES)
def test_impact_is_near_exact_value_and_fits_16_bits(w: int, extra_length: int, average: float) -> None:
    length = w + extra_length
    exact_impact = (
        65536 * w / (w + Fraction(8, 5) * (Fraction(1, 2) + Fraction(length) / 2 / Fraction(average)))
    )
    impact = compute_impact(w, length, average)
    assert abs(impact - max(exact_impact, Fraction(1))) <= Fraction(501, 1000)
    assert 1 <= impact <= 65331


@given(st.integers(1, 10**6), st.integers(1, 10**7), st.integers(0, 10**7))
def test_rare_terms_weigh_more(qtf: int, df: int, other_count: int) -> None:
    section_count = df + other_count
    assert (
        compute_weight(qtf, df, section_count)
        >= compute_weight(qtf, min(df + 1, section_count), section_count)
        >= 1
    )
