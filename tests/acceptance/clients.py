"""The SDK's own client of a real server, for tests that run on an event loop, and what it hears."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import Implementation, ResourceListChangedNotification, ResourceUpdatedNotification

from tests import warm
from tests.acceptance.server import CLIENT, Era, surroundings

PATIENCE = 60.0  # seconds in which what must come has come
LIST = "list"


class Heard:
    """What a client was told of, in order: the URIs of resources, and LIST for the list of them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._more = anyio.Event()

    def hear(self, event: str) -> None:
        self.events.append(event)
        self._more.set()
        self._more = anyio.Event()

    async def until(self, *events: str) -> None:
        """Wait for events, and forget them. No others may have come."""
        with anyio.fail_after(PATIENCE):
            while len(self.events) < len(events):
                await self._more.wait()
        assert sorted(self.events) == sorted(events)
        self.events.clear()


@asynccontextmanager
async def connected(
    home: Path, era: Era, options: Sequence[str | Path], heard: Heard | None = None
) -> AsyncIterator[Client]:
    """A client of a server that is started with these options; `heard` gets what a `legacy` one is sent."""

    async def receive(message: object) -> None:
        if heard is not None and isinstance(message, ResourceUpdatedNotification):
            heard.hear(message.params.uri)
        if heard is not None and isinstance(message, ResourceListChangedNotification):
            heard.hear(LIST)

    command = [*warm.python(), "-m", "docyard", "serve", *map(str, options)]
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(surroundings(home)))
    me = Implementation(name=CLIENT, version="1")
    handler = receive if era == "legacy" else None
    async with Client(stdio_client(parameters), mode=era, client_info=me, message_handler=handler) as client:
        yield client


@asynccontextmanager
async def watching(client: Client, era: Era, heard: Heard, uris: Sequence[str]) -> AsyncIterator[list[str]]:
    """Watch resources and the list of them as the era does it; gives those that are watched."""
    if era == "legacy":
        await client.list_resources()
        for uri in uris:
            await client.subscribe_resource(uri)
        yield list(uris)
        for uri in uris:
            await client.unsubscribe_resource(uri)
        return
    async with (
        client.listen(resources_list_changed=True, resource_subscriptions=uris) as events,
        anyio.create_task_group() as tasks,
    ):

        async def follow() -> None:
            async for event in events:
                heard.hear(event.uri if isinstance(event, ResourceUpdated) else LIST)

        tasks.start_soon(follow)
        yield list(events.honored.resource_subscriptions or [])
        tasks.cancel_scope.cancel()
