"""Counts of Hypothesis examples for property tests with a separate count."""

from __future__ import annotations

from hypothesis import settings


def scale_examples(number: int) -> int:
    """Return `number`, a count for 100 examples, scaled by the profile of the run."""
    return max(1, number * settings.default.max_examples // 100)
