"""Notifications about changed tools, prompts and resources, in both protocol versions.

The values of the taxonomy are part of a tool schema, and a commit may add new values; skills are prompts. A
client with a handshake receives a notification; a stateless client receives it on its stream
(`subscriptions/listen`).

A client with a handshake subscribes to one resource at a time, a stateless client to several on its stream.
The branch is checked after each call. While there is a subscription, it is also checked every second, because
other processes commit too.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.lowlevel import EventLoopToken
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
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
    from tools.dispatcher import Dispatcher
    from tools.resources.list import ListedDocuments
    from tools.resources.watch import ResourceWatch
    from tools.tool import Context

log = logging.getLogger("docyard")
_DEBOUNCE_S = 0.05
"""The delay of a check, so that several calls in a row cause one check."""

_POLL_INTERVAL_S = 1.0
"""The interval between two checks of the branch while there is a subscription."""


class ListAnnouncer:
    """The announcer of changes to a list, such as that of tools, since the client received it.

    `read_list` returns the current list; it runs in a worker and never delays a response. `event` is sent by
    `bus` to streams, and `notify` to the client's session. If several clients share a server, only the bus is
    used. The current list is then compared with the last announced list, and before any announcement with the
    first list that a client received. With `poll_interval_s`, the list is also compared at this interval.
    """

    def __init__(
        self,
        read_list: Callable[[], object],
        workers: Workers,
        bus: SubscriptionBus,
        event: ServerEvent,
        notify: Callable[[ServerSession], Awaitable[None]],
        *,
        is_shared: bool = False,
        poll_interval_s: float | None = None,
    ) -> None:
        self._read_list = read_list
        self._event = event
        self._notify = notify
        self._poll_interval_s = poll_interval_s
        self._is_shared = is_shared
        self._workers = workers
        self._bus = bus
        self._announced_list: object = None
        self._session: ServerSession | None = None
        self._check_event = anyio.Event()
        self._event_loop: EventLoopToken | None = None

    def record_list(self, received_list: object, session: ServerSession) -> None:
        """Record the list that a client received. Notifications start with the first list."""
        if not self._is_shared:
            self._announced_list = received_list
            self._session = session
        elif self._announced_list is None:
            self._announced_list = received_list
        self.schedule()  # the list may have changed since it was read

    def schedule(self) -> None:
        """Schedule a comparison: the list may have changed."""
        self._check_event.set()

    def schedule_from_thread(self) -> None:
        """Schedule a comparison from a thread outside the event loop; nothing happens before `run`."""
        if self._event_loop is not None:
            with suppress(RuntimeError):  # the event loop has ended
                anyio.from_thread.run_sync(self.schedule, token=self._event_loop)

    async def run(self) -> None:
        """Announce changes while the server runs."""
        self._event_loop = anyio.lowlevel.current_token()
        while True:
            # A client lists before it is notified, and each list sets the event.
            with anyio.move_on_after(None if self._announced_list is None else self._poll_interval_s):
                await self._check_event.wait()
                await anyio.sleep(_DEBOUNCE_S)
            self._check_event = anyio.Event()
            try:
                await self._compare()
            except Exception:  # a client that requests the list gets the error
                log.debug("a changed list was not announced", exc_info=True)

    async def _compare(self) -> None:
        if self._announced_list is None:
            return
        current_list = await self._workers.run(self._read_list)
        if current_list == self._announced_list:
            return
        self._announced_list = current_list
        # The SDK sends this notification only to clients with a handshake. Other clients listen on streams.
        if self._session is not None:
            await self._notify(self._session)
        await self._bus.publish(self._event)


class ListAnnouncers:
    """The announcers of the tools and of the prompts of a server.

    `polls_prompts` is True if a commit of another process may change the prompts. Otherwise the server has
    not declared that it announces them, and a session gets no notification.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        workers: Workers,
        bus: SubscriptionBus,
        *,
        polls_prompts: bool,
        is_shared: bool = False,
    ) -> None:
        self.tools = ListAnnouncer(
            dispatcher.definitions,
            workers,
            bus,
            ToolsListChanged(),
            ServerSession.send_tool_list_changed,
            is_shared=is_shared,
        )
        self.prompts = ListAnnouncer(
            lambda: dispatcher.list_prompts().descriptions,
            workers,
            bus,
            PromptsListChanged(),
            ServerSession.send_prompt_list_changed,
            is_shared=is_shared,
            poll_interval_s=_POLL_INTERVAL_S if polls_prompts else None,
        )
        self._announcers = (self.tools, self.prompts) if polls_prompts else (self.tools,)

    def schedule(self) -> None:
        """Schedule comparisons: the lists may have changed."""
        for announcer in self._announcers:
            announcer.schedule()

    async def run(self) -> None:
        """Announce changes while the server runs."""
        async with anyio.create_task_group() as tasks:
            for announcer in self._announcers:
                tasks.start_soon(announcer.run)


Request = ServerRequestContext[Any, Any]


class ResourceSubscriptions:
    """The resource subscriptions of one server's client; `bus` sends events to streams.

    If several clients share a server, only the bus is used, and no session is stored.
    """

    def __init__(self, requests: Requests, bus: SubscriptionBus, *, is_shared: bool = False) -> None:
        self._requests = requests
        self._is_shared = is_shared
        self._bus = bus
        self._listen_handler = ListenHandler(bus)
        self._session: ServerSession | None = None
        self._subscribed_uris: set[str] = set()
        self._stream_count = 0
        self._has_watch = False
        self._has_client_list = False
        self._check_event = anyio.Event()

    @cached_property
    def _watch(self) -> ResourceWatch:
        from tools.resources.watch import ResourceWatch

        self._has_watch = True
        return ResourceWatch(self._requests.context)

    def record_documents(self, documents: ListedDocuments, session: ServerSession) -> None:
        """Record the documents that a client has listed. Notifications start with the first list."""
        if self._is_shared:  # a client of a shared server gets changes on its stream
            return
        self._session = session
        self._watch.record_list(documents)
        self.schedule()

    def schedule(self) -> None:
        """Schedule a check of the branch: it may have changed."""
        self._check_event.set()

    async def subscribe(self, request: Request, params: SubscribeRequestParams) -> EmptyResult:
        """Answer `resources/subscribe`; a second subscription to the same URI has no effect."""
        self._session = request.session
        if params.uri not in self._subscribed_uris:
            self._subscribed_uris.add(params.uri)
            watch = self._watch
            try:
                await self._requests.run(lambda: watch.add(params.uri))
            except MCPError:
                self._subscribed_uris.discard(params.uri)
                raise
            self.schedule()
        return EmptyResult()

    async def unsubscribe(self, request: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        """Answer `resources/unsubscribe`; a URI that is not subscribed is ignored."""
        if params.uri in self._subscribed_uris:
            self._subscribed_uris.discard(params.uri)
            self._watch.discard([params.uri])
        return EmptyResult()

    async def listen(
        self, request: Request, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve a `subscriptions/listen` stream. The acknowledgement omits URIs that name no resource."""
        requested_notifications = params.notifications
        uris = requested_notifications.resource_subscriptions
        if not uris and not requested_notifications.resources_list_changed:
            return await self._listen_handler(request, params)
        watch = self._watch
        watched_uris = await self._requests.run(lambda: watch.add_existing(uris)) if uris else []
        self._stream_count += 1
        try:
            if requested_notifications.resources_list_changed and not (
                self._is_shared and self._has_client_list
            ):
                self._has_client_list = True
                watch.record_list(await self._requests.run_with_context(_read_listed_documents))
            self.schedule()
            accepted_notifications = requested_notifications.model_copy(
                update={"resource_subscriptions": watched_uris or None}
            )
            return await self._listen_handler(
                request, params.model_copy(update={"notifications": accepted_notifications})
            )
        finally:
            self._stream_count -= 1
            watch.discard(watched_uris)

    def close(self) -> None:
        """End all streams."""
        self._listen_handler.close()

    async def run(self) -> None:
        """Announce changes while the server runs."""
        while True:
            with anyio.move_on_after(
                _POLL_INTERVAL_S if self._subscribed_uris or self._stream_count else None
            ):
                await self._check_event.wait()
                await anyio.sleep(_DEBOUNCE_S)
            self._check_event = anyio.Event()
            if self._has_watch and not self._watch.is_idle:
                try:
                    await self._announce_changes()
                except Exception:  # a client that reads the resource gets the error
                    log.debug("changed resources were not announced", exc_info=True)

    async def _announce_changes(self) -> None:
        changes = await self._requests.run(self._watch.find_changes)
        # The SDK sends this notification only to clients with a handshake. Other clients listen on streams.
        for uri in changes.uris:
            if self._session is not None and uri in self._subscribed_uris:
                await self._session.send_resource_updated(uri)
            await self._bus.publish(ResourceUpdated(uri))
        if changes.is_list_changed:
            if self._session is not None:
                await self._session.send_resource_list_changed()
            await self._bus.publish(ResourcesListChanged())


def _read_listed_documents(context: Context) -> ListedDocuments:
    from tools.resources.list import read_listed_documents

    return read_listed_documents(context)
