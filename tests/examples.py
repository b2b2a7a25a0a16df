"""How many examples a property is tried with that has a number of its own."""

from __future__ import annotations

from hypothesis import settings


def examples(number: int) -> int:
    """So many for each hundred that the profile of the run gives to any property."""
    return max(1, number * settings.default.max_examples // 100)
