"""The authenticated sender of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.policy.tokens import ADMIN_SCOPE, READ_SCOPE, SCOPES, WRITE_SCOPE

if TYPE_CHECKING:
    from workspace.policy.tokens import Person

__all__ = ["ADMIN_SCOPE", "READ_SCOPE", "SCOPES", "WRITE_SCOPE", "Caller", "Principal"]


class Principal(NamedTuple):
    """The identity that a request proves, or the address that it comes from.

    `key` is stable: `token:ID`, `user:ISSUER#SUBJECT`, `address:IP`, or `server` for the server's own token.
    `name` is for people. `organization` is the slug of the organization that issued a token; None if the
    principal belongs to none. `groups` are names that rules of organizations use.
    """

    key: str
    name: str
    organization: str | None = None
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()


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


_SERVER_KEY = "server"


def is_operator(caller: Caller | None) -> bool:
    """Return True if a caller operates the server: by its token, or as an administrator of no organization.

    An administrator of an organization does not see the state of the server, which others share.
    """
    if caller is None:
        return False
    principal = caller.principal
    if principal is None:
        return caller.person is None
    return principal.key == _SERVER_KEY or (
        principal.organization is None and ADMIN_SCOPE in principal.scopes
    )
