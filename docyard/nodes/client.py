"""The sending of a call to the node that has the lease.

A call that was sent completely may have been executed even if no answer arrives. So the errors say whether a
call was sent.
"""

from __future__ import annotations

import http.client
import secrets
import selectors
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit

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
from docyard.nodes.lease import Holder
from tools.dispatcher import WriteCall

_CONNECT_TIMEOUT_S = 3.0
_SEND_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 120.0
_READ_TIMEOUT_S = 30.0  # with TLS, the first bytes of the server may be no answer
_CHECK_INTERVAL_S = 1.0
_REFUSED_STATUSES = frozenset((403, 404, 409, 413, 429))
"""The statuses of a call that was not executed: another node writes, or the receiver has other settings."""


class NotForwarded(Exception):
    """The call was not executed: the node does not answer, or does not write any more."""


class OtherBranch(NotForwarded):
    """The call was not executed: the node serves another branch of the repository."""


class OtherForm(NotForwarded):
    """The call was not executed: the node has another version of Docyard, which does not read it."""


class AnswerLost(Exception):
    """The call was sent, and its answer did not arrive. It may have been executed."""


def forward(
    holder: Holder, branch: str | None, call: WriteCall, is_still_holder: Callable[[], bool]
) -> NodeAnswer:
    """Send a call for a branch to the holder of the lease, and return its answer.

    `is_still_holder` is called each second while the answer is missing. Raises NotForwarded, OtherBranch,
    OtherForm, AnswerLost.
    """
    node_call = NodeCall(secrets.token_hex(16), branch, call)
    body = node_call.encode()
    if holder.url is None or len(body) > MAX_CALL_BYTES:
        raise NotForwarded
    connection = _connect(holder.url)
    try:
        try:
            target = urlsplit(holder.url).path.rstrip("/") + NODE_CALL_PATH
            headers = {
                "Content-Type": "application/json",
                SIGNATURE_HEADER: sign(holder.secret, body),
                "Connection": "close",
            }
            connection.request("POST", target, body, headers)
            _wait_for_answer(connection, is_still_holder)
            connection.sock.settimeout(_READ_TIMEOUT_S)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise AnswerLost from error
        if response.status == OTHER_BRANCH_STATUS:
            raise OtherBranch
        if response.status == INVALID_CALL_STATUS:
            raise OtherForm
        if response.status in _REFUSED_STATUSES:
            raise NotForwarded
        signature = response.headers.get(SIGNATURE_HEADER, "")
        if response.status != 200 or not is_signed(signature, holder.secret, answer, node_call.id):
            raise AnswerLost
        try:
            return NodeAnswer.decode(answer)
        except InvalidNodeCall as error:
            raise AnswerLost from error
    finally:
        connection.close()


def _connect(url: str) -> http.client.HTTPConnection:
    """Connect to a node. Raises NotForwarded."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    connection = (
        http.client.HTTPSConnection(
            host, parts.port, timeout=_CONNECT_TIMEOUT_S, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, parts.port, timeout=_CONNECT_TIMEOUT_S)
    )
    try:
        connection.connect()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise NotForwarded from error
    connection.sock.settimeout(_SEND_TIMEOUT_S)
    return connection


def _wait_for_answer(connection: http.client.HTTPConnection, is_still_holder: Callable[[], bool]) -> None:
    """Wait until the answer begins. Raises AnswerLost if the node loses the lease, or after two minutes."""
    deadline = time.monotonic() + _ANSWER_TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        while not selector.select(_CHECK_INTERVAL_S):
            if time.monotonic() > deadline or not is_still_holder():
                raise AnswerLost
