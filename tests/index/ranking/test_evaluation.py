"""The evaluator, which skips most of the posting lists and returns the results of exhaustive scoring."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from index.ranking.evaluation import (
    MAX_FULLY_SCORED_SECTIONS,
    PEAK_COUNT,
    Mask,
    WeightedTerm,
    evaluate,
    intersect,
    make_postings,
    score_sections,
)
from tests.loops import loop_over

SectionScores = list[tuple[int, int]]
PRUNED_SIZE = MAX_FULLY_SCORED_SECTIONS + 1
"""A number of sections above the maximum for full scoring, so that such a segment is pruned."""


def weigh_term(weight: int, impacts: dict[int, int]) -> WeightedTerm:
    numbers = sorted(impacts)
    values = np.array([impacts[number] for number in numbers], np.uint16)
    postings = make_postings(np.array(numbers, np.uint32), values)
    return WeightedTerm(weight, postings, weight * postings.max_impact)


def sum_impacts(terms: list[WeightedTerm]) -> dict[int, int]:
    scores: dict[int, int] = {}
    for weight, postings, _ in terms:
        for number, impact in zip(postings.ids.tolist(), postings.impacts.tolist(), strict=True):
            scores[number] = scores.get(number, 0) + weight * impact
    return scores


def score_exhaustively(terms: list[WeightedTerm], mask: Mask | None) -> SectionScores:
    scores = sum_impacts(terms).items()
    return sorted(
        (pair for pair in scores if mask is None or mask[pair[0]]), key=lambda pair: (-pair[1], pair[0])
    )


def evaluate_terms(
    terms: list[WeightedTerm], k: int, mask: Mask | None = None, floor: int = 1, *, size: int
) -> SectionScores:
    numbers, scores = evaluate(terms, size, k, mask, floor)
    pairs = zip(numbers.tolist(), scores.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


# Only a few different impacts, so that many scores are equal.
LISTS = st.dictionaries(st.integers(0, 60), st.sampled_from([1, 2, 3, 500, 65331]), min_size=1)
TERMS = st.lists(st.builds(weigh_term, st.sampled_from([1, 2, 7, 1000]), LISTS), max_size=5)
SIZES = st.sampled_from([61, PRUNED_SIZE])
MASKS = st.none() | st.lists(st.booleans(), min_size=61, max_size=61).map(np.array)


@given(TERMS, st.integers(1, 70), MASKS, SIZES)
def test_top_k_equals_exhaustive_scoring(
    terms: list[WeightedTerm], k: int, mask: Mask | None, size: int
) -> None:
    assert evaluate_terms(terms, k, mask, size=size) == score_exhaustively(terms, mask)[:k]


@given(TERMS, st.integers(1, 70), MASKS, st.integers(1, 70_000_000), SIZES)
def test_every_score_at_or_above_floor_is_returned(
    terms: list[WeightedTerm], k: int, mask: Mask | None, floor: int, size: int
) -> None:
    expected = [pair for pair in score_exhaustively(terms, mask) if pair[1] >= floor]
    assert evaluate_terms(terms, k, mask, floor, size=size) == expected[:k]


def make_random_terms(rng: Random, size: int) -> list[WeightedTerm]:
    terms = []
    for _ in range(rng.randint(1, 6)):
        numbers = rng.sample(range(size), rng.choice((1, 50, 64, 65, 400, size // 2, size)))
        max_impact = rng.choice((3, 300, 65331))
        impacts = {number: rng.randint(1, max_impact) for number in numbers}
        terms.append(weigh_term(rng.randint(1, 2_000_000), impacts))
    return terms


@loop_over("seed", range(12))
def test_pruning_long_lists_loses_no_result(seed: int) -> None:
    rng, size = Random(seed), 3000
    for _ in range(5):
        terms = make_random_terms(rng, size)
        share = rng.choice((None, 0.01, 0.5, 0.95))
        mask = None if share is None else np.array([rng.random() < share for _ in range(size)])
        expected = score_exhaustively(terms, mask)
        for k in (1, 10, 50, 51, PEAK_COUNT, PEAK_COUNT + 1, 500):
            assert evaluate_terms(terms, k, mask, size=size) == expected[:k]
            assert evaluate_terms(terms, k, mask, size=PRUNED_SIZE) == expected[:k]


@loop_over("size", [1000, PRUNED_SIZE])
def test_equal_scores_are_cut_by_section_number(size: int) -> None:
    terms = [weigh_term(5, dict.fromkeys(range(1000), 7)), weigh_term(5, dict.fromkeys(range(500, 1000), 7))]
    assert evaluate_terms(terms, 3, size=size) == [(500, 70), (501, 70), (502, 70)]


def test_query_without_terms_returns_no_results() -> None:
    assert evaluate_terms([], 10, size=10) == []


@given(TERMS, st.sets(st.integers(0, 70)))
def test_score_of_given_sections_equals_sum_of_impacts(terms: list[WeightedTerm], numbers: set[int]) -> None:
    section_numbers = sorted(numbers)
    scores = sum_impacts(terms)
    assert score_sections(terms, np.array(section_numbers, np.uint32)).scores.tolist() == [
        scores.get(number, 0) for number in section_numbers
    ]


@given(st.lists(st.sets(st.integers(0, 40)), min_size=1, max_size=5))
def test_intersect_equals_set_intersection(sets: list[set[int]]) -> None:
    lists = [np.array(sorted(numbers), np.uint32) for numbers in sets]
    assert intersect(lists).tolist() == sorted(set.intersection(*sets))
