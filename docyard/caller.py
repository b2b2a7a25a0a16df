"""Who sent a request, as the server has proved it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.policy.tokens import Person


class Caller(NamedTuple):
    """Who sent a request that was let in.

    `person` is whose named token was shown; None for the server's own token, and where none is asked for.
    `csrf` is what each form of this caller's pages carries. `may_write` is false where all is read-only.
    `is_session` tells a browser, which has a session to end, from a client that shows its token each time.
    """

    person: Person | None
    csrf: str
    may_write: bool
    is_session: bool
