"""The provider `http` against a local server: good answers, unusable ones, limits, and the key."""

from __future__ import annotations

import base64
import datetime
import logging
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from docyard.embedding.errors import InvalidProvider
from docyard.embedding.http import DOCUMENT_LIMITS, QUESTION_LIMITS, HttpEmbedder
from docyard.embedding.provider import ProviderOptions
from index.vectors.embedder import EmbeddingUnavailable
from index.vectors.provider import Provider
from tests.docyard.embedding.embedding_server import (
    Answer,
    EmbeddingServer,
    compute_vector,
    run_embedding_server,
)
from tests.loops import loop_over

KEY = "sk-4f1d9c02b7"
RETRY_LATER = {"retry-after": "3600"}
NOT_JSON = b"<html>Welcome to the proxy</html>"
TEXTS = [f"text {number}" for number in range(40)]


@pytest.fixture(scope="module")
def shared_server() -> Iterator[EmbeddingServer]:
    with run_embedding_server() as server:
        yield server


@pytest.fixture
def server(shared_server: EmbeddingServer) -> EmbeddingServer:
    shared_server.requests.clear()
    shared_server.answers.clear()
    shared_server.refused_word, shared_server.max_batch = "", 1_000
    return shared_server


def create_embedder(url: str, **changes: Any) -> HttpEmbedder:
    """Return an embedder that retries after 10 ms."""
    limits = DOCUMENT_LIMITS._replace(delay_s=0.01, max_delay_s=1.0)
    return HttpEmbedder(url, "small", **{"key": KEY, "document_limits": limits, **changes})


def embed_one(server: EmbeddingServer, embedding: object) -> np.ndarray:
    """Return the checked vector of an answer with one embedding."""
    server.answers.append(Answer({"data": [{"index": 0, "embedding": embedding}]}))
    return Provider(create_embedder(server.url)).embed(["a"])[0]


def encode_base64(vector: list[float]) -> str:
    return base64.b64encode(np.array(vector, "<f4").tobytes()).decode()


def test_texts_are_sent_with_model_and_key(server: EmbeddingServer) -> None:
    vectors = create_embedder(f"{server.url}/embeddings/", dimensions=4).embed_documents(["a", "b"])
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [compute_vector("a"), compute_vector("b")])
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "small",
        "input": ["a", "b"],
        "encoding_format": "float",
        "dimensions": 4,
    }


def test_no_key_sends_no_authorization(server: EmbeddingServer) -> None:
    create_embedder(server.url, key=None).embed_query("a")
    assert "authorization" not in server.requests[0].headers


def test_base64_equals_float(server: EmbeddingServer) -> None:
    entries = [{"embedding": encode_base64([3, 4])}, {"embedding": [3, 4.0]}]
    server.answers.append(Answer({"data": entries}))
    vectors = create_embedder(server.url).embed_documents(["a", "b"])
    assert vectors.tolist() == [[3, 4], [3, 4]]


def test_entries_out_of_order_follow_their_index(server: EmbeddingServer) -> None:
    entries = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]
    server.answers.append(Answer({"data": entries}))
    assert create_embedder(server.url).embed_documents(["a", "b"]).tolist() == [[1, 0], [0, 1]]


@loop_over(
    "embedding, reason",
    [
        ([], "not a list of numbers"),
        ("", "not a list of numbers"),
        (None, "not a list of numbers"),
        (0.5, "not a list of numbers"),
        ({"0": 0.5}, "not a list of numbers"),
        ([[0.5], [0.5]], "not a list of numbers"),
        ([0.5, None], "not a list of numbers"),
        ([0.5, True], "not a list of numbers"),
        (["0.5", "1"], "not a list of numbers"),
        (["0.5", 1], "not a list of numbers"),
        ([0.5, float("nan")], "not finite"),
        ([0.5, float("inf")], "not finite"),
        ([0.5, 1e300], "not finite"),
        ([0.5, 10**400], "not finite"),
        (encode_base64([0.5, float("nan")]), "not finite"),
        ("not base64!", "not base64"),
        ("AAAA", "not base64"),
        ("é", "not base64"),
    ],
)
def test_unusable_vector_is_an_error(server: EmbeddingServer, embedding: object, reason: str) -> None:
    with pytest.raises(EmbeddingUnavailable, match=reason) as error:
        embed_one(server, embedding)
    assert not error.value.is_permanent


def test_large_finite_vector_is_scaled(server: EmbeddingServer) -> None:
    assert np.allclose(embed_one(server, [3e37, 4e37]), [0.6, 0.8])


@loop_over(
    "content",
    [
        {"data": []},
        {"data": [{"embedding": [1]}]},
        {"data": [{"embedding": [1]}, {"embedding": [1]}, {"embedding": [1]}]},
        {"data": [{"embedding": [1, 2]}, {"embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": -1, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": True, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": [1]}, {"index": "1", "embedding": [1]}]},
        {"data": [[1], [1]]},
        {"data": {"0": [1], "1": [1]}},
        {"embeddings": [[1], [1]]},
        [[1], [1]],
        "ready",
        None,
        b"",
        b'{"data": [{"embedding": [1, 2',
        b"[" * 100_000,
        b"\xff\xfe",
        NOT_JSON,
    ],
)
def test_unusable_answer_is_an_error(server: EmbeddingServer, content: object) -> None:
    server.answers.append(Answer(content))
    with pytest.raises(EmbeddingUnavailable) as error:
        create_embedder(server.url).embed_documents(["a", "b"])
    assert not error.value.is_permanent


def test_incomplete_answer_is_retried(server: EmbeddingServer) -> None:
    server.answers.append(Answer(b'{"data": [', length=1_000))
    assert create_embedder(server.url).embed_documents(["a"]).shape == (1, 4)


def test_ignored_dimensions_are_an_error(server: EmbeddingServer) -> None:
    with pytest.raises(EmbeddingUnavailable, match="4 dimensions instead of 3") as error:
        create_embedder(server.url, dimensions=3).embed_documents(["a"])
    assert error.value.fix


def test_other_dimensions_in_a_later_call_are_an_error(server: EmbeddingServer) -> None:
    provider = Provider(create_embedder(server.url))
    dimensions = len(provider.embed_probe())
    server.answers += [Answer({"data": [{"embedding": [1, 2]}]})] * 2
    with pytest.raises(EmbeddingUnavailable, match="2 dimensions instead of 4"):
        provider.embed_sections(["a"], dimensions)
    assert len(provider.embed_probe()) == 2  # embedded again after the failure, which shows the other model


def test_too_large_answer_is_an_error(server: EmbeddingServer) -> None:
    server.answers.append(Answer(b'"' + b"x" * 60_000_000))
    start = time.monotonic()
    with pytest.raises(EmbeddingUnavailable, match="larger than 50,000,000 bytes"):
        create_embedder(server.url).embed_documents(["a"])
    assert time.monotonic() - start < 10
    assert len(server.requests) == 1


@loop_over("status", [429, 502, 503, 504])
def test_temporary_failure_is_retried(server: EmbeddingServer, status: int) -> None:
    server.requests.clear()
    server.answers += [Answer({}, status), Answer({}, status, {"retry-after": "0"})]
    assert create_embedder(server.url).embed_documents(["a"]).shape == (1, 4)
    assert len(server.requests) == 3


def test_question_is_not_retried(server: EmbeddingServer) -> None:
    server.answers.append(Answer({}, 503))
    with pytest.raises(EmbeddingUnavailable, match="status 503"):
        create_embedder(server.url).embed_query("a")
    assert len(server.requests) == 1


@loop_over("status", [429, 503])
def test_long_retry_after_is_reported_at_once(server: EmbeddingServer, status: int) -> None:
    server.requests.clear()
    server.answers.append(Answer({}, status, RETRY_LATER))
    with pytest.raises(EmbeddingUnavailable) as error:
        create_embedder(server.url).embed_documents(["a"])
    assert error.value.retry_after_s == 3_600
    assert len(server.requests) == 1


def test_rate_limit_without_delay_has_no_delay(server: EmbeddingServer) -> None:
    server.answers += [Answer({}, 429)] * 3
    with pytest.raises(EmbeddingUnavailable, match="rate limit") as error:
        create_embedder(server.url).embed_documents(["a"])
    assert error.value.retry_after_s is None
    assert not error.value.is_permanent


@loop_over(
    "status, is_permanent",
    [
        *((status, True) for status in (400, 413, 422)),
        *((status, False) for status in (304, 401, 402, 403, 404, 405, 409, 429, 500)),
    ],
)
def test_error_status_is_described_without_the_key(
    server: EmbeddingServer, status: int, is_permanent: bool
) -> None:
    server.answers[:] = [Answer({"error": {"message": f"no: {KEY}, sk-...{KEY[-6:]}"}}, status)]
    with pytest.raises(EmbeddingUnavailable, match=str(status)) as error:
        create_embedder(server.url).embed_query("a")
    assert error.value.is_permanent == is_permanent
    assert error.value.fix
    text = "".join(traceback.format_exception(error.value)) + f"{error.value.details}{error.value.fix}"
    assert KEY not in text
    assert status not in (401, 403) or KEY[-6:] not in text
    for word in ("forge", "token", "pull request", "repository"):
        assert word not in error.value.message.lower() + error.value.fix.lower()


def test_key_is_in_no_log_and_no_representation(
    server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = create_embedder(server.url)
    server.answers.append(Answer({"error": KEY}, 401))
    with pytest.raises(EmbeddingUnavailable):
        embedder.embed_query("a")
    embedder.embed_query("a")
    options = ProviderOptions("http", "small", server.url, KEY)
    assert KEY not in f"{caplog.text}{caplog.records}{embedder!r}{vars(embedder)}{options!r}"


def test_key_of_other_characters_is_an_error() -> None:
    for key in ("two words", "line\nbreak", "clé", "\udcff"):
        with pytest.raises(InvalidProvider, match="key") as error:
            create_embedder("https://api.example.com/v1", key=key)
        assert key not in "".join(traceback.format_exception(error.value))
        assert error.value.fix


def test_redirect_to_another_host_is_refused(server: EmbeddingServer) -> None:
    with run_embedding_server() as other:
        for status in (301, 302, 303, 307, 308):
            server.answers.append(Answer({}, status, {"location": f"{other.url}/embeddings"}))
            with pytest.raises(EmbeddingUnavailable, match=r"redirects (to another host|too often)"):
                create_embedder(server.url).embed_query("a")
        assert other.requests == []


def test_redirect_within_the_host_is_followed(server: EmbeddingServer) -> None:
    server.answers.append(Answer({}, 308, {"location": "/v2/embeddings"}))
    assert create_embedder(server.url).embed_query("a").shape == (1, 4)
    assert [request.path for request in server.requests] == ["/v1/embeddings", "/v2/embeddings"]
    server.answers += [Answer({}, 307, {"location": "/v1/embeddings"})] * 9
    with pytest.raises(EmbeddingUnavailable, match="too often"):
        create_embedder(server.url).embed_query("a")


def test_slow_answer_ends_at_the_total_limit(server: EmbeddingServer) -> None:
    server.answers += [Answer(b" " * 1_000, is_slow=True)] * 2
    limits = QUESTION_LIMITS._replace(total_s=0.3)
    embedder = create_embedder(server.url, document_limits=limits, question_limits=limits)
    for embed in (lambda: embedder.embed_query("a"), lambda: embedder.embed_documents(["a"])):
        start = time.monotonic()
        with pytest.raises(EmbeddingUnavailable, match=r"more than 0\.3 seconds"):
            embed()
        assert time.monotonic() - start < 5


def test_closed_port_is_an_error() -> None:
    with socket.socket() as probe:
        # A socket that binds but does not listen reserves the port.
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(EmbeddingUnavailable, match="no connection"):
            create_embedder(f"http://127.0.0.1:{probe.getsockname()[1]}").embed_query("a")


def test_self_signed_certificate_is_an_error(tmp_path: Path) -> None:
    with run_embedding_server(create_tls(tmp_path)) as server:
        with pytest.raises(EmbeddingUnavailable, match="its certificate is invalid"):
            create_embedder(server.url).embed_query("a")
        assert server.requests == []


def create_tls(folder: Path) -> ssl.SSLContext:
    """Return the settings of a server with a self-signed certificate."""
    private_key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, private_key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(private_key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    file = folder / "server.pem"
    file.write_bytes(
        private_key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(encoding)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@loop_over(
    "url, reason",
    [
        ("", "must begin with https://"),
        ("api.example.com/v1", "must begin with https://"),
        ("ftp://api.example.com/v1", "must begin with https://"),
        ("ssh://api.example.com/v1", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https://", "must begin with https://"),
        ("https://api.example.com:99999", "must begin with https://"),
        ("https://api.example.com\n/v1", "must begin with https://"),
        ("http://api.example.com/v1", "outside a private network"),
        ("http://localhost.example.com/v1", "outside a private network"),
        ("http://8.8.8.8/v1", "outside a private network"),
        ("http://134744072/v1", "outside a private network"),
        ("http://0x08080808/v1", "outside a private network"),
        ("http://[2001:4860:4860::8888]/v1", "outside a private network"),
        ("http://[::ffff:8.8.8.8]/v1", "outside a private network"),
        ("https://ana:secret@api.example.com", "must not contain a key"),
        (f"https://{KEY}@api.example.com", "must not contain a key"),
        ("https://@api.example.com", "must not contain a key"),
        ("http://127.0.0.1@api.example.com", "must not contain a key"),
        ("https://api.example.com/v1?key=secret", "must not contain a key"),
        ("https://api.example.com/v1?", "must not contain a key"),
        ("https://api.example.com/v1#secret", "must not contain a key"),
        ("https://api.example.com\\v1", "invalid character or host"),
        ("https://api example.com/v1", "invalid character or host"),
        ("https://exämple.com/v1", "invalid character or host"),
        ("https://example.com/ä", "invalid character or host"),
        ("https://a%zz.com/v1", "invalid character or host"),
    ],
)
def test_unsafe_url_is_an_error(url: str, reason: str) -> None:
    with pytest.raises(InvalidProvider, match=reason) as error:
        create_embedder(url)
    assert error.value.fix
    assert error.value.details["field"] == "url"
    assert "secret" not in str(error.value)
    assert KEY not in str(error.value)


def test_safe_url_is_accepted() -> None:
    for url in (
        "https://api.example.com",
        "HTTPS://API.example.com:8443/v1/",
        "https://10.0.0.7/v1",
        "https://[2001:db8::1]/v1",
        "http://localhost:11434/v1",
        "http://127.0.0.1:8080",
        "http://[::1]:8080/v1",
        "http://192.168.1.5:11434/v1",
        "http://[fd00::7]/v1",
        "http://text-embeddings:8080/v1",
        "http://embeddings.default.svc.cluster.local/v1",
    ):
        create_embedder(url).close()


def test_question_does_not_wait_for_documents(server: EmbeddingServer) -> None:
    embedder, start = create_embedder(server.url), threading.Event()
    server.answers.append(Answer({"data": [{"embedding": [1]}]}, start=start))
    with ThreadPoolExecutor() as pool:
        documents = pool.submit(embedder.embed_documents, ["a"])
        wait_for_requests(server, 1)
        assert embedder.embed_query("b").shape == (1, 4)
        assert not documents.done()
        start.set()
        assert documents.result(10).shape == (1, 1)


def test_questions_do_not_wait_for_each_other(server: EmbeddingServer) -> None:
    embedder, start = create_embedder(server.url), threading.Event()
    server.answers += [Answer({"data": [{"embedding": [1]}]}, start=start)] * 3
    with ThreadPoolExecutor() as pool:
        slow_questions = [pool.submit(embedder.embed_query, f"{number}") for number in range(3)]
        wait_for_requests(server, 3)
        assert embedder.embed_query("b").shape == (1, 4)
        start.set()
        assert [question.result(10).shape for question in slow_questions] == [(1, 1)] * 3


def test_threads_receive_the_vectors_of_their_texts(server: EmbeddingServer) -> None:
    embedder = create_embedder(server.url)
    with ThreadPoolExecutor(12) as pool:
        questions = pool.map(embedder.embed_query, TEXTS)
        documents = pool.map(embedder.embed_documents, [[text, f"{text}!"] for text in TEXTS])
        for text, question, document in zip(TEXTS, questions, documents, strict=True):
            assert np.allclose(question, [compute_vector(text)])
            assert np.allclose(document, [compute_vector(text), compute_vector(f"{text}!")])


def test_closed_embedder_is_an_error_after_running_calls(server: EmbeddingServer) -> None:
    embedder, start = create_embedder(server.url), threading.Event()
    server.answers.append(Answer({"data": [{"embedding": [1]}]}, start=start))
    with ThreadPoolExecutor() as pool:
        documents = pool.submit(embedder.embed_documents, ["a"])
        wait_for_requests(server, 1)
        embedder.close()
        with pytest.raises(EmbeddingUnavailable, match="is closed"):
            embedder.embed_query("b")
        start.set()
        assert documents.result(10).shape == (1, 1)


def wait_for_requests(server: EmbeddingServer, count: int) -> None:
    deadline = time.monotonic() + 10
    while len(server.requests) < count:
        assert time.monotonic() < deadline, "the server received no request"
        time.sleep(0.005)


def test_refused_text_has_zeros_and_the_others_vectors(server: EmbeddingServer) -> None:
    server.refused_word = "forbidden"
    texts = [f"text {number}" for number in range(64)]
    texts[37] = "a forbidden text"
    texts[5] = "\n"
    vectors, refused_count = Provider(create_embedder(server.url)).embed_sections(texts, 4)
    assert refused_count == 1
    assert [number for number, vector in enumerate(vectors) if not vector.any()] == [5, 37]
    for number in (0, 36, 38, 63):
        expected = np.array(compute_vector(texts[number]))
        assert vectors[number] @ expected / np.linalg.norm(expected) > 0.999
    assert len(server.requests) < 20
    assert "\n" not in server.requests[0].body["input"]


def test_only_refused_texts_have_zeros(server: EmbeddingServer) -> None:
    server.refused_word = "forbidden"
    provider = Provider(create_embedder(server.url))
    for texts in (["a forbidden text"], ["a forbidden text", "another forbidden text"]):
        vectors, refused_count = provider.embed_sections(texts, 4)
        assert refused_count == len(texts)
        assert not vectors.any()
    assert provider.retries.failure is None


def test_batch_limit_of_the_server_refuses_no_text(server: EmbeddingServer) -> None:
    server.max_batch = 3
    vectors, refused_count = Provider(create_embedder(server.url)).embed_sections(list("abcdefgh"), 4)
    assert refused_count == 0
    assert vectors.any(axis=1).all()


@loop_over("texts", [["a"], ["a", "b", "c"]])
def test_provider_that_refuses_every_text_fails(server: EmbeddingServer, texts: list[str]) -> None:
    server.requests.clear()
    server.refused_word = " " if len(texts) == 1 else ""
    server.answers[:] = [Answer({"error": "no such model"}, 400)] * 2
    provider = Provider(create_embedder(server.url))
    with pytest.raises(EmbeddingUnavailable, match=r"refuses every text: .*no such model") as error:
        provider.embed_sections(texts, 4)
    assert not error.value.is_permanent
    assert provider.retries.remaining_s() > 0  # otherwise the next call would follow at once
    assert len(server.requests) == 2


def test_empty_and_blank_batches_send_no_request(server: EmbeddingServer) -> None:
    provider = Provider(create_embedder(server.url))
    assert provider.embed_sections([], 4)[0].shape == (0, 4)
    assert not provider.embed_sections(["", " \n"], 4)[0].any()
    assert not provider.embed_question(" ", 4).any()
    assert server.requests == []


def test_long_text_and_lone_surrogate_are_sent_in_a_valid_form(server: EmbeddingServer) -> None:
    provider = Provider(create_embedder(server.url), 10)
    provider.embed_question("a" * 10_000_000, 4)
    provider.embed_question("a\ud800b", 4)
    provider.embed(["a\udfffb"], 4)
    assert [len(request.body["input"][0]) for request in server.requests] == [6_000, 3, 3]


def test_refused_question_does_not_delay_others(server: EmbeddingServer) -> None:
    provider = Provider(create_embedder(server.url), 10)
    server.refused_word = "forbidden"
    with pytest.raises(EmbeddingUnavailable, match="the input is invalid"):
        provider.embed_question("a forbidden question", 4)
    assert provider.embed_question("another question", 4).any()
