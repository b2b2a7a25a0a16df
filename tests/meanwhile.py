"""What others do while one call is answered."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest


def after(patch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]) -> None:
    """Have something done once, right after a function has returned for the first time."""
    real, waiting = getattr(owner, name), [act]

    def called(*given: Any, **named: Any) -> object:
        found = real(*given, **named)
        while waiting:
            Context().run(waiting.pop())  # as another caller
        return found

    patch.setattr(owner, name, called)
