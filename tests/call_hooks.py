"""A hook that runs an action immediately after a patched function returns."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest


def run_after_call(patch: pytest.MonkeyPatch, owner: Any, name: str, action: Callable[[], object]) -> None:
    """Run `action` once, immediately after the first return of a function."""
    original_function, pending_actions = getattr(owner, name), [action]

    def call_and_act(*arguments: Any, **keywords: Any) -> object:
        result = original_function(*arguments, **keywords)
        while pending_actions:
            # Another caller does not have the context variables of this one.
            Context().run(pending_actions.pop())
        return result

    patch.setattr(owner, name, call_and_act)
