"""The endpoint at which the writer of a repository answers calls that other nodes forward.

It needs no token: each call is signed with the secret in the row of the lease (`calls.py`). The node that
sends a call has authenticated its caller, and counts it for limits and records.

The signature covers the body, so any program can make this process read a body by a signature of the right
form. So the bodies of all requests are bounded together.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from docyard.nodes.calls import (
    INVALID_CALL_STATUS,
    MAX_CALL_BYTES,
    NODE_CALL_PATH,
    OTHER_BRANCH_STATUS,
    SIGNATURE_HEADER,
    InvalidNodeCall,
    NodeAnswer,
    NodeCall,
    is_signed,
    sign,
)
from tools.dispatcher import UnknownTool
from tools.errors import build_internal_error
from workspace.lru_cache import LRUCache
from workspace.publishing.after_commit import record_commits

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from docyard.nodes.lease import WriterLease
    from tools.dispatcher import Dispatcher

log = logging.getLogger("docyard")

_MAX_RUNNING_CALLS = 16
_MAX_BUFFERED_BYTES = 4 * MAX_CALL_BYTES  # of the bodies of all requests that are not answered yet
_MAX_CALL_IDS = 10_000
_SIGNATURE = re.compile("[0-9a-f]{64}")
_LENGTH = re.compile("[0-9]{1,20}")


class _Reply(NamedTuple):
    """A response. It is signed if it has the id of the call that it answers."""

    status: int
    body: bytes = b""
    call_id: str | None = None


class _Refused(Exception):
    """A request that is refused with a status before it is a call."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class NodeEndpoint:
    """An application that answers forwarded calls, and passes other requests to `app`."""

    def __init__(
        self, app: ASGIApp, dispatcher: Dispatcher, lease: WriterLease, get_branch: Callable[[], str | None]
    ) -> None:
        self._app = app
        self._dispatcher = dispatcher
        self._lease = lease
        self._get_branch = get_branch
        self._limiter: anyio.CapacityLimiter | None = None
        self._call_ids: LRUCache[str, bool] = LRUCache(_MAX_CALL_IDS)
        self._buffered_bytes = 0  # of the event loop's thread alone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != NODE_CALL_PATH:
            await self._app(scope, receive, send)
            return
        reply = await self._receive(Request(scope, receive))
        headers = {}
        if reply.call_id is not None:
            headers[SIGNATURE_HEADER] = sign(self._lease.secret, reply.body, reply.call_id)
        response = Response(reply.body, reply.status, headers, media_type="application/json")
        await response(scope, receive, send)

    async def _receive(self, request: Request) -> _Reply:
        body = bytearray()
        try:
            signature, declared_length = _check_head(request)
            await self._read_body(request, declared_length, body)
            if not is_signed(signature, self._lease.secret, bytes(body)):
                return _Reply(403)
            if self._limiter is None:
                self._limiter = anyio.CapacityLimiter(_MAX_RUNNING_CALLS)
            return await anyio.to_thread.run_sync(self._answer, bytes(body), limiter=self._limiter)
        except _Refused as refusal:
            return _Reply(refusal.status)
        finally:
            self._buffered_bytes -= len(body)

    async def _read_body(self, request: Request, declared_length: int | None, body: bytearray) -> None:
        """Read a body, and count its bytes. Raises _Refused."""
        try:
            async for chunk in request.stream():
                length = len(body) + len(chunk)
                if declared_length is not None and length > declared_length:
                    raise _Refused(INVALID_CALL_STATUS)
                if length > MAX_CALL_BYTES:
                    raise _Refused(413)
                if self._buffered_bytes + len(chunk) > _MAX_BUFFERED_BYTES:
                    raise _Refused(429)
                body += chunk
                self._buffered_bytes += len(chunk)
        except ClientDisconnect:
            raise _Refused(INVALID_CALL_STATUS) from None
        if declared_length is not None and len(body) < declared_length:
            raise _Refused(INVALID_CALL_STATUS)

    def _answer(self, body: bytes) -> _Reply:
        try:
            node_call = NodeCall.decode(body)
        except InvalidNodeCall as error:
            log.warning("a call of another node is refused: %s", error.message)
            fields = {"code": error.code, "error": error.message, "fix": error.fix}
            return _Reply(INVALID_CALL_STATUS, json.dumps(fields).encode())
        if node_call.branch != self._get_branch():
            return _Reply(OTHER_BRANCH_STATUS)
        if self._call_ids.find(node_call.id) is not None or not self._lease.is_held:
            return _Reply(409)
        self._call_ids.put(node_call.id, True)
        call = node_call.call
        try:
            with record_commits() as record:
                answer = self._dispatcher.call(
                    call.name,
                    call.arguments,
                    client=call.client,
                    person=call.person,
                    may_review=call.may_review,
                    max_tokens=call.max_tokens,
                )
        except UnknownTool:
            return _Reply(404)
        except Exception:  # a bug, whose reference is in the log
            reference = secrets.token_hex(4)
            log.exception("%s failed, reference %s", call.name, reference)
            answer = build_internal_error(call.name, reference)
        return _Reply(200, NodeAnswer(answer, record.commit, record.proposal).encode(), node_call.id)


def _check_head(request: Request) -> tuple[str, int | None]:
    """Return the signature of a request, and the declared length of its body. Raises _Refused.

    The signature is not verified yet, because it covers the body.
    """
    if request.method != "POST":
        raise _Refused(405)
    signature = request.headers.get(SIGNATURE_HEADER, "")
    if not _SIGNATURE.fullmatch(signature):
        raise _Refused(403)
    length = request.headers.get("Content-Length")
    if length is None:
        return signature, None
    if not _LENGTH.fullmatch(length):
        raise _Refused(INVALID_CALL_STATUS)
    if int(length) > MAX_CALL_BYTES:
        raise _Refused(413)
    return signature, int(length)
