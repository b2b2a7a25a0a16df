"""Hooks that run an action right after a patched function returns."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest


def run_after_call(patch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]) -> None:
    """Run `act` once, right after a function has returned for the first time."""
    real, pending = getattr(owner, name), [act]

    def called(*given: Any, **named: Any) -> object:
        found = real(*given, **named)
        while pending:
            Context().run(pending.pop())  # as another caller
        return found

    patch.setattr(owner, name, called)
