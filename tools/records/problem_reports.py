"""Readers' reports of problems, and the sender of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class ReaderReport(NamedTuple):
    """A report on a document or a section. `sender` is the key of the caller's principal, if known."""

    namespace: str
    address: str
    problem: str
    suggestion: str
    sender: str | None


ReceiveReport = Callable[[ReaderReport], str]
"""Stores a report for the owners of a namespace, and returns its id."""

# A context variable, because a dispatcher does not know who sends a call.
_SENDER: ContextVar[str | None] = ContextVar("sender of this call", default=None)


@contextmanager
def name_sender(key: str | None) -> Iterator[None]:
    """Name the sender of the calls in the block."""
    token = _SENDER.set(key)
    try:
        yield
    finally:
        _SENDER.reset(token)


def get_sender() -> str | None:
    """Return the sender of this call; None if it is unknown."""
    return _SENDER.get()
