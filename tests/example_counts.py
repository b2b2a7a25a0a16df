"""Counts of Hypothesis examples for property tests that need a count of their own."""

from __future__ import annotations

from hypothesis import settings


def scale_examples(number: int) -> int:
    """Return `number` scaled by the profile of the run: it is the count for 100 examples."""
    return max(1, number * settings.default.max_examples // 100)
