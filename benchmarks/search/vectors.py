"""Hybrid searches with vectors that need no model, and their memory."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import read_resident_mb
from benchmarks.timing import compute_p50_p95_ms, measure_seconds
from index.port import Fusion
from index.service import SearchIndex
from index.vectors.embedder import Vectors
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions
from index.vectors.provider import Provider
from workspace.workspace import Workspace

DIMENSIONS = 384
"""The number of dimensions of all-MiniLM-L6-v2."""


class RandomEmbedder:
    """Pseudo-random vectors: the bytes of a hash of the text."""

    provider = "benchmark"
    model = f"random-{DIMENSIONS}"
    batch_size = 1_024
    is_single_threaded = False
    fusion = Fusion("rank", 2.0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""
        data = b"".join(hashlib.shake_128(text.encode()).digest(DIMENSIONS) for text in texts)
        return np.frombuffer(data, np.uint8).reshape(-1, DIMENSIONS).astype(np.float32) - 127.5

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self.embed_documents([text])

    def close(self) -> None: ...


class SectionsNotEmbedded(Exception):
    """A search did not use vectors."""


def measure(repository: str, queries: list[str], warm_up: list[str], with_vectors: bool) -> dict[str, Any]:
    """Measure the first run of each query, and the resident memory after it.

    With vectors, the vector of each query is known before its search. Raises SectionsNotEmbedded.
    """
    provider = Provider(RandomEmbedder()) if with_vectors else None
    search = open_index(repository, provider)
    search.preload()
    if provider is not None:
        search.embed_sections()  # loads the vectors
    for query in warm_up:
        search.search(query)
    gc.collect()
    gc.freeze()  # as a server does after its start
    times: list[float] = []
    for query in queries:
        if provider is not None:
            provider.embed_question(query, DIMENSIONS)
        times.append(measure_seconds(lambda: search.search(query)))  # noqa: B023
    if with_vectors and search.search(queries[0]).search_type != "hybrid":
        raise SectionsNotEmbedded("the benchmark's sections have no vectors")
    return compute_p50_p95_ms(times) | {"resident_mb": read_resident_mb()}


def open_index(repository: str, provider: Provider | None) -> SearchIndex:
    """Return the index of a repository, which embeds sections only by `embed_sections`."""
    embedding = NO_EMBEDDING if provider is None else EmbeddingOptions(provider, in_background=False)
    return SearchIndex(Workspace.open(Path(repository)), embedding=embedding)
