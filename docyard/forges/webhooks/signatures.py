"""Signatures of webhooks. Each forge has its own header.

    GitHub   X-Hub-Signature-256: sha256=HEX       HMAC-SHA256 of the body
    Gitea    X-Gitea-Signature: HEX, or GitHub's   HMAC-SHA256 of the body; Forgejo also X-Forgejo-Signature
    GitLab   webhook-signature: v1,BASE64 …        HMAC-SHA256 of id.timestamp.body, with a key `whsec_BASE64`
             X-Gitlab-Token: SECRET                the secret itself

All comparisons take constant time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

MAX_CLOCK_SKEW_S = 300
"""Maximum deviation of a signature's time in seconds (Standard Webhooks, "Verifying webhook authenticity").
"""

_SECRET_PREFIX = "whsec_"
_MAX_SIGNATURES = 10  # while the secret is being changed, a header has several signatures


def has_valid_signature(forge: str, headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    """Return True if a signature is valid. The names of `headers` are in lower case; `now` is Unix time."""
    match forge:
        case "github":
            return _has_digest(headers, ("x-hub-signature-256",), body, secret)
        case "gitea":
            names = ("x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256")
            return _has_digest(headers, names, body, secret)
        case "gitlab":
            if "webhook-signature" in headers:
                return _has_standard_signature(headers, body, secret, now)
            return _equals_in_constant_time(headers.get("x-gitlab-token", ""), secret)
        case _:
            return False


def _has_digest(headers: Mapping[str, str], names: tuple[str, ...], body: bytes, secret: str) -> bool:
    """Return True if the first existing header contains the digest of the body."""
    signature = next((headers[name] for name in names if name in headers), "")
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return _equals_in_constant_time(signature.strip().removeprefix("sha256=").lower(), digest)


def _has_standard_signature(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> bool:
    id, time = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or not (time.isascii() and time.isdecimal()) or len(time) > 12:
        return False
    if abs(now - int(time)) > MAX_CLOCK_SKEW_S:
        return False
    try:
        is_encoded = secret.startswith(_SECRET_PREFIX)
        key = (
            base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
            if is_encoded
            else secret.encode()
        )
    except binascii.Error:
        return False
    digest = hmac.new(key, f"{id}.{time}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    signatures = headers["webhook-signature"].split(" ")[:_MAX_SIGNATURES]
    return any(_equals_in_constant_time(signature, expected) for signature in signatures)


def _equals_in_constant_time(signature: str, expected: str) -> bool:
    return hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode())
