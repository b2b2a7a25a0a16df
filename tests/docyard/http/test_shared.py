"""Several clients of one server: a change is told to all who listen, whoever asked for the tools last."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ServerEvent, ToolsListChanged

from docyard.mcp_server.calls import ToolCalls, Workers
from docyard.mcp_server.notifications import ToolListAnnouncer
from tools.registry import UnknownTool

PATIENCE = 60.0  # seconds


class NoChannel:
    """A client that can be told nothing: whatever is tried fails."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called")


@pytest.mark.anyio
async def test_who_listed_before_a_change_hears_of_it_though_another_lists_after() -> None:
    lists = [["one"]]
    heard: list[ServerEvent] = []
    more = anyio.Event()

    def hear(event: ServerEvent) -> None:
        heard.append(event)
        more.set()

    bus = InMemorySubscriptionBus()
    bus.subscribe(hear)
    session = cast(ServerSession, NoChannel())
    async with Workers(1) as workers:
        announcer = ToolListAnnouncer(lambda: lists[-1], workers, bus, is_shared=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(announcer.run)
            announcer.record_list(lists[-1], session)
            lists.append(["one", "two"])
            announcer.record_list(lists[-1], session)
            with anyio.fail_after(PATIENCE):
                await more.wait()
            tasks.cancel_scope.cancel()
    assert heard == [ToolsListChanged()]


class Empty:
    """A toolbox without a tool."""

    def call(self, name: str, arguments: object, **others: Any) -> None:
        raise UnknownTool(name, [])


class Silent:
    """Where progress goes, and nobody looks."""

    async def report_progress(self, *report: object) -> None:
        """Nothing."""


@pytest.mark.anyio
async def test_a_tool_that_is_not_there_is_unknown_with_progress_too() -> None:
    async with Workers(1) as workers:
        with pytest.raises(UnknownTool):
            await ToolCalls(cast(Any, Empty()), workers).call("none", {}, "tester", cast(Any, Silent()))
