"""The part of a node in a call that writes: forwarded, executed here, repeated, or refused."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from docyard.nodes import node as node_module
from docyard.nodes.calls import (
    OTHER_BRANCH_STATUS,
    SIGNATURE_HEADER,
    InvalidNodeCall,
    NodeAnswer,
    NodeCall,
    is_signed,
    sign,
)
from docyard.nodes.lease import Holder
from docyard.nodes.node import Node
from index.postgres.database import Database
from tests import repositories
from tests.databases import postgres  # noqa: F401
from tests.loops import loop_over
from tests.postgres_server import PostgresServer
from tools.dispatcher import WriteCall
from tools.tool import Answer
from workspace.git.remotes.credentials import Access
from workspace.policy.tokens import Person
from workspace.publishing.locks import Busy
from workspace.sync.upstream import ResultUnknown
from workspace.workspace import Workspace

SECRET = "s" * 64
ANA = Person("ana", "Ana Li", "ana@example.org")
CALL = WriteCall("edit_document", {"title": "T \ud800"}, "client", ANA, False, 900)
KEYED_CALL = WriteCall("edit_document", {"title": "T"}, "client", None, True, None, has_key=True)
HERE = Answer({"here": True})


class Receiver:
    """A node that a test plays: `replies` are the statuses of its replies, and 0 closes the connection."""

    def __init__(self, replies: list[int]) -> None:
        self.calls: list[NodeCall] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert is_signed(self.headers[SIGNATURE_HEADER], SECRET, body)
                receiver.calls.append(NodeCall.decode(body))
                status = replies.pop(0)
                if status:
                    answer = NodeAnswer(Answer({"there": True}), None, None).encode()
                    self.send_response(status)
                    self.send_header(SIGNATURE_HEADER, sign(SECRET, answer, receiver.calls[-1].id))
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def url(postgres: PostgresServer) -> str:  # noqa: F811
    return postgres.create_database()


@pytest.fixture
def node(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Yield a node that finds a holder only if the test sets one."""
    remote_repo = repositories.create_bare_repository(tmp_path / "docs.git")
    clone = repositories.clone_repository(remote_repo, tmp_path / "here")
    opened_node = Node(Workspace.open(clone.path, durable=False), Access, Database(url), None)
    monkeypatch.setattr(node_module, "_RETRY_INTERVAL_S", 0.0)
    yield opened_node
    opened_node.close()


Play = Callable[..., Receiver]


@pytest.fixture
def play(node: Node, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    """Return a function that plays the holder with these replies; after them, no other node writes."""
    receivers: list[Receiver] = []

    def play_holder(*replies: int) -> Receiver:
        remaining = list(replies)
        receivers.append(Receiver(remaining))
        holder = Holder("other", receivers[-1].url, SECRET, 7)
        monkeypatch.setattr(node, "_find_other_holder", lambda: holder if remaining else None)
        return receivers[-1]

    yield play_holder
    for receiver in receivers:
        receiver.server.shutdown()
        receiver.server.server_close()


@pytest.mark.process
def test_call_is_forwarded_as_it_is(node: Node, play: Play) -> None:
    receiver = play(200)
    assert node.route(CALL, lambda: HERE).data == {"there": True}
    [call] = receiver.calls
    assert (call.branch, call.call) == ("main", CALL)


@pytest.mark.process
@loop_over("status", [400, 403, 404, 409, 413, 429, OTHER_BRANCH_STATUS])
def test_call_that_was_not_executed_is_executed_here(node: Node, play: Play, status: int) -> None:
    receiver = play(status)
    assert node.route(CALL, lambda: HERE) is HERE
    assert len(receiver.calls) == 1


@pytest.mark.process
def test_call_that_the_writer_does_not_read_is_executed_here(
    node: Node, play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = play(400, 200)
    assert node.route(CALL, lambda: HERE) is HERE
    assert len(receiver.calls) == 1
    assert "version" in caplog.text


@pytest.mark.process
@pytest.mark.guarantee
@loop_over("status", [0, 500, 503])
def test_call_without_a_key_is_sent_once(node: Node, play: Play, status: int) -> None:
    receiver = play(status, 200)
    with pytest.raises(ResultUnknown) as raised:
        node.route(CALL, lambda: HERE)
    assert "unknown" in raised.value.message
    assert "idempotency_key" in raised.value.fix
    assert len(receiver.calls) == 1


@pytest.mark.process
@loop_over("status", [0, 500, 503])
def test_call_with_a_key_is_sent_again(node: Node, play: Play, status: int) -> None:
    receiver = play(status, 200)
    assert node.route(KEYED_CALL, lambda: HERE).data == {"there": True}
    assert len(receiver.calls) == 2


@pytest.mark.process
def test_answer_without_the_signature_does_not_count(
    node: Node, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(200)
    monkeypatch.setattr(sys.modules[__name__], "sign", lambda *arguments: "0" * 64)
    with pytest.raises(ResultUnknown):
        node.route(CALL, lambda: HERE)


@pytest.mark.process
def test_holder_that_does_not_answer_is_busy(
    node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    holder = Holder("other", "http://127.0.0.1:9", SECRET, 7)
    monkeypatch.setattr(node, "_find_other_holder", lambda: holder)
    monkeypatch.setattr(node_module, "_FORWARD_TIME_S", 0.3)
    with pytest.raises(Busy, match="does not answer"):
        node.route(CALL, lambda: HERE)
    assert "can its node_url be reached, http://127.0.0.1:9?" in caplog.text


@loop_over("body", [b"", b"[]", b"{}", b"\xff", json.dumps({"id": 1}).encode(), b"[" * 100_000])
def test_other_bytes_are_no_call_and_no_answer(body: bytes) -> None:
    for decode in (NodeCall.decode, NodeAnswer.decode):
        with pytest.raises(InvalidNodeCall):
            decode(body)


@loop_over(
    ("name", "value"),
    [("data", []), ("text", 1), ("is_error", 1), ("commit", 1), ("proposal", [])],
)
def test_answer_with_other_fields_is_no_answer(name: str, value: object) -> None:
    fields = json.loads(NodeAnswer(HERE, None, None).encode())
    with pytest.raises(InvalidNodeCall, match=name):
        NodeAnswer.decode(json.dumps({**fields, name: value}).encode())
    answer = NodeAnswer.decode(json.dumps({**fields, "field_of_a_later_version": value}).encode())
    assert answer == NodeAnswer(HERE, None, None)


def test_signature_covers_body_secret_and_call() -> None:
    signature = sign(SECRET, b"body", "id")
    assert is_signed(signature, SECRET, b"body", "id")
    others: list[tuple[Any, ...]] = [("t", b"body", "id"), (SECRET, b"other", "id"), (SECRET, b"body", "x")]
    assert not any(is_signed(signature, *arguments) for arguments in others)
    assert not is_signed("é", SECRET, b"body", "id")
