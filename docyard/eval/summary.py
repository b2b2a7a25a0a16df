"""Means over the cases of a run: of every measure, for all cases and by category, and of the time it took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from docyard.eval.measures import MEASURES
from docyard.eval.run import LEVELS, Outcome, Run


@dataclass(frozen=True, slots=True)
class Row:
    """The means of some cases at a level. `category` is None for all cases, "" for those without one."""

    level: str
    category: str | None
    cases: int
    means: dict[str, float]


@dataclass(frozen=True, slots=True)
class Latency:
    """The time on the clock of one search, in milliseconds, at the median and the 95th percentile."""

    p50_ms: float
    p95_ms: float


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """The means at each level: of all cases, then of each category in order, if any case has one."""
    categories = sorted({outcome.category for outcome in outcomes})
    shown = [None] if categories == [""] else [None, *categories]
    return [row for level in LEVELS for category in shown if (row := _row(level, category, outcomes))]


def in_category(outcome: Outcome, category: str | None) -> bool:
    """Whether a case counts for the row of a category; None is the row of all."""
    return category is None or outcome.category == category


def mean(outcomes: Iterable[Outcome], level: str, measure: str) -> float | None:
    """The mean of one measure over the cases that have this level; None if none has it."""
    scored = [one.measures[measure] for outcome in outcomes if (one := outcome.level(level))]
    return sum(scored) / len(scored) if scored else None


def latency(outcomes: Iterable[Outcome]) -> Latency | None:
    """How long searches took; None if none was answered."""
    times = sorted(outcome.ms for outcome in outcomes if outcome.ms is not None)
    return Latency(_percentile(times, 0.5), _percentile(times, 0.95)) if times else None


def without_hits(outcomes: Iterable[Outcome]) -> int:
    """How many cases found nothing at all."""
    return sum(not outcome.hits for outcome in outcomes)


def summary(run: Run) -> dict[str, Any]:
    """The means of a run as data: by level, those of all cases and those of each category."""
    found: dict[str, Any] = {}
    for row in rows(run.cases):
        data = {"cases": row.cases, **row.means}
        if row.category is None:
            found[row.level] = {**data, "categories": {}}
        else:
            found[row.level]["categories"][row.category] = data
    took = latency(run.cases)
    found["latency"] = {"p50_ms": took.p50_ms, "p95_ms": took.p95_ms} if took else None
    found["without_hits"] = without_hits(run.cases)
    return found


def _row(level: str, category: str | None, outcomes: Iterable[Outcome]) -> Row | None:
    some = [outcome for outcome in outcomes if in_category(outcome, category)]
    means = {name: value for name in MEASURES if (value := mean(some, level, name)) is not None}
    return Row(level, category, sum(one.level(level) is not None for one in some), means) if means else None


def _percentile(times: Sequence[float], share: float) -> float:
    """The least of the sorted times that is not below this share of them (nearest rank)."""
    return times[max(0, math.ceil(share * len(times)) - 1)]
