"""The list of tools of an HTTP server: all clients are notified of changes; a missing tool is an error."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ServerEvent, ToolsListChanged

from docyard.mcp_server.calls import ToolCalls, Workers
from docyard.mcp_server.notifications import ListAnnouncer
from tools.dispatcher import UnknownTool

TIMEOUT_S = 60.0


class SessionWithoutChannel:
    """A session of a client without a notification channel; each use fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called")


@pytest.mark.anyio
async def test_changed_tool_list_is_announced_to_earlier_client() -> None:
    tool_lists = [["one"]]
    events: list[ServerEvent] = []
    announced_event = anyio.Event()

    def record_event(event: ServerEvent) -> None:
        events.append(event)
        announced_event.set()

    bus = InMemorySubscriptionBus()
    bus.subscribe(record_event)
    session = cast(ServerSession, SessionWithoutChannel())
    async with Workers(1) as workers:
        announcer = ListAnnouncer(
            lambda: tool_lists[-1],
            workers,
            bus,
            ToolsListChanged(),
            ServerSession.send_tool_list_changed,
            is_shared=True,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(announcer.run)
            announcer.record_list(tool_lists[-1], session)
            tool_lists.append(["one", "two"])
            announcer.record_list(tool_lists[-1], session)
            with anyio.fail_after(TIMEOUT_S):
                await announced_event.wait()
            tasks.cancel_scope.cancel()
    assert events == [ToolsListChanged()]


class EmptyDispatcher:
    """A dispatcher without a tool."""

    def call(self, name: str, arguments: object, **options: Any) -> None:
        raise UnknownTool(name, [])


class SilentProgress:
    """A progress channel that discards reports."""

    async def report_progress(self, *report: object) -> None:
        """Discard a report."""


@pytest.mark.anyio
async def test_missing_tool_with_progress_raises_unknown_tool() -> None:
    async with Workers(1) as workers:
        with pytest.raises(UnknownTool):
            await ToolCalls(cast(Any, EmptyDispatcher()), workers).call(
                "none", {}, "tester", cast(Any, SilentProgress())
            )
