"""A server of embeddings for tests: it records requests, and returns good answers or those of a test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, NamedTuple

BYTE_INTERVAL_S = 0.05


class ReceivedRequest(NamedTuple):
    """A recorded request."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Answer:
    """One answer of the server: JSON of `content`, or `content` itself if it is bytes.

    With `start`, the answer waits for this event. With `is_slow`, its bytes are sent one by one. `length`
    replaces the number of bytes in the header.
    """

    content: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    start: threading.Event | None = None
    is_slow: bool = False
    length: int | None = None


class EmbeddingServer:
    """A running server. `answers` are returned in order, and then vectors of four numbers.

    A batch with a text that contains `refused_word`, and one of more than `max_batch` texts, has the status
    400.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[ReceivedRequest] = []
        self.answers: list[Answer] = []
        self.refused_word = ""
        self.max_batch = 1_000

    def build_answer(self, body: Any) -> Answer:
        """Return the answer of a request."""
        if self.answers:
            return self.answers.pop(0)
        texts = body["input"]
        if len(texts) > self.max_batch or (self.refused_word and any(self.refused_word in t for t in texts)):
            return Answer({"error": {"message": "the input is invalid"}}, 400)
        entries = [{"index": n, "embedding": compute_vector(text)} for n, text in enumerate(texts)]
        return Answer({"data": entries})


def compute_vector(text: str) -> list[float]:
    """Return the vector that the server has for a text."""
    return [byte / 255 + 0.01 for byte in blake2b(text.encode(), digest_size=4).digest()]


@contextmanager
def run_embedding_server(tls: SSLContext | None = None) -> Iterator[EmbeddingServer]:
    """Run a server in threads until the end of the test."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            headers = {name.lower(): value for name, value in self.headers.items()}
            embedding_server.requests.append(ReceivedRequest(self.path, headers, body))
            self.send_answer(embedding_server.build_answer(body))

        def send_answer(self, answer: Answer) -> None:
            if answer.start is not None:
                answer.start.wait(30)
            content = answer.content
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            with suppress(OSError):  # the client may have disconnected
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) if answer.length is None else answer.length))
                self.end_headers()
                if answer.is_slow:
                    for byte in data:
                        self.wfile.write(bytes([byte]))
                        time.sleep(BYTE_INTERVAL_S)
                else:
                    self.wfile.write(data)
            self.close_connection = answer.length is not None

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """Log nothing: a client may end a connection at any time."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    embedding_server = EmbeddingServer(f"{scheme}://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield embedding_server
    finally:
        server.shutdown()
        server.server_close()
