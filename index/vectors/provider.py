"""A provider with its failures.

A question waits only briefly, and the call after a failure is delayed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from index.vectors.embedder import PROBE_TEXT, EmbeddingUnavailable, check_vectors, is_same_probe
from index.vectors.retries import RetrySchedule
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from index.vectors.embedder import Embedder, Vectors

QUESTION_TIMEOUT_S = 0.25
"""The default of the longest time that a question waits for the provider."""

_MAX_CACHED_QUESTIONS = 256
_PROBE_INTERVAL_S = 600.0


class Provider:
    """An embedder whose failures are recorded in `retries`. Safe to use from threads.

    `question_timeout_s` is the longest time that a question waits.
    """

    def __init__(self, embedder: Embedder, question_timeout_s: float = QUESTION_TIMEOUT_S) -> None:
        self.embedder = embedder
        self.retries = RetrySchedule()
        self._question_timeout_s = question_timeout_s
        self._questions: LRUCache[str, Vectors] = LRUCache(_MAX_CACHED_QUESTIONS)
        self._probe: Vectors | None = None
        self._probe_time = 0.0
        self._probe_lock = threading.Lock()

    def embed_probe(self) -> Vectors:
        """Return the vector of the probe text, at most ten minutes old. Raises EmbeddingUnavailable.

        If it differs from the last one, the model has changed, and the vectors of questions are forgotten.
        """
        with self._probe_lock:
            now = time.monotonic()
            if self._probe is None or now - self._probe_time >= _PROBE_INTERVAL_S:
                [probe] = self.embed([PROBE_TEXT])
                if self._probe is None or not is_same_probe(probe, self._probe):
                    self._questions = LRUCache(_MAX_CACHED_QUESTIONS)
                self._probe, self._probe_time = probe, now
            return self._probe

    def close(self) -> None:
        """Close the embedder."""
        self.embedder.close()

    def embed_question(self, text: str, dimensions: int) -> Vectors:
        """Return the vector of a question. Raises EmbeddingUnavailable after the time limit.

        A vector that arrives later is cached for the next time that the question is asked.
        """
        cached = self._questions.find(text)
        if cached is not None:
            return cached
        if self.retries.remaining_s() > 0 and (last_failure := self.retries.failure) is not None:
            raise last_failure
        questions = self._questions
        results: list[Vectors | EmbeddingUnavailable] = []

        def embed() -> None:
            try:
                vector = check_vectors(self.embedder.embed_query(text), 1, dimensions)[0]
            except EmbeddingUnavailable as failure:
                self.retries.record_failure(failure)
                results.append(failure)
            else:
                questions.put(text, vector)
                self.retries.record_success()
                results.append(vector)

        thread = threading.Thread(target=embed, name="docyard-question", daemon=True)
        thread.start()
        thread.join(self._question_timeout_s)
        if not results:
            failure = EmbeddingUnavailable(f"did not answer within {self._question_timeout_s * 1_000:.0f} ms")
            self.retries.record_failure(failure)
            raise failure
        if isinstance(results[0], EmbeddingUnavailable):
            raise results[0]
        return results[0]

    def embed_sections(self, texts: Sequence[str], dimensions: int) -> tuple[Vectors, int]:
        """Return a vector for each text, and the number of texts that the provider refused.

        A blank text and a refused one have a vector of zeros, which is near to nothing. Raises
        EmbeddingUnavailable if the provider fails for another reason than the texts.
        """
        vectors = np.zeros((len(texts), dimensions), np.float32)
        numbers = [number for number, text in enumerate(texts) if text.strip()]
        if not numbers:
            return vectors, 0
        try:
            vectors[numbers] = self.embed([texts[number] for number in numbers], dimensions)
        except EmbeddingUnavailable as failure:
            if not failure.is_permanent:
                raise
            if len(numbers) == 1:
                return vectors, 1
        else:
            return vectors, 0
        refused_count = 0
        for number in numbers:  # the provider refuses the batch because of some of its texts
            vector, count = self.embed_sections([texts[number]], dimensions)
            vectors[number] = vector[0]
            refused_count += count
        if refused_count == len(numbers):
            # A provider that refuses every text has another reason, such as a wrong model.
            raise EmbeddingUnavailable("refuses every text", fix="Check the provider's model and its limits.")
        return vectors, refused_count

    def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        """Return the vectors of texts. Raises EmbeddingUnavailable."""
        try:
            vectors = check_vectors(self.embedder.embed_documents(texts), len(texts), dimensions)
        except EmbeddingUnavailable as failure:
            if not failure.is_permanent:
                self.retries.record_failure(failure)
            raise
        self.retries.record_success()
        return vectors
