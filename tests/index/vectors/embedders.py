"""Embedders for tests: vectors of topics, failures on demand, and a record of every call."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from index.port import Fusion
from index.vectors.embedder import EmbeddingUnavailable, Vectors

TOPICS = ("retry again attempt backoff", "car automobile vehicle engine", "money price cost payment")


class TopicEmbedder:
    """Vectors with one dimension for each topic, and one for the length of the text.

    Words of one topic have near vectors, although they are different words. `calls` has the texts of each
    call. `failure` is raised by each call if it is set; `refused` is a word that no text may contain.
    """

    provider = "topics"
    is_single_threaded = False
    fusion = Fusion("rank", 2.0)

    def __init__(self, batch_size: int = 4, model: str = "topics-1") -> None:
        self.batch_size = batch_size
        self.model = model
        self.calls: list[list[str]] = []
        self.failure: EmbeddingUnavailable | None = None
        self.refused: str | None = None
        self.permission = threading.Event()
        self.permission.set()
        self.shift = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        self.permission.wait(10)
        if self.failure is not None:
            raise self.failure
        if self.refused is not None and any(self.refused in text for text in texts):
            raise EmbeddingUnavailable("refused a text", is_permanent=True)
        rows = []
        for text in texts:
            words = text.lower().split()
            counts = [sum(word.strip(".,:") in topic.split() for word in words) for topic in TOPICS]
            rows.append([counts[0] + self.shift, *counts[1:], 0.1 + len(text) % 7 / 100])
        return np.array(rows, np.float32)

    def embed_query(self, text: str) -> Vectors:
        return self.embed_documents([text])

    def close(self) -> None: ...
