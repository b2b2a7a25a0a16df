"""Clients of a real server: the SDK's own on an event loop, with what it hears, and one by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import Client
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from tests import warm
from tests.acceptance.server import CLIENT, surroundings
from tests.stdio_client import PATIENCE, ByHand, Era, connect

LIST = "list"
_PATIENT = str(Path(__file__).with_name("patient_server.py"))


def patient_command(repo: Path, *options: str) -> list[str]:
    """Return the command of a server that is patient with locks that a test holds."""
    return [*warm.python(), _PATIENT, "serve", "-C", str(repo), "--no-fsync", *options]


def patient(repo: Path, home: Path, *options: str) -> ByHand:
    """Start such a server, and a client that speaks by hand."""
    home.mkdir(exist_ok=True)
    return ByHand(patient_command(repo, *options), surroundings(home))


def until(is_so: Callable[[], object], what: str) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.005)


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
    variables = surroundings(home)
    async with connect(command, era, name=CLIENT, variables=variables, receive=receive) as client:
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
