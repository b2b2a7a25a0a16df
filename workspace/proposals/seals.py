"""Seals: what proves that a verdict was given by whoever holds a token.

A file in Git proves nothing: whoever can push can write one in anyone's name. A seal is 32 random hex digits
and the HMAC-SHA256 (RFC 2104), in hex, of what was said; its key is the digest of the token's secret, which
only the holder and those who trust the token have. The random part makes each seal another, so that one that
is found twice was copied: an old approval cannot be said again by someone else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets

from workspace.proposals.events import Verdict

_NONCE = 32
_VERSION = "docyard verdict 1"


def seal(key: bytes, *, proposal: str, target: str, verdict: Verdict, commit: str, token: str) -> str:
    """A new seal on a verdict: on a proposal to the branch `target`, at a commit, by a token of this name."""
    nonce = secrets.token_hex(_NONCE // 2)
    return nonce + _mac(key, nonce, proposal, target, verdict, commit, token)


def is_sealed(
    found: str | None, key: bytes, *, proposal: str, target: str, verdict: Verdict, commit: str, token: str
) -> bool:
    """Whether this is a seal, made with the key, on just this verdict."""
    if found is None:
        return False
    expected = _mac(key, found[:_NONCE], proposal, target, verdict, commit, token)
    return hmac.compare_digest(found[_NONCE:].encode(), expected.encode())


def _mac(
    key: bytes, nonce: str, proposal: str, target: str, verdict: Verdict, commit: str, token: str
) -> str:
    # As JSON, no two lists of texts are the same bytes.
    said = json.dumps([_VERSION, nonce, proposal, target, verdict.value, commit, token])
    return hmac.new(key, said.encode(), hashlib.sha256).hexdigest()
