"""The verifier of access tokens of an identity provider: an OAuth 2.1 resource server.

An access token is a JSON Web Token (RFC 9068) of the configured issuer, for the configured audience or for
the requested endpoint (RFC 8707). Tokens of clients without a user (client credentials) are accepted
likewise. A token of OpenID Connect that proves a sign-in (an ID token) is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from anyio import to_thread

from docyard.caller import SCOPES
from docyard.identity.provider import Provider, ProviderUnavailable
from docyard.identity.signed_tokens import InvalidSignedToken, is_signed_token, verify_signed_token
from docyard.identity.users import ClaimNames, InvalidUser, Users, read_principal
from docyard.identity.verifier import Authenticated, TokenRefusal

_ACCESS_TOKEN_TYPES = ("at+jwt", "application/at+jwt")
_GENERIC_TYPES = ("", "jwt", "application/jwt")
_ID_TOKEN_CLAIMS = ("nonce", "at_hash", "c_hash")
_FIX = "Get a new access token for this server from its identity provider."


class ResourceServer:
    """The verifier of access tokens. `clock` returns the time of day in seconds since 1970."""

    def __init__(
        self,
        provider: Provider,
        audience: str,
        users: Users,
        claim_names: ClaimNames = ClaimNames(),  # noqa: B008 - immutable
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._audience = audience
        self._users = users
        self._claim_names = claim_names
        self._clock = clock

    async def verify(self, secret: str, resource: str) -> Authenticated | TokenRefusal | None:
        """Return the identity that an access token proves, a refusal, or None for another kind of secret."""
        if not is_signed_token(secret):
            return None
        audiences = {self._audience, resource} - {""}
        try:
            header, claims = await verify_signed_token(self._provider, secret, audiences, self._clock())
            _check_type(header, claims)
            principal = read_principal(self._provider.issuer, claims, self._claim_names, read_scopes(claims))
        except (InvalidSignedToken, InvalidUser) as error:
            return TokenRefusal(str(error), _FIX)
        except ProviderUnavailable as error:
            return TokenRefusal(error.message, error.fix, 503, "", error.retry_after)
        is_client = claims["sub"] in (claims.get("client_id"), claims.get("azp"))
        return await to_thread.run_sync(
            partial(self._users.authenticate, principal, float(claims["exp"]), is_client=is_client)
        )

    async def revalidate(self, authenticated: Authenticated) -> Authenticated | None:
        """Return the current identity of a session of a user; None if it has ended."""
        if not authenticated.principal.key.startswith("user:"):
            return authenticated
        return await to_thread.run_sync(self._users.revalidate, authenticated)


def _check_type(header: Mapping[str, Any], claims: Mapping[str, Any]) -> None:
    """Raise InvalidSignedToken for a token that is not an access token (RFC 9068 §4)."""
    token_type = header.get("typ", "")
    token_type = token_type.lower() if isinstance(token_type, str) else "invalid"
    if token_type in _ACCESS_TOKEN_TYPES:
        return
    # Some providers do not set the type. Their access tokens have scopes, and no claims of an ID token.
    has_scopes = "scope" in claims or "scp" in claims
    if token_type not in _GENERIC_TYPES or not has_scopes or any(name in claims for name in _ID_TOKEN_CLAIMS):
        raise InvalidSignedToken("the token is not an access token")


def read_scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the known scopes of a token, from `scope` (RFC 9068 §2.2.3), or else from `scp`."""
    value = claims["scope"] if "scope" in claims else claims.get("scp", "")
    items = value if isinstance(value, list) else str(value).split(" ")
    return frozenset(SCOPES).intersection(item for item in items if isinstance(item, str))
