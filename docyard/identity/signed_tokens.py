"""Signed tokens of a provider (JSON Web Tokens): their signature, issuer, audience and times.

Only asymmetric algorithms are accepted, and only those that fit the key: RFC 8725 §3.1 and §3.2. A key is
found by its id among the keys of the provider; keys and URLs in a token's header are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import jwt

from docyard.identity.provider import Provider

MAX_TOKEN_CHARACTERS = 16_000
LEEWAY_S = 60.0
"""The accepted difference between the clocks of the provider and of the server."""

_MAX_KEY_ID_CHARACTERS = 200
_MAX_TRIED_KEYS = 10
_COMPACT_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")


class InvalidSignedToken(Exception):
    """A token does not authenticate. The message is the reason, and contains no part of the token."""


def is_signed_token(text: str) -> bool:
    """Return True if a text has the form of a JSON Web Token."""
    return text.startswith("eyJ") and text.count(".") >= 2


async def verify_signed_token(
    provider: Provider, token: str, audiences: Collection[str], now: float
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the header and the claims of a valid token for one of these audiences.

    `now` is the time in seconds since 1970. Raises InvalidSignedToken, ProviderUnavailable.
    """
    header, claims = _decode_unverified(token)
    # Checked first, so that tokens of others do not cause calls to the provider.
    if claims.get("iss") != provider.issuer:
        raise InvalidSignedToken("the token is from another issuer")
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm == "none" or algorithm.startswith("HS"):
        raise InvalidSignedToken("the token is not signed with an accepted algorithm")
    if "crit" in header:
        raise InvalidSignedToken("the token's header has an unknown extension")
    if key_id is not None and not (isinstance(key_id, str) and len(key_id) <= _MAX_KEY_ID_CHARACTERS):
        raise InvalidSignedToken("the token's key id is invalid")
    keys = await provider.find_keys(key_id, algorithm)
    if not keys:
        raise InvalidSignedToken("the token is signed with an unknown key")
    for key in keys[:_MAX_TRIED_KEYS]:
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                options={
                    "verify_aud": False,  # checked below, as are the times, with the server's clock
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_iss": False,
                    "verify_sub": False,
                    "verify_jti": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            continue
        _check_audience(claims, audiences)
        _check_times(claims, now)
        return header, claims
    raise InvalidSignedToken("the token's signature is invalid")


def _decode_unverified(token: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise InvalidSignedToken("the token is too long")
    if _COMPACT_TOKEN.fullmatch(token) is None:
        raise InvalidSignedToken("the token is malformed")
    try:
        parts = jwt.decode_complete(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        raise InvalidSignedToken("the token is malformed") from None
    return parts["header"], parts["payload"]


def _check_audience(claims: Mapping[str, Any], audiences: Collection[str]) -> None:
    audience = claims.get("aud")
    names = audience if isinstance(audience, list) else [audience]
    if not any(isinstance(name, str) and name in audiences for name in names):
        raise InvalidSignedToken("the token is for another audience")


def _check_times(claims: Mapping[str, Any], now: float) -> None:
    """Check `exp`, `iat` and `nbf` (RFC 7519 §4.1). The first two must be present."""
    expires_at = _read_time(claims, "exp")
    issued_at = _read_time(claims, "iat")
    not_before = _read_time(claims, "nbf") if "nbf" in claims else issued_at
    if now >= expires_at + LEEWAY_S:
        raise InvalidSignedToken("the token has expired")
    if max(issued_at, not_before) > now + LEEWAY_S:
        raise InvalidSignedToken("the token is not valid yet")


def _read_time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    # A bool is an int, and an infinite or a huge number would never expire.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e11:
        raise InvalidSignedToken(f"the claim {name} of the token is missing or invalid")
    return float(value)
