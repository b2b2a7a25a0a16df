"""The authenticated sender of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.policy.tokens import ADMIN_SCOPE, READ_SCOPE, REVIEW_SCOPE, SCOPES, WRITE_SCOPE

if TYPE_CHECKING:
    from workspace.policy.tokens import Person

__all__ = ["ADMIN_SCOPE", "READ_SCOPE", "REVIEW_SCOPE", "SCOPES", "WRITE_SCOPE", "Caller", "Principal"]


class Principal(NamedTuple):
    """The identity that a request proves, or the address that it comes from.

    `key` is stable: `token:ID`, `user:ISSUER#SUBJECT`, `address:IP` (of IPv6 the network), or `server` for
    the server's own token.
    `name` is for people. `organization` is the slug of the organization that issued a token; None if the
    principal belongs to none. `groups` are names that rules of organizations use. `is_operator` is True for
    those who operate the server: administrators of an organization do not see what others share.
    """

    key: str
    name: str
    organization: str | None = None
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    is_operator: bool = False


class Caller(NamedTuple):
    """The authenticated sender of a request.

    `person` is the owner of the named token; None for the server's own token, and if no token is needed.
    `csrf` is the CSRF token in each form of this caller's pages. `may_write` is false if the server is
    read-only. `is_session` separates a browser, which can log out, from a client that sends its token each
    time. `principal` is the identity for rules, limits and records.
    """

    person: Person | None
    csrf: str
    may_write: bool
    is_session: bool
    principal: Principal | None = None


def is_operator(caller: Caller | None) -> bool:
    """Return True if a caller operates the server."""
    return caller is not None and caller.principal is not None and caller.principal.is_operator


def may_review(caller: Caller | None) -> bool:
    """Return True if the scopes of a caller permit reviews. Over stdio there is no caller, and no scope."""
    return caller is None or (caller.principal is not None and REVIEW_SCOPE in caller.principal.scopes)
