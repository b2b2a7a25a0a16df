"""A small identity provider in this process: metadata, keys, a token endpoint, and signed tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

ISSUER = "https://login.example.org/tenant"
AUDIENCE = "https://docs.example.org"
CLIENT_ID, CLIENT_SECRET = "docyard", "s3cret & more"
NOW = 1_800_000_000.0


@cache
def create_key(name: str) -> Any:
    """Return a private key; the same one for a name. The name begins with its type."""
    if name.startswith("rsa-weak"):
        return rsa.generate_private_key(65_537, 1_024)
    if name.startswith("rsa"):
        return rsa.generate_private_key(65_537, 2_048)
    return (
        ed25519.Ed25519PrivateKey.generate()
        if name.startswith("ed")
        else ec.generate_private_key(ec.SECP256R1())
    )


def get_algorithm(name: str) -> str:
    return "RS256" if name.startswith("rsa") else "EdDSA" if name.startswith("ed") else "ES256"


def build_public_key(name: str) -> dict[str, Any]:
    """Return the public key as a JSON Web Key."""
    algorithm = jwt.get_algorithm_by_name(get_algorithm(name))
    public_key: dict[str, Any] = json.loads(algorithm.to_jwk(create_key(name).public_key()))
    return {**public_key, "kid": name, "use": "sig"}


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class ProviderSite:
    """The identity provider at ISSUER. A test changes its fields. `requests` are the requested paths."""

    def __init__(self, *key_names: str) -> None:
        self.key_names = list(key_names or ("ec1",))
        self.more_keys: list[Any] = []
        self.metadata: dict[str, Any] = {
            "issuer": ISSUER,
            "jwks_uri": f"{ISSUER}/jwks",
            "authorization_endpoint": f"{ISSUER}/auth",
            "token_endpoint": f"{ISSUER}/token",
            "authorization_response_iss_parameter_supported": True,
        }
        self.metadata_path = "/tenant/.well-known/openid-configuration"
        self.is_down = False
        self.status = 200
        self.body: bytes | None = None
        self.requests: list[str] = []
        self.codes: dict[str, tuple[str, dict[str, Any]]] = {}
        self.transport = httpx2.MockTransport(self._respond)

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request.url.path)
        if self.is_down:
            raise httpx2.ConnectError("down", request=request)
        if self.status != 200 or self.body is not None:
            return httpx2.Response(self.status, content=self.body or b"{}")
        if request.url.path == self.metadata_path:
            return httpx2.Response(200, json=self.metadata)
        if request.url.path == "/tenant/jwks":
            keys = [*self.more_keys, *(build_public_key(name) for name in self.key_names)]
            return httpx2.Response(200, json={"keys": keys})
        if request.url.path == "/tenant/token":
            return self._exchange(request)
        return httpx2.Response(404, json={})

    def authorize(self, url: str, claims: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Sign a person in at the URL to which a browser was sent; return the parameters of its way back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["client_id"] == CLIENT_ID
        code = f"code-{len(self.codes)}"
        id_token_claims = {"aud": CLIENT_ID, "nonce": query["nonce"], "name": "Ana Li", **(claims or {})}
        self.codes[code] = query["code_challenge"], id_token_claims
        return {"code": code, "state": query["state"], "iss": ISSUER}

    def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        login = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ") + "==")
        challenge, claims = self.codes.pop(form["code"], ("", {}))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        is_proven = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == challenge
        if not is_proven or login != b"docyard:s3cret%20%26%20more":
            return httpx2.Response(400, json={"error": "invalid_grant"})
        return httpx2.Response(200, json={"id_token": self.sign(claims, typ="JWT"), "token_type": "Bearer"})

    def sign(self, claims: Mapping[str, Any] | None = None, key: str = "", **header: Any) -> str:
        """Return a signed access token. A claim or a header field that is None is omitted."""
        key = key or self.key_names[0]
        all_claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "248289761001",
            "client_id": "agent",
            "scope": "docs:read docs:write",
            "iat": int(NOW),
            "exp": int(NOW) + 600,
            "jti": "1",
            **(claims or {}),
        }
        all_headers = {"typ": "at+jwt", "kid": key, **header}
        return jwt.encode(
            {name: value for name, value in all_claims.items() if value is not None},
            create_key(key),
            get_algorithm(key),
            {name: value for name, value in all_headers.items() if value is not None},
        )


def sign_for_now(site: ProviderSite, claims: Mapping[str, Any] | None = None) -> str:
    """Return an access token that is valid by the clock of this machine."""
    now = int(time.time())
    return site.sign({"iat": now, "exp": now + 600, **(claims or {})})
