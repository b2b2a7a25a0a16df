"""The provider `http`: a server with the embeddings interface of OpenAI.

A call is `POST URL/embeddings` with {model, input}, and the answer {data: [{index, embedding}]}. A vector is
a list of numbers, or base64 of little-endian 32-bit numbers. Each call is limited in time and size, and the
key is sent to the host of the URL alone.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from docyard.embedding.errors import InvalidProvider
from docyard.forges.errors import ForgeAccessDenied, ForgeConflict, ForgeError, ForgeRequestRejected
from docyard.forges.statuses import get_retry_delay
from docyard.forges.transport import ForgeTransport, TransportLimits
from index.port import Fusion
from index.vectors.embedder import EmbeddingUnavailable

if TYPE_CHECKING:
    from index.vectors.embedder import Vectors

_TITLE = "the embedding provider"
_DOCUMENT_LIMITS = TransportLimits(read_s=60.0, total_s=120.0, attempts=3, bytes=50_000_000)
_QUESTION_LIMITS = TransportLimits(connect_s=2.0, read_s=5.0, total_s=5.0, attempts=1, bytes=2_000_000)


class HttpEmbedder:
    """A server of embeddings. Safe to use from threads; a question does not wait for documents.

    Raises InvalidProvider for a URL that could reveal the key.
    """

    provider = "http"
    batch_size = 64
    # Measured with MiniLM, whose vectors are the weakest that such servers offer: docs/meaning.md.
    fusion = Fusion("rank", 2.0)

    def __init__(self, url: str, model: str, key: str | None = None, dimensions: int | None = None) -> None:
        _check_url(url)
        self.model = model
        self._url = url.rstrip("/").removesuffix("/embeddings")
        self._key = key
        self._dimensions = dimensions

    @cached_property
    def _documents(self) -> ForgeTransport:
        return self._connect(_DOCUMENT_LIMITS)

    @cached_property
    def _questions(self) -> ForgeTransport:
        return self._connect(_QUESTION_LIMITS)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""
        return self._embed(self._documents, texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self._embed(self._questions, [text])

    def close(self) -> None:
        """Close the connections."""
        for name in ("_documents", "_questions"):
            if name in vars(self):
                getattr(self, name).close_connections()

    def _connect(self, limits: TransportLimits) -> ForgeTransport:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return ForgeTransport(_TITLE, self._url, headers, self._key or "", limits)

    def _embed(self, transport: ForgeTransport, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        try:
            answer = transport.send("POST", "/embeddings", body, is_idempotent=True)
        except ForgeError as error:
            raise _translate(error) from error
        return _read_vectors(answer, len(texts))


def _check_url(url: str) -> None:
    from workspace.git.remotes.url import Transport, UnsupportedRemote, parse_remote_url

    try:
        address = parse_remote_url(url)
    except UnsupportedRemote:
        address = None
    parts = urlsplit(url)
    if address is None or address.transport not in (Transport.HTTP, Transport.HTTPS):
        raise InvalidProvider(
            "the URL of the embedding provider must begin with https://",
            fix="Give the base URL of its interface, such as https://api.example.com/v1.",
            field="url",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidProvider(
            "the URL of the embedding provider must not contain a key, a query or a fragment",
            fix="Set the key as DOCYARD_EMBEDDING_KEY.",
            field="url",
        )
    if address.transport is Transport.HTTP and not address.is_private:
        raise InvalidProvider(
            "the URL of the embedding provider must begin with https:// outside a private network",
            fix="Use https://, so that the texts and the key are encrypted.",
            field="url",
        )


def _translate(error: ForgeError) -> EmbeddingUnavailable:
    """Return the error of a call. A request that is wrong because of its texts is wrong each time."""
    reason = error.message.removeprefix(_TITLE).strip()
    if isinstance(error, ForgeAccessDenied):
        return EmbeddingUnavailable(reason.replace("token", "key"), fix="Check DOCYARD_EMBEDDING_KEY.")
    is_permanent = isinstance(error, ForgeRequestRejected | ForgeConflict)
    return EmbeddingUnavailable(
        reason, fix="Try again later.", retry_after_s=get_retry_delay(error), is_permanent=is_permanent
    )


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
    sizes = {len(vector) for vector in vectors if vector is not None}
    if len(sizes) != 1:
        raise EmbeddingUnavailable("returned vectors of different lengths")
    return np.stack([vector for vector in vectors if vector is not None])


def _read_vector(value: object) -> Vectors:
    if isinstance(value, str):
        try:
            return np.frombuffer(b64decode(value, validate=True), "<f4").astype(np.float32)
        except (binascii.Error, ValueError):
            raise EmbeddingUnavailable("returned a vector that is not base64 of numbers") from None
    try:
        vector = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        vector = np.empty((0, 0))
    if vector.ndim != 1 or not len(vector):
        raise EmbeddingUnavailable("returned a vector that is not a list of numbers")
    with np.errstate(over="ignore"):  # a number that is too large becomes infinite, which is an error later
        return vector.astype(np.float32)
