"""The id of the current request, which each line of its log has."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

REQUEST_ID_HEADER = "X-Request-Id"
_VALID_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
_RANDOM_BYTES = 8

# A context variable, because many function calls are between a request and a message about it.
_REQUEST_ID: ContextVar[str | None] = ContextVar("id of this request", default=None)


def get_request_id() -> str | None:
    """Return the id of the current request; None outside of a request."""
    return _REQUEST_ID.get()


def choose_request_id(headers: Sequence[str]) -> str:
    """Return the id that a request has, or a new one.

    An id of a client is used if there is one, of 8 to 64 letters, digits and `.`, `_`, `-`.
    """
    if len(headers) == 1 and _VALID_ID.fullmatch(headers[0]):
        return headers[0]
    return secrets.token_hex(_RANDOM_BYTES)


@contextmanager
def set_request_id(request_id: str) -> Iterator[None]:
    """Set the id for the block, and for the threads and tasks that it starts."""
    token = _REQUEST_ID.set(request_id)
    try:
        yield
    finally:
        _REQUEST_ID.reset(token)
