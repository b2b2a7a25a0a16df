"""The protocol version of a connection, which depends on its first request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION

from tests.stdio_client import INITIALIZE, REQUEST_META, RawClient, build_serve_command

pytestmark = pytest.mark.process

NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def test_stateless_request_after_handshake_is_refused(repo: Path) -> None:
    server = RawClient(build_serve_command(repo))
    error = server.request(1, "tools/list", _meta=REQUEST_META)["error"]
    assert error["code"] == INVALID_REQUEST
    assert "handshake" in error["message"]
    assert server.request(2, "tools/list")["result"]["tools"]
    server.close()


def test_notification_with_envelope_is_accepted_in_both_versions(repo: Path) -> None:
    server = RawClient(build_serve_command(repo))
    notification = {
        "jsonrpc": "2.0",
        "method": "notifications/initialized",
        "params": {"_meta": REQUEST_META},
    }
    server.send(json.dumps(notification).encode())
    assert server.request(1, "tools/list")["result"]["tools"]
    assert server.close() == ""


def test_handshake_on_stateless_connection_is_refused(repo: Path) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    assert server.request(1, "tools/list", _meta=REQUEST_META)["result"]["tools"]
    assert server.exchange(INITIALIZE)["error"]["code"] == UNSUPPORTED_PROTOCOL_VERSION
    assert server.request(2, "tools/list")["error"]["code"] == INVALID_PARAMS
    assert server.request(3, "tools/list", _meta=REQUEST_META)["result"]["tools"]
    server.close()


def test_handshake_with_envelope_is_accepted(repo: Path) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    params = INITIALIZE["params"]
    assert isinstance(params, dict)
    response = server.exchange({**INITIALIZE, "params": {**params, "_meta": REQUEST_META}})
    assert response["result"]["protocolVersion"] == "2025-11-25"
    server.close()


def test_ping_before_handshake_is_accepted(repo: Path) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    assert server.request(1, "ping")["result"] == {}
    assert server.exchange(INITIALIZE)["result"]["serverInfo"]["name"] == "docyard"
    server.close()


def test_handshake_after_notifications_is_accepted(repo: Path) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    for number in range(2_000):
        notification = {"jsonrpc": "2.0", "method": "notifications/odd", "params": {"number": number}}
        server.send(json.dumps(notification).encode())
    assert server.exchange(INITIALIZE)["result"]["serverInfo"]["name"] == "docyard"
    server.send(NOTIFICATION)
    assert server.call(1, "search_docs", {"query": "backoff"})["result"]["structuredContent"]["hits"]
    assert server.close() == ""


def test_server_exits_when_silent_client_disconnects(repo: Path) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    server.send(NOTIFICATION)
    assert server.close() == ""
    assert server.process.returncode == 0
