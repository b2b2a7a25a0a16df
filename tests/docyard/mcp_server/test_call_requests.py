"""Requests to call a tool: requests that the SDK refuses, and responses that the client reads late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_PARAMS

from tests.stdio_client import REQUEST_META, RawClient, build_serve_command

pytestmark = pytest.mark.process


def test_late_reader_gets_each_response_once(repo: Path) -> None:
    """Fill the pipe with responses while the client still writes; the client reads after all requests."""
    server = RawClient(build_serve_command(repo))
    server.call(0, "search_docs", {"query": "backoff"})
    numbers = range(1, 401)
    for number in numbers:
        params = {"name": "search_docs", "arguments": {"query": "backoff jitter"}}
        request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        server.send(json.dumps(request).encode())
    server.send(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    responses = [server.receive() for _ in range(len(numbers) + 1)]
    assert sorted(response["id"] for response in responses if response["id"] != "last") == list(numbers)
    results = [response["result"] for response in responses if response["id"] != "last"]
    assert all(result == results[0] for result in results)
    assert results[0]["structuredContent"]["hits"]
    assert server.close() == ""


@pytest.mark.parametrize(
    "params",
    [
        {"name": 1, "arguments": {}},
        {"arguments": {}},
        {"name": "search_docs", "arguments": "backoff"},
        {"name": "search_docs", "arguments": {"query": "backoff"}, "_meta": 1},
        {"name": "search_docs", "arguments": {"query": "backoff"}, "_meta": {"progressToken": []}},
    ],
)
def test_invalid_call_parameters_are_refused(repo: Path, params: dict[str, Any]) -> None:
    server = RawClient(build_serve_command(repo))
    assert server.request(1, "tools/call", **params)["error"]["code"] == INVALID_PARAMS
    assert server.call(2, "search_docs", {"query": "backoff"})["result"]["structuredContent"]["hits"]
    server.close()


@pytest.mark.parametrize(("level", "is_refused"), [("debug", False), ("bogus", True), (1, True)])
def test_log_level_in_envelope_is_validated(repo: Path, level: object, is_refused: bool) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    meta = {**REQUEST_META, "io.modelcontextprotocol/logLevel": level}
    response = server.request(1, "tools/call", name="search_docs", arguments={"query": "backoff"}, _meta=meta)
    assert (response.get("error", {}).get("code") == INVALID_PARAMS) is is_refused
    server.close()


@pytest.mark.parametrize(
    "change",
    [
        {"io.modelcontextprotocol/protocolVersion": "1999-01-01"},
        {"io.modelcontextprotocol/protocolVersion": 1},
        {"io.modelcontextprotocol/clientInfo": {"name": "by hand"}},
        {"io.modelcontextprotocol/clientCapabilities": [], "more": 1},
        {"io.modelcontextprotocol/logLevel": "bogus"},
    ],
)
def test_changed_envelope_is_validated(repo: Path, change: dict[str, Any]) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    fields: dict[str, Any] = {"name": "search_docs", "arguments": {"query": "backoff jitter"}}
    results = [
        server.request(number, "tools/call", **fields, _meta=REQUEST_META)["result"] for number in range(4)
    ]
    assert all(result == results[0] for result in results)
    assert results[0]["structuredContent"]["hits"]
    assert "error" in server.request(4, "tools/call", **fields, _meta=REQUEST_META | change)
    assert "error" in server.request(5, "tools/call", **fields)
    other_meta = {
        **REQUEST_META,
        "io.modelcontextprotocol/clientInfo": {"name": "another", "version": "2"},
    }
    for number, meta in enumerate((other_meta, REQUEST_META, other_meta), 6):
        assert server.request(number, "tools/call", **fields, _meta=meta)["result"] == results[0]
    server.close()


def test_call_before_handshake_is_refused(repo: Path) -> None:
    server = RawClient(build_serve_command(repo), handshake=False)
    assert server.call(1, "search_docs", {"query": "backoff"})["error"]["code"] == INVALID_PARAMS
    server.close()


def test_unknown_tool_returns_protocol_error(repo: Path) -> None:
    server = RawClient(build_serve_command(repo))
    error = server.call(1, "search_doc", {})["error"]
    assert (error["code"], error["data"]["nearest"][0]) == (INVALID_PARAMS, "search_docs")
    server.close()
