"""What a server answers on its event loop: a plain search of an open index at the tip, and no more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from docyard.protocol.calls import Calls
from docyard.protocol.workers import Workers
from index.service import SearchIndex
from tests.docyard.conftest import Git
from tools.registry import Toolbox
from workspace.sight import Sight
from workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

PLAIN: dict[str, Any] = {"query": "backoff jitter"}


class Server:
    """The calls of one server."""

    def __init__(self, repo: Path, workers: Workers, sight: Sight | None) -> None:
        self.workspace = Workspace.open(repo, durable=False)
        self.index = SearchIndex(self.workspace)
        self.toolbox = Toolbox(self.workspace, self.index, None, False)
        self.workers = workers
        self.calls = Calls(self.toolbox, workers, sight)

    async def ask(self, tool: str = "search_docs", **arguments: Any) -> tuple[dict[str, Any], bool]:
        """What a tool answers, and whether that was done at once."""
        result = self.calls.at_once(tool, arguments)
        if result is not None:
            return result, True
        return await self.calls.call(tool, arguments, "tests", None), False


@pytest.fixture
def server(repo: Path) -> Iterator[Server]:
    with Workers(2) as workers:
        server = Server(repo, workers, Sight())
        yield server
        server.index.close()


async def test_a_plain_search_is_answered_at_once_as_by_a_worker(server: Server) -> None:
    first, was_at_once = await server.ask(**PLAIN)
    assert not was_at_once  # there was no index
    again, is_at_once = await server.ask(**PLAIN)
    assert is_at_once
    assert again == first
    assert again["structuredContent"]["hits"][0]["chunk_id"] == "guide.md#retries"


@pytest.mark.parametrize(
    "asked",
    [
        {"query": '"exponential backoff"'},
        {"query": "backoff", "path": "guide.md"},
        {"query": "backoff", "type": "document"},
        {"query": "backoff", "ref": "HEAD"},
        {"query": "nothing_like_this"},
        {"query": ""},
        {"query": "backoff", "limit": 0},
        {"query": "backoff", "cursor": "AAAA"},
        {"query": " ".join(f"word{number}" for number in range(40)) + " backoff"},
        {},
    ],
)
async def test_what_may_take_longer_goes_to_a_worker(server: Server, asked: dict[str, Any]) -> None:
    await server.ask(**PLAIN)
    _, is_at_once = await server.ask(**asked)
    assert not is_at_once


async def test_other_tools_go_to_a_worker(server: Server) -> None:
    await server.ask(**PLAIN)
    assert not (await server.ask("get_doc", chunk_id="guide.md#retries"))[1]
    assert not (await server.ask("view_document", file="guide.md"))[1]


async def test_a_branch_that_moved_is_followed_by_a_worker(server: Server, repo: Path, git: Git) -> None:
    await server.ask(**PLAIN)
    (repo / "guide.md").write_text("# Guide\n\nA flywheel.\n")
    git("commit", "-qam", "Another guide")
    found, is_at_once = await server.ask(query="flywheel")
    assert not is_at_once
    assert found["structuredContent"]["commit"] == git("rev-parse", "HEAD")
    assert (await server.ask(query="flywheel"))[1]


async def test_what_the_remote_lacks_is_counted_by_a_worker(server: Server, git: Git) -> None:
    await server.ask(**PLAIN)
    git("remote", "add", "origin", "../elsewhere.git")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert not (await server.ask(**PLAIN))[1]
    assert (await server.ask(**PLAIN))[1]
    git("commit", "-q", "--allow-empty", "-m", "Nothing")
    server.index.follow()
    counted, was_at_once = await server.ask(**PLAIN)
    again, is_at_once = await server.ask(**PLAIN)
    assert (was_at_once, is_at_once) == (False, True)
    assert counted["structuredContent"]["unpushed"]["commits"] == 1
    assert again == counted


async def test_nothing_is_tried_while_a_worker_is_busy(server: Server) -> None:
    await server.ask(**PLAIN)
    begun, go_on = threading.Event(), threading.Event()

    def busy() -> None:
        begun.set()
        assert go_on.wait(20)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.workers.run, busy)
        while not begun.is_set():
            await anyio.sleep(0.01)
        found, is_at_once = await server.ask(**PLAIN)
        go_on.set()
    assert not is_at_once
    assert found["structuredContent"]["hits"]


async def test_nothing_is_tried_where_several_clients_are_served(repo: Path) -> None:
    with Workers(2) as workers:
        server = Server(repo, workers, None)
        await server.ask(**PLAIN)
        assert not (await server.ask(**PLAIN))[1]
        server.index.close()


async def test_a_bug_at_once_is_answered_by_the_worker(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await server.ask(**PLAIN)
    monkeypatch.setattr(server.index._live.engine, "search", lambda *args, **options: 1 / 0)
    with caplog.at_level(logging.CRITICAL, "docyard"):
        found, is_at_once = await server.ask(**PLAIN)
    assert not is_at_once
    assert found["structuredContent"]["code"] == "INTERNAL_ERROR"


async def test_damage_is_mended_by_a_worker(server: Server) -> None:
    first, _ = await server.ask(**PLAIN)
    generation = server.index._live.engine.generation()
    assert generation is not None
    [part] = generation.parts
    assert part.segment.stamp is not None
    with part.segment.stamp.file.open("r+b") as file:
        file.truncate(10)
    again, is_at_once = await server.ask(**PLAIN)
    assert not is_at_once
    assert again["structuredContent"]["hits"] == first["structuredContent"]["hits"]
