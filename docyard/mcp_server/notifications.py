"""Notifications about changed tools and resources, in both protocol versions.

The values of the taxonomy are part of a tool schema, and a commit may add new ones. A client with a handshake
receives a notification; a stateless client receives it on its stream (`subscriptions/listen`).

A client with a handshake subscribes to single resources, a stateless client to several at once on its stream.
The branch is checked after each call and, while there is a subscription, every second: other processes commit
too.
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


class ToolListAnnouncer:
    """Compares the list of tools that the client received last with the current one.

    `definitions` returns the current list; it runs in a worker, and never delays a response. `bus` carries
    events to streams. If several clients share a server, only the bus is used: the first list is compared,
    until another one was announced to all streams.
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

    def record_list(self, definitions: object, session: ServerSession) -> None:
        """Record the list that a client received. Without a list there are no notifications."""
        if not self._is_shared:
            self._told = definitions
            self._session = session
        elif self._told is None:
            self._told = definitions
        self.schedule()  # it may have changed while it was on its way

    def schedule(self) -> None:
        """Schedule a comparison: the list may have changed."""
        self._asked.set()

    async def run(self) -> None:
        """Announce changes while the server runs."""
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


class ResourceSubscriptions:
    """The resource subscriptions of one server's client; `bus` carries events to streams.

    If several clients share a server, only the bus is used, and no session is stored.
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

    def record_documents(self, snapshot: Snapshot, session: ServerSession) -> None:
        """Record the documents that a client has listed. Without a list there are no notifications."""
        if self._is_shared:  # who listens says so, and from then on every change is told
            return
        self._session = session
        self._watch.told(snapshot)
        self.schedule()

    def schedule(self) -> None:
        """Schedule a check of the branch: it may have changed."""
        self._asked.set()

    async def subscribe(self, request: Request, params: SubscribeRequestParams) -> EmptyResult:
        """Answer `resources/subscribe`; a second subscription has no effect."""
        self._session = request.session
        if params.uri not in self._subscribed:
            self._subscribed.add(params.uri)
            watch = self._watch
            try:
                await self._requests.run(lambda: watch.add(params.uri))
            except MCPError:
                self._subscribed.discard(params.uri)
                raise
            self.schedule()
        return EmptyResult()

    async def unsubscribe(self, request: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        """Answer `resources/unsubscribe`, also for a URI without a subscription."""
        if params.uri in self._subscribed:
            self._subscribed.discard(params.uri)
            self._watch.discard([params.uri])
        return EmptyResult()

    async def listen(
        self, request: Request, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Answer `subscriptions/listen` to its end. The acknowledgement omits URIs without a resource."""
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
            self.schedule()
            heard = wanted.model_copy(update={"resource_subscriptions": added or None})
            return await self._stream(request, params.model_copy(update={"notifications": heard}))
        finally:
            self._listening -= 1
            watch.discard(added)

    def close(self) -> None:
        """End all streams."""
        self._stream.close()

    async def run(self) -> None:
        """Announce changes while the server runs."""
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
