"""How many examples Hypothesis tries, for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine would fail an example, or the making of them, by its time alone.
_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _UNHURRIED, max_examples=40)
# `make slow` asks for it.
settings.register_profile("thorough", _UNHURRIED, max_examples=200)
settings.load_profile("quick")
