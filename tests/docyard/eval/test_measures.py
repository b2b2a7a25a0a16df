"""Measures of search results, compared with their formulas, and with trec_eval on random lists."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from docyard.eval.run import (
    MEASURES,
    compute_measures,
    compute_ndcg,
    compute_recall,
    compute_reciprocal_rank,
    find_ranks,
)

TREC_EVAL_NAMES = {
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
    "mrr": "recip_rank",
    "recall@10": "recall_10",
    "recall@50": "recall_50",
}
PAGE_NAMES = [f"page{number:02}.md" for number in range(70)]


def run_trec_eval(grades: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, float]:
    measures = {"ndcg_cut.5,10", "recip_rank", "recall.10,50"}
    values = pytrec_eval.RelevanceEvaluator({"q": dict(grades)}, measures).evaluate({"q": dict(scores)})["q"]
    return {name: values[trec_name] for name, trec_name in TREC_EVAL_NAMES.items()}


@given(
    grades=st.dictionaries(st.sampled_from(PAGE_NAMES), st.integers(-1, 4), min_size=1),
    # Few different scores, so that most lists have ties.
    scores=st.dictionaries(st.sampled_from(PAGE_NAMES), st.integers(0, 9).map(float), min_size=1),
)
def test_measures_agree_with_trec_eval(grades: dict[str, int], scores: dict[str, float]) -> None:
    # Equal scores are ordered by name, the greatest first: trec_eval, `form_res_rels.c`.
    ranking = sorted(sorted(scores, reverse=True), key=lambda name: -scores[name])
    assert compute_measures(ranking, grades) == pytest.approx(run_trec_eval(grades, scores), abs=1e-12)


@given(
    ranking=st.lists(st.sampled_from(PAGE_NAMES), unique=True, min_size=1),
    grades=st.dictionaries(st.sampled_from(PAGE_NAMES), st.integers(0, 3), min_size=1),
)
def test_measures_of_ranked_list_agree_with_trec_eval(ranking: list[str], grades: dict[str, int]) -> None:
    scores = {name: float(len(ranking) - position) for position, name in enumerate(ranking)}
    assert compute_measures(ranking, grades) == pytest.approx(run_trec_eval(grades, scores), abs=1e-12)


def test_every_measure_is_compared_with_trec_eval() -> None:
    assert MEASURES.keys() == TREC_EVAL_NAMES.keys()


def test_measures_equal_values_computed_by_formula() -> None:
    grades = {"a": 2, "b": 1}
    assert compute_ndcg(["b", "x", "a"], grades, 10) == pytest.approx((1 + 2 / 2) / (2 + 1 / math.log2(3)))
    assert compute_ndcg(["a", "b"], grades, 10) == 1
    assert compute_ndcg(["x"] * 5 + ["a"], grades, 5) == 0
    assert compute_reciprocal_rank(["x", "y", "b"], grades) == pytest.approx(1 / 3)
    assert compute_recall(["x", "a"], grades, 1) == 0
    assert compute_recall(["x", "a"], grades, 2) == 0.5


def test_measures_are_zero_without_results_or_relevant_addresses() -> None:
    assert set(compute_measures([], {"a": 1}).values()) == {0.0}
    assert set(compute_measures(["a"], {"a": 0}).values()) == {0.0}


def test_ranks_contain_only_relevant_addresses() -> None:
    assert find_ranks(["x", "a"], {"a": 1, "b": 2, "x": 0}) == {"a": 2, "b": None}
