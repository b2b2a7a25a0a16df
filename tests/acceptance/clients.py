"""Clients of a server process: the SDK's client on an event loop, with recorded events, and a raw client."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import Implementation, ResourceListChangedNotification, ResourceUpdatedNotification

from tests import fork_server
from tests.acceptance.http_server import HttpServer
from tests.acceptance.server import CLIENT_NAME, build_user_environment
from tests.stdio_client import TIMEOUT_S, ProtocolMode, RawClient, connect

RESOURCE_LIST = "list"  # the event of a change of the list of resources
_LONG_LOCK_WAIT_SERVER = str(Path(__file__).with_name("long_lock_wait_server.py"))


def build_long_lock_wait_command(repo: Path, *options: str) -> list[str]:
    """Return the command of a server that waits up to a minute for Git's locks, for tests that hold locks."""
    return [
        *fork_server.build_python_command(),
        _LONG_LOCK_WAIT_SERVER,
        "serve",
        "-C",
        str(repo),
        "--no-fsync",
        *options,
    ]


def start_long_lock_wait_server(repo: Path, home: Path, *options: str) -> RawClient:
    """Start a server that waits up to a minute for Git's locks, and return its raw client."""
    home.mkdir(exist_ok=True)
    return RawClient(build_long_lock_wait_command(repo, *options), build_user_environment(home))


def wait_until(condition: Callable[[], object], name: str) -> None:
    """Wait until a condition is true; `name` describes the condition in the error of a timeout."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, f"timed out waiting for {name}"
        time.sleep(0.005)


class EventRecorder:
    """The events that a client received since the last wait: URIs of changed resources, or RESOURCE_LIST."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._new_event = anyio.Event()

    def record(self, event: str) -> None:
        """Append an event, and resume the waiting task."""
        self.events.append(event)
        self._new_event.set()
        self._new_event = anyio.Event()

    async def wait_for_events(self, *events: str) -> None:
        """Wait for exactly these events, in any order, and clear the record."""
        with anyio.fail_after(TIMEOUT_S):
            while len(self.events) < len(events):
                await self._new_event.wait()
        assert sorted(self.events) == sorted(events)
        self.events.clear()


@asynccontextmanager
async def connect_to_server(
    home: Path,
    protocol: ProtocolMode,
    options: Sequence[str | Path],
    recorder: EventRecorder | None = None,
) -> AsyncIterator[Client]:
    """Start a server and connect to it. `recorder` records the events of a client in the mode `legacy`.

    In other modes, `watch_resources` records the events.
    """

    async def receive(message: object) -> None:
        if recorder is not None and isinstance(message, ResourceUpdatedNotification):
            recorder.record(message.params.uri)
        if recorder is not None and isinstance(message, ResourceListChangedNotification):
            recorder.record(RESOURCE_LIST)

    command = [*fork_server.build_python_command(), "-m", "docyard", "serve", *map(str, options)]
    variables = build_user_environment(home)
    async with connect(command, protocol, name=CLIENT_NAME, variables=variables, receive=receive) as client:
        yield client


@asynccontextmanager
async def connect_over_http(
    server: HttpServer,
    protocol: ProtocolMode,
    token: str | None = None,
    *,
    base_url: str | None = None,
    host: str | None = None,
    elicit: ElicitationFnT | None = None,
) -> AsyncIterator[Client]:
    """Connect to a server over HTTP, or through a proxy with its URL and the public host.

    `elicit` responds to requests for the user.
    """
    headers = {"Authorization": f"Bearer {token or server.token}", **({"Host": host} if host else {})}
    client_info = Implementation(name=CLIENT_NAME, version="1")
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S) as http_client,
        Client(
            streamable_http_client(f"{base_url or server.base_url}/mcp", http_client=http_client),
            mode=protocol,
            client_info=client_info,
            elicitation_callback=elicit,
        ) as client,
    ):
        yield client


@asynccontextmanager
async def watch_resources(
    client: Client, protocol: ProtocolMode, recorder: EventRecorder, uris: Sequence[str]
) -> AsyncIterator[list[str]]:
    """Subscribe to resources, and yield the accepted URIs. Changes of the list of resources are reported too.

    In the mode `legacy`, the list needs no subscription. In other modes, this function records the events.
    """
    if protocol == "legacy":
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

        async def record_events() -> None:
            async for event in events:
                recorder.record(event.uri if isinstance(event, ResourceUpdated) else RESOURCE_LIST)

        tasks.start_soon(record_events)
        yield list(events.honored.resource_subscriptions or [])
        tasks.cancel_scope.cancel()
