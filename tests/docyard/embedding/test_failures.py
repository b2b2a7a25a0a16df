"""A provider that is slow, fails or changes: time limits, delays, and cached questions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from index.port import Fusion
from index.vectors import retries
from index.vectors.embedder import EmbeddingUnavailable, Vectors, check_vectors
from index.vectors.provider import Provider
from index.vectors.retries import RetrySchedule
from tests.docyard.embedding.embedding_server import compute_vector
from tests.loops import loop_over

LONG_TIMEOUT_S = 30.0


class FakeEmbedder:
    """An embedder that records its calls. A call waits for `start`, and raises `failure` if there is one."""

    provider = "fake"
    model = "fake"
    batch_size = 8
    is_single_threaded = False
    fusion = Fusion("rank", 1.0)

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.start = threading.Event()
        self.start.set()
        self.failure: Exception | None = None
        self.version = ""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        failure, version, start = self.failure, self.version, self.start
        self.calls.append(list(texts))
        assert start.wait(LONG_TIMEOUT_S)
        if failure is not None:
            raise failure
        return np.array([compute_vector(version + text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Vectors:
        return self.embed_documents([text])

    def close(self) -> None:
        """Do nothing."""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retries, "time", clock)
    return clock


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def build_failure(retry_after_s: float | None = None) -> EmbeddingUnavailable:
    return EmbeddingUnavailable("failed", retry_after_s=retry_after_s)


def test_slow_question_fails_at_the_limit_and_its_vector_is_used_later(embedder: FakeEmbedder) -> None:
    provider = Provider(embedder, 0.05)
    embedder.start.clear()
    start = time.monotonic()
    with pytest.raises(EmbeddingUnavailable, match="did not answer within 50 ms"):
        provider.embed_question("a", 4)
    assert time.monotonic() - start < 5
    with pytest.raises(EmbeddingUnavailable, match="did not answer within 50 ms"):
        provider.embed_question("b", 4)  # fails at once, without another call
    embedder.start.set()
    wait_until(lambda: provider.retries.failure is None)
    [expected] = check_vectors(np.array([compute_vector("a")], np.float32), 1)
    assert np.array_equal(provider.embed_question("a", 4), expected)
    assert embedder.calls == [["a"]]


def test_late_failure_with_retry_after_extends_the_delay(embedder: FakeEmbedder) -> None:
    provider = Provider(embedder, 0.01)
    embedder.failure = build_failure(120)
    embedder.start.clear()
    with pytest.raises(EmbeddingUnavailable, match="did not answer"):
        provider.embed_question("a", 4)
    assert provider.retries.remaining_s() <= 1
    embedder.start.set()
    wait_until(lambda: provider.retries.remaining_s() > 100)
    with pytest.raises(EmbeddingUnavailable, match="provider failed"):
        provider.embed_question("b", 4)


def test_concurrent_questions_of_one_text_make_one_call(embedder: FakeEmbedder) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    embedder.start.clear()
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(provider.embed_question, text, 4) for text in "aaaabbbb"]
        wait_until(lambda: len(embedder.calls) == 2)
        time.sleep(0.02)  # the other threads could call now
        embedder.start.set()
        vectors = [answer.result(LONG_TIMEOUT_S).tolist() for answer in answers]
    assert sorted(embedder.calls) == [["a"], ["b"]]
    assert vectors == [vectors[0]] * 4 + [vectors[4]] * 4
    assert vectors[0] != vectors[4]


def test_concurrent_questions_share_a_failure(embedder: FakeEmbedder, clock: Clock) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    embedder.failure = build_failure()
    with ThreadPoolExecutor(8) as pool:
        errors = [future.exception() for future in [pool.submit(provider.embed_question, "a", 4)] * 8]
    assert all(isinstance(error, EmbeddingUnavailable) for error in errors)
    assert provider.retries.remaining_s() == 1
    embedder.failure = None
    clock.now_s += 1
    assert provider.embed_question("a", 4).any()


def test_repeated_failure_has_a_bounded_traceback(embedder: FakeEmbedder) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    embedder.failure = build_failure(600)
    lengths = []
    for _ in range(4):
        with pytest.raises(EmbeddingUnavailable) as error:
            provider.embed_question("a", 4)
        lengths.append(len(error.traceback))
    assert lengths[1:] == [lengths[1]] * 3
    assert len(embedder.calls) == 1


def test_unexpected_error_of_a_question_is_reported(
    embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    provider = Provider(embedder, LONG_TIMEOUT_S)
    embedder.failure = ZeroDivisionError()
    with pytest.raises(EmbeddingUnavailable, match="unexpected error"):
        provider.embed_question("a", 4)
    wait_until(lambda: errors)
    assert errors[0].exc_type is ZeroDivisionError
    embedder.failure = None
    assert provider.embed_question("a", 4).any()


@loop_over(
    "vectors, reason",
    [
        (np.full((1, 4), np.nan, np.float32), "not finite"),
        (np.full((1, 4), -np.inf, np.float32), "not finite"),
        (np.ones((1, 3), np.float32), "3 dimensions instead of 4"),
        (np.ones((2, 4), np.float32), "2 vectors for 1 texts"),
        (np.ones((0, 4), np.float32), "0 vectors for 1 texts"),
        (np.ones((1, 0), np.float32), "shape"),
        (np.ones(4, np.float32), "shape"),
        (np.ones((), np.float32), "shape"),
        (np.ones((1, 4, 2), np.float32), "shape"),
    ],
)
def test_unusable_vectors_are_an_error(vectors: Vectors, reason: str) -> None:
    with pytest.raises(EmbeddingUnavailable, match=reason):
        check_vectors(vectors, 1, 4)


@loop_over("size", [1e-44, 1e-20, 1.0, 1e20, 3e38])
def test_vector_of_any_size_is_scaled_to_length_one(size: float) -> None:
    [vector] = check_vectors(np.array([[size, 0, -size]], np.float32), 1)
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_delay_doubles_up_to_a_minute(clock: Clock) -> None:
    schedule = RetrySchedule()
    delays = []
    for _ in range(2_000):  # a provider that is down for a weekend
        schedule.record_failure(build_failure())
        schedule.record_failure(build_failure())  # during the delay
        delays.append(schedule.remaining_s())
        clock.now_s += delays[-1]
        assert schedule.remaining_s() == 0
        assert schedule.failure is not None
    assert delays[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert set(delays[8:]) == {60}
    schedule.record_success()
    assert schedule.failure is None
    schedule.record_failure(build_failure())
    assert schedule.remaining_s() == 1


@loop_over(
    "retry_after_s, delay_s", [(None, 1), (0.0, 1), (0.5, 1), (7.0, 7), (3_600.0, 3_600), (1e9, 3_600)]
)
def test_delay_obeys_retry_after_up_to_an_hour(
    clock: Clock, retry_after_s: float | None, delay_s: float
) -> None:
    schedule = RetrySchedule()
    schedule.record_failure(build_failure(retry_after_s))
    assert schedule.remaining_s() == delay_s


def test_longer_request_extends_a_running_delay(clock: Clock) -> None:
    schedule = RetrySchedule()
    schedule.record_failure(build_failure(10))
    schedule.record_failure(build_failure(5))
    assert schedule.remaining_s() == 10
    last = build_failure(30)
    schedule.record_failure(last)
    assert schedule.remaining_s() == 30
    assert schedule.failure is last


def test_failed_documents_delay_questions(embedder: FakeEmbedder, clock: Clock) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    embedder.failure = build_failure()
    with pytest.raises(EmbeddingUnavailable):
        provider.embed(["a"])
    embedder.failure = None
    with pytest.raises(EmbeddingUnavailable):
        provider.embed_question("b", 4)
    clock.now_s += 1
    assert provider.embed_question("b", 4).any()
    assert embedder.calls == [["a"], ["b"]]


def test_changed_probe_forgets_questions(embedder: FakeEmbedder, clock: Clock) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    probe = provider.embed_probe()
    first = provider.embed_question("a", 4)
    embedder.version = "other "
    assert np.array_equal(provider.embed_probe(), probe)  # at most ten minutes old
    assert np.array_equal(provider.embed_question("a", 4), first)
    fail_once(provider, embedder)
    clock.now_s += 1
    assert not np.array_equal(provider.embed_probe(), probe)
    assert not np.array_equal(provider.embed_question("a", 4), first)


def test_same_probe_keeps_questions(embedder: FakeEmbedder, clock: Clock) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    provider.embed_probe()
    first = provider.embed_question("a", 4)
    fail_once(provider, embedder)
    clock.now_s += 1
    provider.embed_probe()
    call_count = len(embedder.calls)
    assert np.array_equal(provider.embed_question("a", 4), first)
    assert len(embedder.calls) == call_count


def test_question_that_ends_after_a_changed_probe_is_not_cached(embedder: FakeEmbedder, clock: Clock) -> None:
    provider = Provider(embedder, LONG_TIMEOUT_S)
    provider.embed_probe()
    is_started = embedder.start
    embedder.start = first_start = threading.Event()
    with ThreadPoolExecutor() as pool:
        first_answer = pool.submit(provider.embed_question, "a", 4)
        wait_until(lambda: ["a"] in embedder.calls)
        embedder.start = is_started
        embedder.version = "other "
        fail_once(provider, embedder)
        clock.now_s += 1
        provider.embed_probe()
        second = provider.embed_question("a", 4)
        first_start.set()
        assert not np.array_equal(first_answer.result(LONG_TIMEOUT_S), second)
    assert np.array_equal(provider.embed_question("a", 4), second)


def fail_once(provider: Provider, embedder: FakeEmbedder) -> None:
    """Let a call fail, after which the probe is embedded again."""
    embedder.failure = build_failure()
    with pytest.raises(EmbeddingUnavailable):
        provider.embed(["text"])
    embedder.failure = None
