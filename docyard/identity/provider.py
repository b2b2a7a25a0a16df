"""An identity provider: its metadata and its keys, cached.

The metadata are those of OpenID Connect Discovery 1.0, or else of RFC 8414. Keys are read again every ten
minutes, and when a token names an unknown key, at most twice a minute. If the provider cannot be reached,
cached keys are used for at most an hour; then tokens cannot be checked, and are refused.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt

from docyard.telemetry.logs import StateText
from workspace.errors import WorkspaceError

log = logging.getLogger("docyard")

REFRESH_S = 600.0
"""The age at which metadata and keys are read again."""

MAX_STALE_S = 3_600.0
"""The age up to which metadata and keys are used while the provider cannot be reached."""

REFETCH_INTERVAL_S = 30.0
"""The minimum time between two reads of the keys that tokens with unknown keys cause."""

RETRY_S = 5
"""The time after a failed read in which the provider is not called again."""

_REQUEST_TIMEOUT_S = 5.0
_TOTAL_TIMEOUT_S = 8.0
_MAX_RESPONSE_BYTES = 500_000
_MAX_KEYS = 100
_MIN_RSA_BITS = 2_048

_RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVE_ALGORITHMS = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}


class ProviderUnavailable(WorkspaceError):
    """The identity provider cannot be reached, or its answer is invalid. `retry_after` is in seconds."""

    code: ClassVar[str] = "PROVIDER_UNAVAILABLE"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the identity provider cannot be used now ({reason})",
            fix="Try again in a moment; the log of the server has the details.",
        )
        self.retry_after = RETRY_S


class ProviderMetadata(NamedTuple):
    """The endpoints of a provider. `issuer_in_response` is true if redirects name the issuer (RFC 9207)."""

    keys_url: str
    authorization_url: str | None
    token_url: str | None
    sends_secret_in_body: bool
    issuer_in_response: bool


class VerificationKey(NamedTuple):
    """A public key, and the algorithms with which it may verify."""

    id: str | None
    algorithms: tuple[str, ...]
    key: Any


class _Cached(NamedTuple):
    value: Any
    read_at: float


class Provider:
    """An identity provider, by its issuer. Use it on one event loop.

    `transport` replaces the network. `clock` is monotonic, so that a jump of the time of day has no effect.
    """

    def __init__(
        self,
        issuer: str,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self._transport = transport
        self._clock = clock
        self._lock = anyio.Lock()
        self._metadata: _Cached | None = None
        self._keys: _Cached | None = None
        self._failed_at: float | None = None
        self._refetched_at: float | None = None

    @property
    def host(self) -> str:
        """Return the host of the provider, for people."""
        return urlsplit(self.issuer).netloc

    async def read_metadata(self) -> ProviderMetadata:
        """Return the endpoints of the provider. Raises ProviderUnavailable."""
        await self._refresh()
        assert self._metadata is not None
        metadata: ProviderMetadata = self._metadata.value
        return metadata

    async def find_keys(self, key_id: str | None, algorithm: str) -> list[VerificationKey]:
        """Return the keys that may have signed a token with this header; several without an id.

        Raises ProviderUnavailable.
        """
        await self._refresh()
        keys = self._select_keys(key_id, algorithm)
        if keys:
            return keys
        if not self._may_refetch():
            # A token with an unknown key may be valid, if the keys could not be read.
            if self._failed_at is not None:
                raise ProviderUnavailable("the last attempt failed")
            return []
        self._refetched_at = self._clock()
        await self._refresh(is_forced=True)
        return self._select_keys(key_id, algorithm)

    async def post_form(
        self, url: str, fields: Mapping[str, str], login: tuple[str, str] | None
    ) -> tuple[int, Mapping[str, Any]]:
        """Send a form; return the status and the JSON object. Raises ProviderUnavailable."""
        return await self._request("POST", url, data=dict(fields), auth=login)

    def _select_keys(self, key_id: str | None, algorithm: str) -> list[VerificationKey]:
        assert self._keys is not None
        return [
            key
            for key in self._keys.value
            if algorithm in key.algorithms and (key_id is None or key.id == key_id)
        ]

    def _may_refetch(self) -> bool:
        return self._refetched_at is None or self._clock() - self._refetched_at >= REFETCH_INTERVAL_S

    async def _refresh(self, *, is_forced: bool = False) -> None:
        """Read metadata and keys again if they are old. Raises ProviderUnavailable if none can be used."""
        if not is_forced and self._is_usable(REFRESH_S):
            return
        if not is_forced and self._is_usable(MAX_STALE_S) and self._lock.locked():
            return  # another request reads them
        async with self._lock:
            if not is_forced and self._is_usable(REFRESH_S):
                return
            has_failed = self._failed_at is not None and self._clock() - self._failed_at < RETRY_S
            try:
                if has_failed:
                    raise ProviderUnavailable("the last attempt failed")
                await self._read()
                self._failed_at = None
            except ProviderUnavailable as error:
                if not has_failed:
                    self._failed_at = self._clock()
                    log.warning("%s: %s", StateText(self.issuer), StateText(error.message))
                if is_forced or not self._is_usable(MAX_STALE_S):
                    raise

    def _is_usable(self, max_age_s: float) -> bool:
        now = self._clock()
        return all(cached is not None and now - cached.read_at < max_age_s for cached in self._list_cached())

    def _list_cached(self) -> tuple[_Cached | None, ...]:
        return self._metadata, self._keys

    async def _read(self) -> None:
        metadata = await self._read_metadata()
        status, data = await self._request("GET", metadata.keys_url)
        if status != 200:
            raise ProviderUnavailable(f"the keys have the status {status}")
        keys = parse_keys(data)
        if not keys:
            raise ProviderUnavailable("there is no usable key")
        now = self._clock()
        self._metadata, self._keys = _Cached(metadata, now), _Cached(keys, now)

    async def _read_metadata(self) -> ProviderMetadata:
        parts = urlsplit(self.issuer)
        path = parts.path.rstrip("/")
        origin = f"{parts.scheme}://{parts.netloc}"
        urls = (
            f"{origin}{path}/.well-known/openid-configuration",
            f"{origin}/.well-known/oauth-authorization-server{path}",
        )
        status = 0
        for url in urls:
            status, data = await self._request("GET", url)
            if status == 200:
                return self._parse_metadata(data)
        raise ProviderUnavailable(f"its metadata have the status {status}")

    def _parse_metadata(self, data: Mapping[str, Any]) -> ProviderMetadata:
        # OpenID Connect Discovery 1.0 §4.3: otherwise one provider could speak for another.
        if data.get("issuer") != self.issuer:
            raise ProviderUnavailable("its metadata name another issuer than the setting identity.issuer")
        methods = data.get("token_endpoint_auth_methods_supported")
        keys_url = self._check_url(data.get("jwks_uri"))
        if keys_url is None:
            raise ProviderUnavailable("its metadata have no valid jwks_uri")
        return ProviderMetadata(
            keys_url,
            self._check_url(data.get("authorization_endpoint")),
            self._check_url(data.get("token_endpoint")),
            isinstance(methods, list)
            and "client_secret_post" in methods
            and "client_secret_basic" not in methods,
            data.get("authorization_response_iss_parameter_supported") is True,
        )

    def _check_url(self, url: object) -> str | None:
        """Return a URL of the metadata; None if it is less safe than that of the issuer."""
        if not isinstance(url, str) or not url.isascii() or not url.isprintable():
            return None
        is_secure = url.startswith("https://")
        return url if is_secure or (self.issuer.startswith("http://") and url.startswith("http://")) else None

    async def _request(self, method: str, url: str, **options: Any) -> tuple[int, Mapping[str, Any]]:
        body = bytearray()
        try:
            with anyio.fail_after(_TOTAL_TIMEOUT_S):
                async with (
                    httpx2.AsyncClient(
                        # No compression: the decompressed response could have any size.
                        headers={
                            "Accept": "application/json",
                            "Accept-Encoding": "identity",
                            "User-Agent": "docyard",
                        },
                        timeout=_REQUEST_TIMEOUT_S,
                        transport=self._transport,
                        trust_env=url.startswith("https://"),
                        follow_redirects=False,
                    ) as client,
                    client.stream(method, url, **options) as response,
                ):
                    if "content-encoding" in response.headers:
                        raise ProviderUnavailable("its answer is compressed")
                    async for chunk in response.aiter_bytes():
                        body += chunk
                        if len(body) > _MAX_RESPONSE_BYTES:
                            raise ProviderUnavailable("its answer is too large")
        except TimeoutError:
            raise ProviderUnavailable("it does not answer") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderUnavailable(type(error).__name__) from None
        data: Any = None
        with suppress(ValueError, RecursionError):
            data = json.loads(body)
        if response.status_code == 200 and not isinstance(data, dict):
            raise ProviderUnavailable("its answer is not a JSON object")
        return response.status_code, data if isinstance(data, dict) else {}


def parse_keys(data: Mapping[str, Any]) -> list[VerificationKey]:
    """Return the usable keys of a JSON Web Key Set. Other keys are ignored: encryption, symmetric, weak."""
    items = data.get("keys")
    if not isinstance(items, list):
        return []
    return [key for item in items[:_MAX_KEYS] if (key := _parse_key(item)) is not None]


def _parse_key(item: object) -> VerificationKey | None:
    if not isinstance(item, dict) or item.get("use", "sig") != "sig":
        return None
    kind, curve, key_id = item.get("kty"), item.get("crv"), item.get("kid")
    if kind == "RSA":
        algorithms: tuple[str, ...] = _RSA_ALGORITHMS
    elif kind in ("EC", "OKP") and isinstance(curve, str) and curve in _CURVE_ALGORITHMS:
        algorithms = (_CURVE_ALGORITHMS[curve],)
    else:
        return None
    if "alg" in item:
        algorithms = tuple(name for name in algorithms if name == item["alg"])
    if not algorithms or not (key_id is None or isinstance(key_id, str)):
        return None
    try:
        key = jwt.PyJWK(item, algorithms[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    if kind == "RSA" and key.key_size < _MIN_RSA_BITS:
        return None
    return VerificationKey(key_id, algorithms, key)
