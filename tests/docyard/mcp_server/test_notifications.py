"""Notifications that the list of tools has changed, in both protocol versions."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification

from tests import fork_server
from tests.docyard.conftest import Git
from tests.docyard.mcp_server.test_stdio import STUB_SERVER
from tests.stdio_client import (
    REQUEST_META,
    ProtocolMode,
    RawClient,
    build_serve_command,
    build_server_environment,
    connect,
    encode_line,
)

pytestmark = [pytest.mark.process, pytest.mark.anyio]

TIMEOUT_S = 60.0
FIRST_LIST_WAIT_S = 2.0  # the first list waits at most this long for the index
SILENCE_S = 0.4  # no message may arrive in this time


class NotificationCounter:
    """A counter of the notifications that a client receives."""

    def __init__(self) -> None:
        self.count = 0
        self._arrival_event = anyio.Event()

    def record(self) -> None:
        self.count += 1
        self._arrival_event.set()
        self._arrival_event = anyio.Event()

    async def wait_for_count(self, expected_count: int) -> None:
        with anyio.fail_after(TIMEOUT_S):
            while self.count < expected_count:
                await self._arrival_event.wait()


@asynccontextmanager
async def connect_listener(
    repo: Path, protocol: ProtocolMode, *options: str
) -> AsyncIterator[tuple[Client, NotificationCounter]]:
    counter = NotificationCounter()

    async def receive(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            counter.record()

    async with connect(build_serve_command(repo, *options), protocol, receive=receive) as client:
        if protocol == "legacy":
            yield client, counter
            return
        async with client.listen(tools_list_changed=True) as events, anyio.create_task_group() as tasks:

            async def record_events() -> None:
                async for event in events:
                    assert event == ToolsListChanged()
                    counter.record()

            tasks.start_soon(record_events)
            yield client, counter
            tasks.cancel_scope.cancel()


async def list_tags(client: Client) -> list[str]:
    tool_list = await client.list_tools(cache_mode="bypass")
    [search] = [tool for tool in tool_list.tools if tool.name == "search_docs"]
    tag_values: list[str] = search.input_schema["properties"]["tags"].get("enum", [])
    return tag_values


@pytest.fixture(params=["auto", "legacy"])
def protocol(request: pytest.FixtureRequest) -> ProtocolMode:
    protocol: ProtocolMode = request.param
    return protocol


async def test_new_tag_is_announced_once(repo: Path, git: Git, protocol: ProtocolMode) -> None:
    async with connect_listener(repo, protocol) as (client, counter):
        assert client.server_capabilities is not None
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        await client.call_tool("search_docs", {"query": "backoff"})
        assert await list_tags(client) == ["backend"]
        await client.call_tool("tag_document", {"file": "guide.md", "tags": ["network"]})
        await client.call_tool("search_docs", {"query": "backoff"})
        await counter.wait_for_count(1)
        assert await list_tags(client) == ["backend", "network"]
        for _ in range(3):
            await client.call_tool("search_docs", {"query": "backoff"})
        await anyio.sleep(SILENCE_S)
        assert counter.count == 1


async def test_commit_without_new_tag_is_not_announced(repo: Path, git: Git) -> None:
    async with connect_listener(repo, "legacy") as (client, counter):
        await client.call_tool("search_docs", {"query": "backoff"})
        await list_tags(client)
        (repo / "more.md").write_text("---\ntags: [backend]\n---\n# More\n\nwords\n")
        git("add", ".")
        git("commit", "--quiet", "--message", "More")
        response = await client.call_tool("search_docs", {"query": "words"})
        assert response.structured_content is not None
        assert response.structured_content["hits"]
        await anyio.sleep(SILENCE_S)
        assert counter.count == 0


async def test_first_index_is_announced(repo: Path, protocol: ProtocolMode) -> None:
    async with connect_listener(repo, protocol) as (client, counter):
        if not await list_tags(client):  # otherwise the index was ready before the first list
            await counter.wait_for_count(1)
        assert await list_tags(client) == ["backend"]


async def test_tags_indexed_by_other_process_are_announced(repo: Path, git: Git) -> None:
    async with connect_listener(repo, "auto") as (client, counter):
        await client.call_tool("search_docs", {"query": "backoff"})
        assert await list_tags(client) == ["backend"]
        (repo / "more.md").write_text("---\ntags: [other]\n---\n# More\n")
        git("add", ".")
        git("commit", "--quiet", "--message", "More")
        subprocess.run(
            [*fork_server.build_python_command(), "-m", "docyard", "index", "rebuild", "-C", str(repo)],
            check=True,
            capture_output=True,
            env=build_server_environment(),
        )
        await client.call_tool("view_document", {"file": "guide.md"})  # does not read the index
        await counter.wait_for_count(1)
        assert await list_tags(client) == ["backend", "other"]


async def read_product(client: Client) -> dict[str, Any]:
    """Return the schema of the argument `product` of a search."""
    tool_list = await client.list_tools(cache_mode="bypass")
    [search] = [tool for tool in tool_list.tools if tool.name == "search_docs"]
    product: dict[str, Any] = search.input_schema["properties"]["product"]
    return product


async def test_first_tool_list_waits_for_values_of_declared_key(
    repo: Path, git: Git, protocol: ProtocolMode
) -> None:
    (repo / "docyard.toml").write_text('[taxonomy.product]\ndescription = "The product."\n')
    (repo / "more.md").write_text("---\nproduct: rocket\n---\n# More\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    async with connect(build_serve_command(repo), protocol) as client:
        start = time.monotonic()
        product = await read_product(client)
        if "enum" not in product:  # on a busy machine, the index takes longer than the wait for it
            assert time.monotonic() - start >= FIRST_LIST_WAIT_S
            with anyio.fail_after(TIMEOUT_S):
                while "enum" not in product:
                    product = await read_product(client)
        assert product == {"type": "string", "description": "The product.", "enum": ["rocket"]}


def test_first_tool_list_does_not_wait_for_long_warm_up(tmp_path: Path) -> None:
    (tmp_path / "awaits").touch()
    server = RawClient([sys.executable, STUB_SERVER, str(tmp_path)])
    server.exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})  # the warm-up takes a minute
    assert (tmp_path / "warming").exists()
    assert server.close() == ""


def test_server_ends_when_listening_client_disconnects(repo: Path) -> None:
    listen = {"notifications": {"toolsListChanged": True}, "_meta": REQUEST_META}
    search = {"name": "search_docs", "arguments": {"query": "backoff"}, "_meta": REQUEST_META}
    server = RawClient(build_serve_command(repo), handshake=False)
    server.write(encode_line({"id": 1, "method": "subscriptions/listen", "params": listen}))
    server.write(encode_line({"id": 2, "method": "tools/call", "params": search}))
    server.close_input()
    responses = server.receive_all()
    assert server.wait_for_exit() == (0, "")
    methods = [response.get("method") for response in responses]
    assert "notifications/subscriptions/acknowledged" in methods
    [result] = [response for response in responses if response.get("id") == 2]
    assert result["result"]["structuredContent"]["hits"]
