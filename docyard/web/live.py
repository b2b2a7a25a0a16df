"""Telling pages that are open that something moved: server-sent events (WHATWG HTML §9.2).

A page says which version it shows, so that nothing is missed between its making and its listening. However
many listen, the repository is looked at once a second, and not at all while nobody listens.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread
from starlette.responses import PlainTextResponse, Response, StreamingResponse

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_LISTENERS = 100
"""Pages that may listen at once; a further one is told to come back."""

_INTERVAL = 1.0  # seconds between two looks
_TICK = 0.25  # seconds in which a listener hears of what another one saw, and of the end
_PING = 15.0  # seconds after which a proxy or a browser may think that nobody is there
_RETRY = 3_000  # milliseconds that a browser waits before it comes back
_UNFINISHED = "~"


def format_unfinished_version(version: str) -> str:
    """Return the version for a page without its slow parts: it is notified when they are ready."""
    return version and version + _UNFINISHED


class Watched(Protocol):
    """What pages that are open show, and who listens to it."""

    @property
    def live(self) -> LiveUpdates:
        """Who listens."""

    @property
    def is_reading(self) -> bool:
        """Return True if something is being read yet that pages show when it is known."""

    def state(self) -> tuple[str, str | None]:
        """Return the version of what is served, and the commit of its tip. Raises WorkspaceError."""


class LiveUpdates:
    """The listeners of one server, and the last version that was read."""

    def __init__(self) -> None:
        self.listeners = 0
        self._version = ""
        self._commit: str | None = None
        self._looked = float("-inf")
        self._is_looking = False
        self._is_over = False

    def close(self) -> None:
        """End all streams on shutdown. May be called from any thread."""
        self._is_over = True

    async def events(self, site: Watched, known: str) -> AsyncIterator[str]:
        """Yield the events for a page with the version `known`, until the server stops.

        Raises nothing: if the repository cannot be read, there is no event.
        """
        if self.listeners >= MAX_LISTENERS:  # many came at the same moment
            return
        self.listeners += 1
        try:
            yield f"retry: {_RETRY}\n\n"
            sent = time.monotonic()
            while not self._is_over:
                await self._look(site)
                if self._version and self._version != known and not _is_awaited(site, self._version, known):
                    known = self._version
                    yield _event(known, self._commit)
                    sent = time.monotonic()
                elif time.monotonic() - sent >= _PING:
                    yield ": still here\n\n"
                    sent = time.monotonic()
                await anyio.sleep(_TICK)
        finally:
            self.listeners -= 1

    async def _look(self, site: Watched) -> None:
        """See what the version is, unless another listener did so lately or is doing it."""
        if self._is_looking or time.monotonic() - self._looked < _INTERVAL:
            return
        self._is_looking = True
        try:
            seen = await anyio.to_thread.run_sync(partial(_seen, site))
            if seen is not None:
                self._version, self._commit = seen
        finally:
            self._looked = time.monotonic()
            self._is_looking = False


def _is_awaited(site: Watched, version: str, known: str) -> bool:
    """Return True if a page lacks only what is being read yet."""
    return known == format_unfinished_version(version) and site.is_reading


def _seen(site: Watched) -> tuple[str, str | None] | None:
    from workspace.errors import WorkspaceError

    try:
        return site.state()
    except WorkspaceError:  # whoever opens a page is told why
        return None


def _event(version: str, commit: str | None) -> str:
    data = json.dumps({"commit": commit, "version": version})
    return f"id: {version}\nevent: moved\ndata: {data}\n\n"


def build_events_endpoint(site: Watched) -> Callable[[Request], Any]:
    """Return the endpoint of events. `since` is the page's version, unless the browser reconnects."""

    async def endpoint(request: Request) -> Response:
        if request.method == "HEAD":  # nothing would come, and never end
            return Response(media_type="text/event-stream")
        if site.live.listeners >= MAX_LISTENERS:
            return PlainTextResponse("too many pages listen\n", 503, {"Retry-After": "60"})
        known = request.headers.get("last-event-id") or request.query_params.get("since", "")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = site.live.events(site, known[:64])
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")

    return endpoint
