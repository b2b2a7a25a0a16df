"""A provider with its failures.

A question waits only briefly, and the call after a failure is delayed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from index.vectors.embedder import (
    MAX_EMBEDDED_CHARACTERS,
    PROBE_TEXT,
    EmbeddingUnavailable,
    check_vectors,
    is_same_probe,
)
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
        self._questions = _Questions()
        self._probe: Vectors | None = None
        self._next_probe_time = 0.0
        self._probe_lock = threading.Lock()

    def embed_probe(self) -> Vectors:
        """Return the vector of the probe text. Raises EmbeddingUnavailable.

        It is at most ten minutes old, and was embedded after the last failure. If it differs from the one
        before, the model has changed, and the vectors of questions are forgotten.
        """
        with self._probe_lock:
            now = time.monotonic()
            if self._probe is None or now >= self._next_probe_time:
                self._next_probe_time = now + _PROBE_INTERVAL_S
                [probe] = self.embed([PROBE_TEXT])
                if self._probe is None or not is_same_probe(probe, self._probe):
                    self._questions = _Questions()
                self._probe = probe
            return self._probe

    def close(self) -> None:
        """Close the embedder."""
        self.embedder.close()

    def embed_question(self, text: str, dimensions: int) -> Vectors:
        """Return the vector of a question; zeros for a blank one. Raises EmbeddingUnavailable.

        A vector that arrives after the time limit is cached for the next time that the question is asked.
        """
        text = _clean(text)
        if not text.strip():
            return np.zeros(dimensions, np.float32)
        questions = self._questions
        cached = questions.vectors.find(text)
        if cached is not None:
            return cached
        if self.retries.remaining_s() > 0 and (last_failure := self.retries.failure) is not None:
            # Without its traceback, which would grow with each question.
            raise last_failure.with_traceback(None)
        with questions.lock:
            call = questions.calls.get(text)
            if call is None:
                call = _QuestionCall()
                threading.Thread(
                    target=self._run_call,
                    args=(call, questions, text, dimensions),
                    name="docyard-question",
                    daemon=True,
                ).start()
                questions.calls[text] = call
        if not call.done.wait(self._question_timeout_s):
            failure = EmbeddingUnavailable(f"did not answer within {self._question_timeout_s * 1_000:.0f} ms")
            self.retries.record_failure(failure)
            raise failure
        if isinstance(call.result, EmbeddingUnavailable):
            raise call.result.with_traceback(None)
        return call.result

    def _run_call(self, call: _QuestionCall, questions: _Questions, text: str, dimensions: int) -> None:
        try:
            [vector] = check_vectors(self.embedder.embed_query(text), 1, dimensions)
            questions.vectors.put(text, vector)
            self.retries.record_success()
            call.result = vector
        except EmbeddingUnavailable as failure:
            self._record_failure(failure)
            call.result = failure
        finally:
            with questions.lock:
                questions.calls.pop(text, None)
            call.done.set()

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
            self._check_refusal(failure, dimensions)
            return vectors, self._embed_accepted(texts, numbers, vectors)
        return vectors, 0

    def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        """Return the vectors of texts. Raises EmbeddingUnavailable."""
        try:
            vectors = check_vectors(
                self.embedder.embed_documents([_clean(text) for text in texts]), len(texts), dimensions
            )
        except EmbeddingUnavailable as failure:
            self._record_failure(failure)
            raise
        self.retries.record_success()
        return vectors

    def _embed_accepted(self, texts: Sequence[str], numbers: list[int], vectors: Vectors) -> int:
        """Embed the texts of a refused batch that the provider accepts. Return how many it refuses."""
        if len(numbers) == 1:
            return 1
        refused_count = 0
        middle = len(numbers) // 2
        for half in (numbers[:middle], numbers[middle:]):
            try:
                vectors[half] = self.embed([texts[number] for number in half], vectors.shape[1])
            except EmbeddingUnavailable as failure:
                if not failure.is_permanent:
                    raise
                refused_count += self._embed_accepted(texts, half, vectors)
        return refused_count

    def _check_refusal(self, refusal: EmbeddingUnavailable, dimensions: int) -> None:
        """Raise EmbeddingUnavailable if the provider refuses the probe text, too.

        Then the texts are not the reason, but for example the name of the model.
        """
        try:
            self.embed([PROBE_TEXT], dimensions)
        except EmbeddingUnavailable as failure:
            if not failure.is_permanent:
                raise
            failure = EmbeddingUnavailable(
                f"refuses every text: {refusal.reason}", fix="Check the provider's model and its limits."
            )
            self._record_failure(failure)
            raise failure from refusal

    def _record_failure(self, failure: EmbeddingUnavailable) -> None:
        """Delay the next call, unless the provider refused a text. Another model may answer it."""
        if not failure.is_permanent:
            self.retries.record_failure(failure)
            self._next_probe_time = 0.0


class _Questions:
    """The vectors of the questions to one model, and the calls that are running."""

    def __init__(self) -> None:
        self.vectors: LRUCache[str, Vectors] = LRUCache(_MAX_CACHED_QUESTIONS)
        self.calls: dict[str, _QuestionCall] = {}
        self.lock = threading.Lock()


class _QuestionCall:
    """A call for one question, for which several threads may wait."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.result: Vectors | EmbeddingUnavailable = EmbeddingUnavailable("failed with an unexpected error")


def _clean(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot encode, and not longer than models read."""
    return text[:MAX_EMBEDDED_CHARACTERS].encode("utf-8", "replace").decode()
