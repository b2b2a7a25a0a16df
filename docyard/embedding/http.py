"""The provider `http`: a server with the embeddings interface of OpenAI.

A call is `POST URL/embeddings` with {model, input}, and the answer {data: [{index, embedding}]}. A vector is
a list of numbers, or base64 of little-endian 32-bit numbers. Each call is limited in time and size, and the
key is sent to the host of the URL alone.
"""

from __future__ import annotations

import binascii
import re
import threading
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from docyard.embedding.errors import InvalidProvider
from docyard.forges.errors import (
    ForgeAccessDenied,
    ForgeError,
    ForgeFailed,
    ForgeLimited,
    ForgeRequestRejected,
    ForgeUnreachable,
)
from docyard.forges.statuses import get_retry_delay
from docyard.forges.transport import ForgeTransport, TransportLimits
from index.port import Fusion
from index.vectors.embedder import EmbeddingUnavailable

if TYPE_CHECKING:
    from index.vectors.embedder import Vectors

_TITLE = "the embedding provider"
DOCUMENT_LIMITS = TransportLimits(read_s=60.0, total_s=120.0, attempts=3, bytes=50_000_000)
QUESTION_LIMITS = TransportLimits(connect_s=2.0, read_s=5.0, total_s=5.0, attempts=1, bytes=2_000_000)
_DOCUMENT_CONNECTIONS = 2
_QUESTION_CONNECTIONS = 4

_REFUSED_TEXT_STATUSES = (400, 413, 422)
"""The statuses of a request whose texts the server does not accept, such as too long ones."""

_PRIVATE_DOMAINS = (".internal", ".local", ".localhost")
"""Domains that are reserved for private networks (RFC 6761, RFC 6762, ICANN resolution 2024.07.29.06)."""

_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")


class HttpEmbedder:
    """A server of embeddings. Safe to use from threads; a question does not wait for documents.

    Raises InvalidProvider for a URL that could reveal the key, and for a key that cannot be sent.
    """

    provider = "http"
    batch_size = 64
    is_single_threaded = False
    # Measured with MiniLM, whose vectors are the weakest that such servers offer: docs/meaning.md.
    fusion = Fusion("rank", 2.0)

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        dimensions: int | None = None,
        document_limits: TransportLimits = DOCUMENT_LIMITS,
        question_limits: TransportLimits = QUESTION_LIMITS,
    ) -> None:
        _check_url(url)
        if key and not re.fullmatch("[!-~]+", key):
            raise InvalidProvider(
                "the key of the embedding provider must consist of printable ASCII characters without spaces",
                fix="Set DOCYARD_EMBEDDING_KEY again.",
                field="key",
            )
        self.model = model
        self._dimensions = dimensions
        base_url = url.rstrip("/").removesuffix("/embeddings").rstrip("/")
        self._documents = _Connections(base_url, key or "", document_limits, _DOCUMENT_CONNECTIONS)
        self._questions = _Connections(base_url, key or "", question_limits, _QUESTION_CONNECTIONS)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""
        return self._embed(self._documents, texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self._embed(self._questions, [text])

    def close(self) -> None:
        """Close the connections; one that is in use is closed after its call."""
        self._documents.close()
        self._questions.close()

    def _embed(self, connections: _Connections, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        with connections.borrow() as transport:
            try:
                answer = transport.send("POST", "/embeddings", body, is_idempotent=True)
            except ForgeError as error:
                raise _translate(error) from None
        vectors = _read_vectors(answer, len(texts))
        if self._dimensions is not None and vectors.shape[1] != self._dimensions:
            raise EmbeddingUnavailable(
                f"returned vectors with {vectors.shape[1]:,} dimensions instead of {self._dimensions:,}",
                fix="Leave out the number of dimensions: the model does not support it.",
            )
        return vectors


class _Connections:
    """At most `count` connections to the server, each for one call at a time."""

    def __init__(self, base_url: str, key: str, limits: TransportLimits, count: int) -> None:
        self._base_url, self._key, self._limits = base_url, key, limits
        self._available = threading.Semaphore(count)
        self._lock = threading.Lock()
        self._idle: list[ForgeTransport] = []
        self._is_closed = False

    @contextmanager
    def borrow(self) -> Iterator[ForgeTransport]:
        """Yield a connection that no other thread uses. Raises EmbeddingUnavailable after `close`."""
        with self._available:
            with self._lock:
                if self._is_closed:
                    raise EmbeddingUnavailable("is closed")
                transport = self._idle.pop() if self._idle else self._connect()
            try:
                yield transport
            finally:
                with self._lock:
                    self._idle.append(transport)
                if self._is_closed:
                    self.close()

    def close(self) -> None:
        """Close the idle connections, and the others after their calls."""
        with self._lock:
            self._is_closed = True
            while self._idle:
                self._idle.pop().close_connections()

    def _connect(self) -> ForgeTransport:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return ForgeTransport(_TITLE, self._base_url, headers, self._key, self._limits)


def _check_url(url: str) -> None:
    from workspace.git.remotes.url import Transport, UnsupportedRemote, parse_remote_url

    try:
        address = parse_remote_url(url)
    except UnsupportedRemote:
        address = None
    if address is None or address.transport not in (Transport.HTTP, Transport.HTTPS):
        raise InvalidProvider(
            "the URL of the embedding provider must begin with https://",
            fix="Give the base URL of its interface, such as https://api.example.com/v1.",
            field="url",
        )
    if "@" in urlsplit(url).netloc or "?" in url or "#" in url:
        raise InvalidProvider(
            "the URL of the embedding provider must not contain a key, a query or a fragment",
            fix="Set the key as DOCYARD_EMBEDDING_KEY.",
            field="url",
        )
    if not re.fullmatch(r"[!-\[\]-~]+", url) or not _is_host(address.host):
        raise InvalidProvider(
            "the URL of the embedding provider has an invalid character or host",
            fix="Encode other characters than printable ASCII: the host with Punycode, the path with %.",
            field="url",
        )
    if address.transport is Transport.HTTP and not _is_in_private_network(address.host):
        raise InvalidProvider(
            "the URL of the embedding provider must begin with https:// outside a private network",
            fix="Use https://, so that the texts and the key are encrypted.",
            field="url",
        )


def _is_host(host: str) -> bool:
    return bool(_HOST_NAME.fullmatch(host)) or _parse_ip(host) is not None


def _is_in_private_network(host: str) -> bool:
    """Return True for a private address, and for a name that only a private network resolves."""
    address = _parse_ip(host)
    if address is None:
        # A name without a dot must begin with a letter, because 134744072 is an address, too.
        return host.endswith(_PRIVATE_DOMAINS) or bool(re.fullmatch("[a-z][a-z0-9_-]*", host))
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_private


def _parse_ip(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _translate(error: ForgeError) -> EmbeddingUnavailable:
    """Return the error of a call. A request that is wrong because of its texts is wrong each time."""
    status = error.details.get("status")
    delay = get_retry_delay(error)
    match error:
        case ForgeAccessDenied():
            # Without the server's own reason, which may contain a part of the key.
            problem = "rejected the key" if status == 401 else "did not permit the request"
            return EmbeddingUnavailable(f"{problem} (status {status})", fix="Check DOCYARD_EMBEDDING_KEY.")
        case ForgeLimited():
            return EmbeddingUnavailable(
                f"reports that its rate limit is reached (status {status})",
                fix=error.fix,
                retry_after_s=delay,
            )
        case ForgeUnreachable():
            reason = str(error.details["reason"]).replace("the token", "the key")
            return EmbeddingUnavailable(
                f"is unreachable, or its response is unusable: {reason}",
                fix="Check the URL, and that the server runs.",
            )
        case ForgeFailed():
            return EmbeddingUnavailable(_read_reason(error), fix="Try again later.", retry_after_s=delay)
        case ForgeRequestRejected():
            return EmbeddingUnavailable(
                _read_reason(error),
                fix="Check the model and its limits.",
                is_permanent=status in _REFUSED_TEXT_STATUSES,
            )
        case _:
            return EmbeddingUnavailable(
                f"has no embeddings at its URL, or not this model (status {status})",
                fix="Check the URL and the model.",
            )


def _read_reason(error: ForgeError) -> str:
    return error.message.removeprefix(_TITLE).strip()


def _read_vectors(answer: object, count: int) -> Vectors:
    """Return the vectors of an answer in the order of the texts. Raises EmbeddingUnavailable."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or len(entries) != count:
        raise EmbeddingUnavailable(f"did not return {count} vectors", fix="Check the URL and the model.")
    vectors: list[Vectors | None] = [None] * count
    for position, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise EmbeddingUnavailable("returned a vector in an unknown form")
        index = entry.get("index", position)
        if type(index) is not int or not 0 <= index < count or vectors[index] is not None:
            raise EmbeddingUnavailable("returned vectors without a clear order")
        vectors[index] = _read_vector(entry.get("embedding"))
    if len({len(vector) for vector in vectors if vector is not None}) != 1:
        raise EmbeddingUnavailable("returned vectors of different lengths")
    return np.stack([vector for vector in vectors if vector is not None])


def _read_vector(value: object) -> Vectors:
    if isinstance(value, str) and value:
        try:
            return np.frombuffer(b64decode(value, validate=True), "<f4").astype(np.float32)
        except (binascii.Error, ValueError):
            raise EmbeddingUnavailable("returned a vector that is not base64 of numbers") from None
    if not isinstance(value, list) or not value or not {type(number) for number in value} <= {int, float}:
        raise EmbeddingUnavailable("returned a vector that is not a list of numbers")
    try:
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, an error later
            return np.array(value, np.float64).astype(np.float32)
    except OverflowError:
        raise EmbeddingUnavailable("returned a vector with a number that is not finite") from None
