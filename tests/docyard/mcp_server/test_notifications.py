"""Notifications of a changed list of tools, in both protocol versions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification

from tests import preloaded
from tests.docyard.conftest import Git
from tests.docyard.mcp_server.test_stdio import ODD_SERVER
from tests.stdio_client import (
    ENVELOPE,
    ProtocolVersion,
    RawClient,
    connect,
    encode_line,
    serve_command,
    server_environment,
)

pytestmark = [pytest.mark.process, pytest.mark.anyio]

TIMEOUT_S = 60.0  # seconds to wait for a message
QUIET = 0.4  # seconds without an unexpected message


class Listener:
    """A client of either protocol version that counts notifications."""

    def __init__(self) -> None:
        self.received = 0
        self._more = anyio.Event()

    def record(self) -> None:
        self.received += 1
        self._more.set()
        self._more = anyio.Event()

    async def until(self, count: int) -> None:
        with anyio.fail_after(TIMEOUT_S):
            while self.received < count:
                await self._more.wait()


@asynccontextmanager
async def listening(
    repo: Path, protocol: ProtocolVersion, *options: str
) -> AsyncIterator[tuple[Client, Listener]]:
    listener = Listener()

    async def receive(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            listener.record()

    async with connect(serve_command(repo, *options), protocol, receive=receive) as connected:
        if protocol == "legacy":
            yield connected, listener
            return
        async with connected.listen(tools_list_changed=True) as events, anyio.create_task_group() as tasks:

            async def follow() -> None:
                async for event in events:
                    assert event == ToolsListChanged()
                    listener.record()

            tasks.start_soon(follow)
            yield connected, listener
            tasks.cancel_scope.cancel()


async def tags(connected: Client) -> list[str]:
    listed = await connected.list_tools(cache_mode="bypass")
    [search] = [tool for tool in listed.tools if tool.name == "search_docs"]
    tag_values: list[str] = search.input_schema["properties"]["tags"].get("enum", [])
    return tag_values


@pytest.fixture(params=["auto", "legacy"])
def protocol(request: pytest.FixtureRequest) -> ProtocolVersion:
    protocol: ProtocolVersion = request.param
    return protocol


async def test_new_value_is_announced_once(repo: Path, git: Git, protocol: ProtocolVersion) -> None:
    async with listening(repo, protocol) as (connected, listener):
        assert connected.server_capabilities is not None
        assert connected.server_capabilities.tools is not None
        assert connected.server_capabilities.tools.list_changed
        await connected.call_tool("search_docs", {"query": "backoff"})
        assert await tags(connected) == ["backend"]
        await connected.call_tool("tag_document", {"file": "guide.md", "tags": ["network"]})
        await connected.call_tool("search_docs", {"query": "backoff"})
        await listener.until(1)
        assert await tags(connected) == ["backend", "network"]
        for _ in range(3):
            await connected.call_tool("search_docs", {"query": "backoff"})
        await anyio.sleep(QUIET)
        assert listener.received == 1


async def test_commit_without_new_value_is_not_announced(repo: Path, git: Git) -> None:
    async with listening(repo, "legacy") as (connected, listener):
        await connected.call_tool("search_docs", {"query": "backoff"})
        await tags(connected)
        (repo / "more.md").write_text("---\ntags: [backend]\n---\n# More\n\nwords\n")
        git("add", ".")
        git("commit", "--quiet", "--message", "More")
        response = await connected.call_tool("search_docs", {"query": "words"})
        assert response.structured_content is not None
        assert response.structured_content["hits"]
        await anyio.sleep(QUIET)
        assert listener.received == 0


async def test_first_index_is_announced(repo: Path, protocol: ProtocolVersion) -> None:
    async with listening(repo, protocol) as (connected, listener):
        if not await tags(connected):  # otherwise the index was ready before the first list
            await listener.until(1)
        assert await tags(connected) == ["backend"]


async def test_values_of_other_process_are_announced(repo: Path, git: Git) -> None:
    async with listening(repo, "auto") as (connected, listener):
        await connected.call_tool("search_docs", {"query": "backoff"})
        assert await tags(connected) == ["backend"]
        (repo / "more.md").write_text("---\ntags: [other]\n---\n# More\n")
        git("add", ".")
        git("commit", "--quiet", "--message", "More")
        subprocess.run(
            [*preloaded.python_command(), "-m", "docyard", "index", "rebuild", "-C", str(repo)],
            check=True,
            capture_output=True,
            env=server_environment(),
        )
        await connected.call_tool("view_document", {"file": "guide.md"})  # does not read the index
        await listener.until(1)
        assert await tags(connected) == ["backend", "other"]


async def test_first_list_waits_for_values_of_declared_key(
    repo: Path, git: Git, protocol: ProtocolVersion
) -> None:
    (repo / "docyard.toml").write_text('[taxonomy.product]\ndescription = "The product."\n')
    (repo / "more.md").write_text("---\nproduct: rocket\n---\n# More\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    async with connect(serve_command(repo), protocol) as connected:
        listed = await connected.list_tools()
        [search] = [tool for tool in listed.tools if tool.name == "search_docs"]
        assert search.input_schema["properties"]["product"] == {
            "type": "string",
            "description": "The product.",
            "enum": ["rocket"],
        }


def test_first_list_does_not_wait_for_long_index(tmp_path: Path) -> None:
    (tmp_path / "awaits").touch()
    server = RawClient([sys.executable, ODD_SERVER, str(tmp_path)])
    server.exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})  # the warm-up takes a minute
    assert (tmp_path / "warming").exists()
    assert server.close() == ""


def test_server_ends_when_listening_client_disconnects(repo: Path) -> None:
    listen = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
    search = {"name": "search_docs", "arguments": {"query": "backoff"}, "_meta": ENVELOPE}
    server = RawClient(serve_command(repo), handshake=False)
    server.write(encode_line({"id": 1, "method": "subscriptions/listen", "params": listen}))
    server.write(encode_line({"id": 2, "method": "tools/call", "params": search}))
    server.close_input()
    answers = server.receive_all()
    assert server.wait_for_exit() == (0, "")
    methods = [answer.get("method") for answer in answers]
    assert "notifications/subscriptions/acknowledged" in methods
    [result] = [answer for answer in answers if answer.get("id") == 2]
    assert result["result"]["structuredContent"]["hits"]
