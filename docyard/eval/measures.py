"""The measures of a ranked list, as trec_eval defines them.

A list has each name once, best first. A grade above 0 means that the name is right, and how much so; names
without a grade are wrong.

    ndcg@k      DCG of the first k by that of the best possible list: gain = grade, discount = log2(rank + 1)
    mrr         1 / rank of the first that is right, 0 where there is none
    recall@k    the share of all that is right which stands in the first k
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

Grades = Mapping[str, int]


def ndcg(ranked: Sequence[str], grades: Grades, cut: int) -> float:
    """Normalised discounted cumulative gain of the first `cut`, from 0 to 1."""
    best = _dcg(sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:cut])
    return _dcg(max(grades.get(name, 0), 0) for name in ranked[:cut]) / best if best else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Grades) -> float:
    """One by the rank of the first that is right, or 0."""
    return next((1 / rank for rank, name in enumerate(ranked, 1) if grades.get(name, 0) > 0), 0.0)


def recall(ranked: Sequence[str], grades: Grades, cut: int) -> float:
    """The share of what is right that stands in the first `cut`."""
    right = {name for name, grade in grades.items() if grade > 0}
    return len(right.intersection(ranked[:cut])) / len(right) if right else 0.0


MEASURES: Mapping[str, Callable[[Sequence[str], Grades], float]] = {
    "ndcg@5": partial(ndcg, cut=5),
    "ndcg@10": partial(ndcg, cut=10),
    "mrr": reciprocal_rank,
    "recall@10": partial(recall, cut=10),
    "recall@50": partial(recall, cut=50),
}
"""Every measure by its name, in the order in which they are shown."""


def measure(ranked: Sequence[str], grades: Grades) -> dict[str, float]:
    """Each measure of a list."""
    return {name: calculate(ranked, grades) for name, calculate in MEASURES.items()}


def ranks(ranked: Sequence[str], grades: Grades) -> dict[str, int | None]:
    """The rank of each name that is right, counted from 1; None where the list does not have it."""
    places = {name: rank for rank, name in enumerate(ranked, 1)}
    return {name: places.get(name) for name, grade in grades.items() if grade > 0}


def _dcg(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
