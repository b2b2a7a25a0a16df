"""Telling a client that the list of tools says something else by now, in both eras of the protocol.

The values of the taxonomy stand in a schema, and a commit may bring new ones. A client of the handshake era
is sent a notification; one of the stateless era hears of it where it listens (`subscriptions/listen`).

Telling a client that a resource it watches has changed, or the list of resources, in both protocol eras.

The handshake era subscribes to one resource after the other, the stateless era to several at once where it
listens (`subscriptions/listen`). The branch is looked at after each call, and every second as long as there
is a subscription: other processes commit too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from docyard.mcp_server.calls import Workers
from docyard.mcp_server.requests import Requests

if TYPE_CHECKING:
    from tools.resources.watch import Watch
    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot

log = logging.getLogger("docyard")


_GATHERED = 0.05  # seconds in which several calls are looked at once


class Announcer:
    """Compares the list that the client was told last with what it would be told now.

    `definitions` gives that list; it runs in a worker, and never holds up an answer. `bus` carries what the
    stateless era listens to. Where several clients share a server, there is only the bus: whichever list was
    told first is compared, until another was announced to all who listen.
    """

    def __init__(
        self,
        definitions: Callable[[], object],
        workers: Workers,
        bus: SubscriptionBus,
        *,
        is_shared: bool = False,
    ) -> None:
        self._definitions = definitions
        self._is_shared = is_shared
        self._workers = workers
        self._bus = bus
        self._told: object = None
        self._session: ServerSession | None = None
        self._asked = anyio.Event()

    def told(self, definitions: object, session: ServerSession) -> None:
        """Note which list a client was given. One that was given none is told of no change."""
        if not self._is_shared:
            self._told = definitions
            self._session = session
        elif self._told is None:
            self._told = definitions
        self.ask()  # it may have changed while it was on its way

    def ask(self) -> None:
        """See to it that the list is compared soon: something may have changed."""
        self._asked.set()

    async def run(self) -> None:
        """Announce changes as long as the server runs."""
        while True:
            await self._asked.wait()
            await anyio.sleep(_GATHERED)
            self._asked = anyio.Event()
            try:
                await self._compare()
            except Exception:  # whoever asks for the list will be told
                log.debug("a change of the tools could not be announced", exc_info=True)

    async def _compare(self) -> None:
        if self._told is None:
            return
        now = await self._workers.run(self._definitions)
        if now == self._told:
            return
        self._told = now
        # The SDK sends the first to clients of the handshake era alone, and only the others can listen.
        if self._session is not None:
            await self._session.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())


Request = ServerRequestContext[Any, Any]


_INTERVAL = 1.0  # seconds between two looks at the branch


class Watching:
    """The subscriptions of one server's client; `bus` carries what the stateless era listens to.

    Where several clients share a server, there is only the bus, and nobody's session is kept.
    """

    def __init__(self, requests: Requests, bus: SubscriptionBus, *, is_shared: bool = False) -> None:
        self._requests = requests
        self._is_shared = is_shared
        self._bus = bus
        self._stream = ListenHandler(bus)
        self._session: ServerSession | None = None
        self._subscribed: set[str] = set()
        self._listening = 0
        self._is_used = False
        self._is_told = False
        self._asked = anyio.Event()

    @cached_property
    def _watch(self) -> Watch:
        from tools.resources.watch import Watch

        self._is_used = True
        return Watch(self._requests.context)

    def told(self, snapshot: Snapshot, session: ServerSession) -> None:
        """Note which documents a client knows of. One that was told of none is told of no change."""
        if self._is_shared:  # who listens says so, and from then on every change is told
            return
        self._session = session
        self._watch.told(snapshot)
        self.ask()

    def ask(self) -> None:
        """See to it that the branch is looked at soon: something may have changed."""
        self._asked.set()

    async def subscribe(self, request: Request, params: SubscribeRequestParams) -> EmptyResult:
        """Answer `resources/subscribe`; doing it twice is doing it once."""
        self._session = request.session
        if params.uri not in self._subscribed:
            self._subscribed.add(params.uri)
            watch = self._watch
            try:
                await self._requests.run(lambda: watch.add(params.uri))
            except MCPError:
                self._subscribed.discard(params.uri)
                raise
            self.ask()
        return EmptyResult()

    async def unsubscribe(self, request: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        """Answer `resources/unsubscribe`, also for what is not watched."""
        if params.uri in self._subscribed:
            self._subscribed.discard(params.uri)
            self._watch.discard([params.uri])
        return EmptyResult()

    async def listen(
        self, request: Request, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Answer `subscriptions/listen` to its end. What is acknowledged leaves out URIs of no resource."""
        wanted = params.notifications
        uris = wanted.resource_subscriptions
        if not uris and not wanted.resources_list_changed:
            return await self._stream(request, params)
        watch = self._watch
        added = await self._requests.run(lambda: watch.add_all(uris)) if uris else []
        self._listening += 1
        try:
            if wanted.resources_list_changed and not (self._is_shared and self._is_told):
                self._is_told = True
                watch.told(await self._requests.answer(_tip))
            self.ask()
            heard = wanted.model_copy(update={"resource_subscriptions": added or None})
            return await self._stream(request, params.model_copy(update={"notifications": heard}))
        finally:
            self._listening -= 1
            watch.discard(added)

    def close(self) -> None:
        """End the streams of those who listen."""
        self._stream.close()

    async def run(self) -> None:
        """Tell of changes as long as the server runs."""
        while True:
            with anyio.move_on_after(_INTERVAL if self._subscribed or self._listening else None):
                await self._asked.wait()
                await anyio.sleep(_GATHERED)
            self._asked = anyio.Event()
            if self._is_used and not self._watch.is_idle:
                try:
                    await self._tell()
                except Exception:  # whoever reads will see it
                    log.debug("a change of resources could not be told", exc_info=True)

    async def _tell(self) -> None:
        changes = await self._requests.run(self._watch.look)
        # The SDK sends the first to clients of the handshake era alone, and only the others can listen.
        for uri in changes.updated:
            if self._session is not None and uri in self._subscribed:
                await self._session.send_resource_updated(uri)
            await self._bus.publish(ResourceUpdated(uri))
        if changes.listed:
            if self._session is not None:
                await self._session.send_resource_list_changed()
            await self._bus.publish(ResourcesListChanged())


def _tip(context: Context) -> Snapshot:
    return context.snapshot()
