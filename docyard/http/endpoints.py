"""The MCP endpoints of a server of organizations: one for each view, started at its first request.

An endpoint knows only the namespaces of its view. It ends when its organization changes, or when many other
views were used since; running requests are completed first.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup, TaskStatus
from starlette.types import Receive, Scope, Send

from docyard import __version__
from docyard.hosting.organization_sources import OrganizationSources
from docyard.hosting.views import View, ViewKey
from docyard.mcp_server.calls import CallObserver, Workers
from docyard.mcp_server.http import READING_WORKER_COUNT, Endpoint, serve_http
from tools.records.problem_reports import ReceiveReport
from tools.retrieval.dispatcher import SourcesDispatcher

log = logging.getLogger("docyard")

MAX_ENDPOINTS = 200
"""The number of endpoints that run at the same time; beyond it one of the largest organization ends."""

_DRAIN_TIMEOUT_S = 30.0

BuildObserver = Callable[[View, SourcesDispatcher], CallObserver | None]
BuildReceiver = Callable[[View], ReceiveReport | None]


@dataclass(eq=False, slots=True)
class _RunningEndpoint:
    """One endpoint, the number of its running requests, and the event that ends it."""

    view: View
    endpoint: Endpoint
    request_count: int = 0
    end_event: anyio.Event = field(default_factory=anyio.Event)
    idle_event: anyio.Event = field(default_factory=anyio.Event)

    def begin_end(self) -> None:
        """End the streams of the endpoint, and the endpoint after its running requests."""
        self.end_event.set()
        self.endpoint.close()
        if self.request_count == 0:
            self.idle_event.set()


class Endpoints:
    """The running endpoints: `async with endpoints.run(): ...`. Use them only on one event loop.

    `build_observer` returns the limits and records of a view with its tools, or None. `build_receiver`
    returns the function that stores the reports of its readers, or None.
    """

    def __init__(
        self,
        hosting: OrganizationSources,
        toolsets: tuple[str, ...] | None = None,
        build_observer: BuildObserver = lambda view, dispatcher: None,
        build_receiver: BuildReceiver = lambda view: None,
    ) -> None:
        self._hosting = hosting
        self._toolsets = toolsets
        self._build_observer = build_observer
        self._build_receiver = build_receiver
        self._running: OrderedDict[ViewKey, _RunningEndpoint] = OrderedDict()
        self._start_lock = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._workers: Workers | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve endpoints until the end of the block, which waits for running calls."""
        async with Workers(READING_WORKER_COUNT) as self._workers, anyio.create_task_group() as self._tasks:
            token = anyio.lowlevel.current_token()

            def end_changed(organization_ids: frozenset[str]) -> None:
                anyio.from_thread.run_sync(self._end_organizations, organization_ids, token=token)

            self._hosting.on_change = end_changed
            try:
                yield
            finally:
                self._hosting.on_change = lambda organization_ids: None
                self.close()
                self._tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End all streams and endpoints."""
        while self._running:
            self._running.popitem()[1].begin_end()

    async def serve(self, view: View, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request for a view; return False, without a response, if the view has changed."""
        running = await self._find_or_start(view)
        if running is None:
            return False
        running.request_count += 1
        try:
            await running.endpoint(scope, receive, send)
            return True
        finally:
            running.request_count -= 1
            if running.request_count == 0 and running.end_event.is_set():
                running.idle_event.set()

    async def _find_or_start(self, view: View) -> _RunningEndpoint | None:
        running = self._find(view)
        if running is not None:
            return running
        async with self._start_lock:
            if (running := self._find(view)) is not None:
                return running
            assert self._tasks is not None
            started: _RunningEndpoint | None = await self._tasks.start(self._run_endpoint, view)
            if started is not None:
                self._running[view.key] = started
                while len(self._running) > MAX_ENDPOINTS:
                    self._running.pop(self._find_excess()).begin_end()
            return started

    def _find_excess(self) -> ViewKey:
        """Return the least recently used endpoint of the organization with the most endpoints.

        Otherwise the callers of one organization with many servers could end the endpoints of all others.
        """
        counts = Counter(running.view.organization.id for running in self._running.values())
        largest_id = counts.most_common(1)[0][0]
        return next(
            key for key, running in self._running.items() if running.view.organization.id == largest_id
        )

    def _find(self, view: View) -> _RunningEndpoint | None:
        running = self._running.get(view.key)
        if running is None or running.view.organization is not view.organization:
            return None
        self._running.move_to_end(view.key)
        return running

    async def _run_endpoint(self, view: View, *, task_status: TaskStatus[_RunningEndpoint | None]) -> None:
        dispatcher = self._hosting.build_dispatcher(view, self._toolsets, self._build_receiver(view))
        if dispatcher is None:
            task_status.started(None)
            return
        running: _RunningEndpoint | None = None
        try:
            async with serve_http(
                dispatcher,
                version=__version__,
                load=lambda: None,
                warm=lambda progress: None,
                observer=self._build_observer(view, dispatcher),
                workers=self._workers,
            ) as endpoint:
                running = _RunningEndpoint(view, endpoint)
                task_status.started(running)
                await running.end_event.wait()
                with anyio.move_on_after(_DRAIN_TIMEOUT_S):
                    await running.idle_event.wait()
        except Exception:
            if running is None:  # the request that starts the endpoint fails
                raise
            # The endpoints of other organizations run in the same group of tasks, and must not end.
            log.exception("an endpoint of the organization '%s' has ended", view.organization.slug)
            if self._running.get(view.key) is running:
                del self._running[view.key]

    def _end_organizations(self, organization_ids: Collection[str]) -> None:
        for key, running in tuple(self._running.items()):
            if running.view.organization.id in organization_ids:
                del self._running[key]
                running.begin_end()
