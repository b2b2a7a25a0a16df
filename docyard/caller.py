"""The authenticated sender of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.policy.tokens import Person


class Caller(NamedTuple):
    """The authenticated sender of a request.

    `person` is the owner of the named token; None for the server's own token, and if no token is needed.
    `csrf` is the CSRF token in each form of this caller's pages. `may_write` is false if the server is
    read-only. `is_session` separates a browser, which can log out, from a client that sends its token each
    time.
    """

    person: Person | None
    csrf: str
    may_write: bool
    is_session: bool
