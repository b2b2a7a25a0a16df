"""Verifiers of secrets, and what they return: a proven identity, or the reason of a refusal."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

from docyard.caller import SCOPES, Principal

if TYPE_CHECKING:
    from workspace.policy.tokens import Person

INVALID_TOKEN = "invalid_token"
"""The error of a token that does not authenticate (RFC 6750 §3.1)."""

SERVER_PRINCIPAL = Principal("server", "server", scopes=frozenset(SCOPES), is_operator=True)
"""The holder of the server's own token."""


class Authenticated(NamedTuple):
    """A proven identity.

    `person` is the person whose approvals are sealed, if the identity has one. `token_digest` is the digest
    of the token that proves the identity, or of that person's token; a session ends when it changes.
    `expires_at` is the time at which the secret expires, in seconds since 1970.
    """

    principal: Principal = SERVER_PRINCIPAL
    person: Person | None = None
    token_digest: bytes = b""
    expires_at: float | None = None

    def __repr__(self) -> str:
        return f"Authenticated({self.principal!r}, {self.person!r}, ***)"


def digest_token_key(key: bytes) -> bytes:
    """Return the digest of the key of a token, for sessions.

    The key also makes the seals of a person. A session only compares, so it has a digest that makes none.
    """
    return hashlib.sha256(b"docyard session\n" + key).digest()


class TokenRefusal(NamedTuple):
    """The reason why a secret is refused: a status, and an error of RFC 6750 §3.1 for the challenge.

    `retry_after` is a number of seconds, for a secret that cannot be checked now.
    """

    message: str
    fix: str
    status: int = 401
    error: str = INVALID_TOKEN
    retry_after: int | None = None


class Verifier(Protocol):
    """A verifier of one kind of secrets."""

    async def verify(self, secret: str, resource: str) -> Authenticated | TokenRefusal | None:
        """Return the identity that a secret proves, a refusal, or None for a secret of another kind.

        `resource` is the URL of the requested endpoint (RFC 8707); empty if the server has no known URL.
        """

    async def revalidate(self, authenticated: Authenticated) -> Authenticated | None:
        """Return the current identity of a session that this verifier started; None if it has ended.

        An identity of another verifier is returned unchanged. Raises DatabaseUnavailable.
        """
