"""Whether a webhook was sent by who knows the secret, by the header of each forge.

    GitHub   X-Hub-Signature-256: sha256=HEX       HMAC-SHA256 of the body
    Gitea    X-Gitea-Signature: HEX, or GitHub's   the same; Forgejo also X-Forgejo-Signature
    GitLab   webhook-signature: v1,BASE64 …        HMAC-SHA256 of id.timestamp.body, by a key `whsec_BASE64`
             X-Gitlab-Token: SECRET                the secret itself

All comparisons take the same time whatever is wrong.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

TOLERANCE = 300
"""Seconds that the time of a signature may differ (Standard Webhooks, "Verifying webhook authenticity")."""

_PREFIX = "whsec_"
_MOST = 10  # signatures in one header, as while a key is changed


def is_signed(forge: str, headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    """Whether a webhook's signature holds. `headers` by lower-case names; `now` in seconds since 1970."""
    match forge:
        case "github":
            return _has_digest(headers, ("x-hub-signature-256",), body, secret)
        case "gitea":
            names = ("x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256")
            return _has_digest(headers, names, body, secret)
        case "gitlab":
            if "webhook-signature" in headers:
                return _is_standard(headers, body, secret, now)
            return _is_same(headers.get("x-gitlab-token", ""), secret)
        case _:
            return False


def _has_digest(headers: Mapping[str, str], names: tuple[str, ...], body: bytes, secret: str) -> bool:
    """Whether the first of the headers that is there holds the digest of the body."""
    given = next((headers[name] for name in names if name in headers), "")
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return _is_same(given.strip().removeprefix("sha256=").lower(), digest)


def _is_standard(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    id, time = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or not (time.isascii() and time.isdecimal()) or len(time) > 12:
        return False
    if abs(now - int(time)) > TOLERANCE:
        return False
    try:
        is_encoded = secret.startswith(_PREFIX)
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True) if is_encoded else secret.encode()
    except binascii.Error:
        return False
    digest = hmac.new(key, f"{id}.{time}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    given = headers["webhook-signature"].split(" ")[:_MOST]
    return any(_is_same(one, expected) for one in given)


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
