"""Numbers of Hypothesis examples, for property tests that need more or fewer examples than the default."""

from __future__ import annotations

from hypothesis import settings


def scale_examples(count: int) -> int:
    """Return `count` for a profile of 100 examples, and a proportional count for the profile of the run."""
    return max(1, count * settings.default.max_examples // 100)
