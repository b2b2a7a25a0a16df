"""The first request decides in which era of the protocol a connection speaks, and it keeps to that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stdio_client import ENVELOPE, INITIALIZE, ByHand, serving

pytestmark = pytest.mark.process

NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def test_stateless_request_after_handshake_is_refused(repo: Path) -> None:
    server = ByHand(serving(repo))
    error = server.request(1, "tools/list", _meta=ENVELOPE)["error"]
    assert error["code"] == -32600
    assert "handshake" in error["message"]
    assert server.request(2, "tools/list")["result"]["tools"]
    server.end()


def test_notification_with_envelope_is_accepted_in_both_versions(repo: Path) -> None:
    server = ByHand(serving(repo))
    odd = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"_meta": ENVELOPE}}
    server.send(json.dumps(odd).encode())
    assert server.request(1, "tools/list")["result"]["tools"]
    assert server.end() == ""


def test_handshake_on_stateless_connection_is_refused(repo: Path) -> None:
    server = ByHand(serving(repo), handshake=False)
    assert server.request(1, "tools/list", _meta=ENVELOPE)["result"]["tools"]
    assert server.ask(INITIALIZE)["error"]["code"] == -32022
    assert server.request(2, "tools/list")["error"]["code"] == -32602
    assert server.request(3, "tools/list", _meta=ENVELOPE)["result"]["tools"]
    server.end()


def test_handshake_with_envelope_is_accepted(repo: Path) -> None:
    server = ByHand(serving(repo), handshake=False)
    params = INITIALIZE["params"]
    assert isinstance(params, dict)
    answer = server.ask({**INITIALIZE, "params": {**params, "_meta": ENVELOPE}})
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    server.end()


def test_ping_before_handshake_is_accepted(repo: Path) -> None:
    server = ByHand(serving(repo), handshake=False)
    assert server.request(1, "ping")["result"] == {}
    assert server.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "docyard"
    server.end()


def test_handshake_after_notifications_is_accepted(repo: Path) -> None:
    server = ByHand(serving(repo), handshake=False)
    for number in range(2_000):
        odd = {"jsonrpc": "2.0", "method": "notifications/odd", "params": {"number": number}}
        server.send(json.dumps(odd).encode())
    assert server.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "docyard"
    server.send(NOTIFICATION)
    assert server.call(1, "search_docs", {"query": "backoff"})["result"]["structuredContent"]["hits"]
    assert server.end() == ""


def test_server_ends_when_silent_client_disconnects(repo: Path) -> None:
    server = ByHand(serving(repo), handshake=False)
    server.send(NOTIFICATION)
    assert server.end() == ""
    assert server.process.returncode == 0
