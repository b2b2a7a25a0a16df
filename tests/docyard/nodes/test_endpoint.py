"""The endpoint of forwarded calls: what it reads before it refuses a request, and bodies of other forms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docyard.nodes import endpoint as endpoint_module
from docyard.nodes.calls import MAX_CALL_BYTES, NODE_CALL_PATH, SIGNATURE_HEADER, sign
from docyard.nodes.endpoint import NodeEndpoint
from docyard.nodes.lease import WriterLease
from index.postgres.database import Database
from index.service import SearchIndex
from tests import repositories
from tests.loops import loop_over
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

FORGED = "0" * 64
CHUNK = b"x" * 1_000


class Post:
    """A request with a body in chunks. `read_bytes` counts those that the endpoint has read."""

    def __init__(self, chunks: Iterable[bytes], headers: dict[str, str]) -> None:
        self.read_bytes = 0
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self._chunks = iter(chunks)
        self._scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": NODE_CALL_PATH,
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }

    async def send_to(self, app: ASGIApp) -> Post:
        await app(self._scope, self._receive, self._send)
        return self

    async def _receive(self) -> Message:
        chunk = next(self._chunks, b"")
        self.read_bytes += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunk)}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message["body"]


def repeat_chunk() -> Iterator[bytes]:
    """Yield chunks without an end."""
    while True:
        yield CHUNK


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the request is not for the application")


@pytest.fixture
def lease() -> WriterLease:
    """Return a lease that this node does not have; its database is not needed."""
    return WriterLease(Database("postgresql://docyard@127.0.0.1:1/docyard"), "repository")


@pytest.fixture
def endpoint(tmp_path: Path, lease: WriterLease) -> NodeEndpoint:
    repo = repositories.create_repository(tmp_path / "docs", {"page.md": "# Page\n"})
    workspace = Workspace.open(repo.path, durable=False)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), None, False)
    return NodeEndpoint(refuse, dispatcher, lease, lambda: "main")


def post(endpoint: NodeEndpoint, chunks: Iterable[bytes], **headers: str) -> Post:
    return anyio.run(Post(chunks, headers).send_to, endpoint)


@pytest.mark.guarantee
@loop_over("signature", [None, "", "0" * 63, "0" * 65, "g" * 64, f"sha256={FORGED}"])
def test_request_without_a_signature_is_refused_before_its_body_is_read(
    endpoint: NodeEndpoint, signature: str | None
) -> None:
    headers = {} if signature is None else {SIGNATURE_HEADER: signature}
    response = post(endpoint, repeat_chunk(), **headers)
    assert (response.status, response.read_bytes) == (403, 0)


@loop_over("length", ["x", "-1", "1.5", "+1", "1_0", "1" * 20, ""])
def test_length_that_is_invalid_or_too_large_is_refused_before_the_body_is_read(
    endpoint: NodeEndpoint, length: str
) -> None:
    headers = {SIGNATURE_HEADER: FORGED, "content-length": length}
    response = post(endpoint, repeat_chunk(), **headers)
    assert response.status == (413 if length == "1" * 20 else 400)
    assert response.read_bytes == 0


@pytest.mark.guarantee
@loop_over("length", [0, 999, 2_500])
def test_body_is_read_at_most_to_its_declared_length(endpoint: NodeEndpoint, length: int) -> None:
    headers = {SIGNATURE_HEADER: FORGED, "content-length": str(length)}
    response = post(endpoint, repeat_chunk(), **headers)
    assert response.status == 400
    assert response.read_bytes <= length + len(CHUNK)
    too_short = post(endpoint, [b"x" * length], **{**headers, "content-length": str(length + 1)})
    assert too_short.status == 400


@pytest.mark.guarantee
def test_body_without_a_length_is_read_at_most_to_the_limit(endpoint: NodeEndpoint) -> None:
    response = post(endpoint, repeat_chunk(), **{SIGNATURE_HEADER: FORGED})
    assert response.status == 413
    assert response.read_bytes <= MAX_CALL_BYTES + len(CHUNK)


@pytest.mark.guarantee
def test_bodies_of_several_requests_are_bounded_together(
    endpoint: NodeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_module, "_MAX_BUFFERED_BYTES", 3 * len(CHUNK))
    headers = {SIGNATURE_HEADER: FORGED}

    async def post_while_another_body_arrives() -> tuple[Post, Post]:
        other = Post([b"y" * len(CHUNK)] * 3, headers)
        first = Post(iter(()), headers)
        receive_first = first._receive
        is_first = True

        async def receive() -> Message:
            nonlocal is_first
            if is_first:
                is_first = False
                return {"type": "http.request", "body": CHUNK, "more_body": True}
            await other.send_to(endpoint)
            return await receive_first()

        first._receive = receive  # type: ignore[method-assign]
        return await first.send_to(endpoint), other

    first, other = anyio.run(post_while_another_body_arrives)
    assert (first.status, other.status) == (403, 429)
    # The bytes of ended requests do not count.
    assert post(endpoint, [b"y" * len(CHUNK)] * 3, **headers).status == 403


@pytest.mark.guarantee
def test_only_an_answer_to_a_call_is_signed(endpoint: NodeEndpoint, lease: WriterLease) -> None:
    """Otherwise a caller without the secret would get the signature of an empty call."""
    for response in (post(endpoint, [CHUNK]), post(endpoint, [CHUNK], **{SIGNATURE_HEADER: FORGED})):
        assert response.status == 403
        assert SIGNATURE_HEADER.lower() not in response.headers


def encode_call(**changes: Any) -> bytes:
    fields = {
        "id": "0" * 32,
        "branch": "main",
        "tool": "edit_document",
        "arguments": {},
        "client": "",
        "person": None,
        "may_review": True,
        "max_tokens": None,
    }
    return json.dumps({**fields, **changes}).encode()


def post_signed(endpoint: NodeEndpoint, lease: WriterLease, body: bytes) -> Post:
    return post(endpoint, [body], **{SIGNATURE_HEADER: sign(lease.secret, body)})


@pytest.mark.guarantee
@loop_over(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        *(encode_call(id=value) for value in (1, None, [], {}, "", "\ud800", "é", "x" * 65)),
        *(encode_call(branch=value) for value in (1, [], {})),
        *(encode_call(tool=value) for value in (None, 1, [], {})),
        *(encode_call(arguments=value) for value in (None, 1, "x", [])),
        *(encode_call(client=value) for value in (None, 1, [])),
        *(encode_call(person=value) for value in (1, [], {}, "ana", {"token": "ana"})),
        encode_call(person={"token": "ana", "name": "Ana", "email": 1}),
        encode_call(person={"token": "ana", "name": "Ana", "email": "a@example.org", "team": "x"}),
        *(encode_call(may_review=value) for value in (None, 1, "true")),
        *(encode_call(max_tokens=value) for value in ("1", 1.5, True, [], {})),
        encode_call(restriction_of_a_later_version=True),
        encode_call().replace(b'"client"', b'"\\ud800"'),
    ],
)
def test_signed_call_of_another_form_is_a_bad_request_with_its_reason(
    endpoint: NodeEndpoint, lease: WriterLease, body: bytes
) -> None:
    response = post_signed(endpoint, lease, body)
    assert response.status == 400, response.body
    error = json.loads(response.body)
    assert error["code"] == "INVALID_NODE_CALL"
    assert "version" in error["fix"]


def test_signed_call_of_the_right_form_is_refused_only_because_the_node_does_not_write(
    endpoint: NodeEndpoint, lease: WriterLease
) -> None:
    person = {"token": "ana", "name": "Ana \ud800", "email": "ana@example.org"}
    for body in (encode_call(), encode_call(person=person, max_tokens=900)):
        assert post_signed(endpoint, lease, body).status == 409
