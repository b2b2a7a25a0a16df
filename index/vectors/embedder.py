"""The interface of a provider of vectors, and the text of a section that is embedded.

A provider returns one vector for each text; texts with a near meaning have near vectors. Vectors of different
providers cannot be compared, so each vector belongs to an embedding id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import Fusion

Vectors = NDArray[np.float32]
"""One vector in each row."""

TEMPLATE_VERSION = 1
"""The version of `format_section`; vectors of another version are not used."""

MAX_EMBEDDED_CHARACTERS = 6_000
"""The largest number of characters of a section that are embedded. Models read no more than some pages."""

PROBE_TEXT = "A lock is released when the process that holds it ends."
"""A text whose vector shows whether the provider still uses the same model."""

MIN_PROBE_SIMILARITY = 0.999
"""The least cosine of two vectors of the probe text by the same model; rounding differs between machines."""


class EmbeddingUnavailable(WorkspaceError):
    """A provider returned no usable vectors.

    `reason` is the message without its subject. `retry_after_s` is the delay that the provider asked for,
    None without one. If `is_permanent` is True, another call with the same text fails again.
    """

    code: ClassVar[str] = "EMBEDDING_UNAVAILABLE"

    def __init__(
        self, reason: str, *, fix: str = "", retry_after_s: float | None = None, is_permanent: bool = False
    ) -> None:
        super().__init__(f"the embedding provider {reason}", fix=fix)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.is_permanent = is_permanent


class Embedder(Protocol):
    """A provider of vectors. Safe to use from threads. Every method raises EmbeddingUnavailable.

    `provider` and `model` name the model. `batch_size` is the largest number of texts of one call, and
    `fusion` was measured with this kind of model. An embedder that `is_single_threaded` computes vectors by
    one processor at a time; it can be pickled, so that several processes use it.
    """

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def is_single_threaded(self) -> bool: ...

    @property
    def fusion(self) -> Fusion: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each of at most `batch_size` texts."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, as the only row."""

    def close(self) -> None: ...


def compute_embedding_id(embedder: Embedder, dimensions: int) -> str:
    """Return the id of the vectors that a provider returns: 16 hexadecimal digits."""
    identity = [embedder.provider, embedder.model, dimensions, TEMPLATE_VERSION]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]


def format_section(breadcrumb: Sequence[str], text: bytes) -> str:
    """Return the text of a section that is embedded: its headings, and the begin of its own text."""
    headings = " > ".join(filter(None, breadcrumb))
    # A character has at most four bytes.
    body = str(text[: 4 * MAX_EMBEDDED_CHARACTERS], "utf-8", "replace").strip()
    return f"{headings}\n\n{body}"[:MAX_EMBEDDED_CHARACTERS].strip()


def is_same_probe(probe: Vectors, other: Vectors) -> bool:
    """Return True if two vectors of the probe text are by the same model."""
    return len(probe) == len(other) and float(probe @ other) >= MIN_PROBE_SIMILARITY


def check_vectors(vectors: Vectors, count: int, dimensions: int | None = None) -> Vectors:
    """Return vectors scaled to the length 1. A vector of zeros stays as it is.

    Raises EmbeddingUnavailable if they are not `count` finite vectors with the given number of dimensions.
    """
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise EmbeddingUnavailable(f"returned an array of the shape {vectors.shape} instead of vectors")
    if len(vectors) != count:
        raise EmbeddingUnavailable(f"returned {len(vectors):,} vectors for {count:,} texts")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise EmbeddingUnavailable(
            f"returned vectors with {vectors.shape[1]:,} dimensions instead of {dimensions:,}",
            fix="Check the name of the model.",
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingUnavailable("returned a vector with a number that is not finite")
    # Divided by the largest number first, because the square of a large number is not finite.
    scaled = vectors.astype(np.float64)
    largest = np.abs(scaled).max(axis=1, keepdims=True)
    scaled = scaled / np.where(largest == 0, 1, largest)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(lengths == 0, 1, lengths)
    return scaled.astype(np.float32)
