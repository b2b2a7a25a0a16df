"""Arrays as arguments, which are wrapped in an object for the SDK; other messages are unchanged."""

from __future__ import annotations

import json

import pytest

from docyard.mcp_server.arrays import unwrap_array, wrap_array


@pytest.mark.parametrize("array", [[], [{"operation": "add_task", "n": 10**30}], ["é"]])
def test_wrapped_array_is_unwrapped_unchanged(array: list[object]) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": array}}
    wrapped_message = json.loads(wrap_array(json.dumps(message).encode()))
    arguments = wrapped_message["params"].pop("arguments")
    assert unwrap_array(arguments) == array
    assert wrapped_message == {**message, "params": {"name": "a"}}


@pytest.mark.parametrize(
    "message",
    [
        b'{"method": "tools/call", "params": {"arguments": {"arguments": [1]}}}',
        b'{"method": "tools/list", "params": {"arguments": [1]}}',
        b'{"method": "tools/call", "params": {"arguments": [1]}',
        b'{"method": "tools/call", "params": {"arguments": ["\\ud800"]}}',
        b'{"method": "tools/call", "params": {"arguments": ' + b"[" * 100_000,
        b'[{"method": "tools/call", "params": {"arguments": [1]}}]',
        b"\xff",
        b"",
    ],
)
def test_message_without_argument_array_is_unchanged(message: bytes) -> None:
    assert wrap_array(message) == message


@pytest.mark.parametrize("arguments", [{}, {"docyard/array": "text"}, {"arguments": [1]}])
def test_argument_object_is_not_unwrapped(arguments: dict[str, object]) -> None:
    assert unwrap_array(arguments) is arguments
