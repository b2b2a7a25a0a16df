"""Server-sent events that notify open pages of changes (WHATWG HTML §9.2).

A page sends the version that it shows, so that no change is missed between its rendering and its listening.
The repository is checked at most once a second for all listeners, and is not checked without listeners.
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
"""The maximum number of listening pages; further pages get a response to retry later."""

_CHECK_INTERVAL_S = 1.0
_TICK_INTERVAL_S = 0.25  # between two checks of a listener for a new version, or for the shutdown
_PING_INTERVAL_S = 15.0  # an idle connection may be closed by a proxy or a browser
_RECONNECT_DELAY_MS = 3_000  # before a browser reconnects
_UNFINISHED_SUFFIX = "~"


def format_unfinished_version(version: str) -> str:
    """Return the version of a page that lacks its slow parts; the page is notified when they are ready."""
    return version and version + _UNFINISHED_SUFFIX


class LiveState(Protocol):
    """The state that open pages show, and its listeners."""

    @property
    def live_updates(self) -> LiveUpdates:
        """Return the listeners."""

    @property
    def has_background_work(self) -> bool:
        """Return True if background work for pages is running."""

    def read_state(self) -> tuple[str, str | None]:
        """Return the version of the served state, and the commit of its tip. Raises WorkspaceError."""


class LiveUpdates:
    """The listeners of one server, and the last version that was read."""

    def __init__(self) -> None:
        self.listener_count = 0
        self._version = ""
        self._commit: str | None = None
        self._last_check = float("-inf")
        self._is_checking = False
        self._is_closed = False

    def close(self) -> None:
        """End all streams on shutdown. May be called from any thread."""
        self._is_closed = True

    async def stream_events(self, site: LiveState, known_version: str) -> AsyncIterator[str]:
        """Yield the events for a page with the version `known_version`, until the server stops.

        While the repository cannot be read, the last version counts as the current one. Beyond MAX_LISTENERS
        listeners, nothing is yielded.
        """
        if self.listener_count >= MAX_LISTENERS:  # several requests arrived at the same time
            return
        self.listener_count += 1
        try:
            yield f"retry: {_RECONNECT_DELAY_MS}\n\n"
            sent_at = time.monotonic()
            while not self._is_closed:
                await self._refresh_version(site)
                if (
                    self._version
                    and self._version != known_version
                    and not _lacks_only_pending_parts(site, self._version, known_version)
                ):
                    known_version = self._version
                    yield _format_event(known_version, self._commit)
                    sent_at = time.monotonic()
                elif time.monotonic() - sent_at >= _PING_INTERVAL_S:
                    yield ": still here\n\n"
                    sent_at = time.monotonic()
                await anyio.sleep(_TICK_INTERVAL_S)
        finally:
            self.listener_count -= 1

    async def _refresh_version(self, site: LiveState) -> None:
        """Read the version, unless it was read less than a second ago, or another listener is reading it."""
        if self._is_checking or time.monotonic() - self._last_check < _CHECK_INTERVAL_S:
            return
        self._is_checking = True
        try:
            state = await anyio.to_thread.run_sync(partial(_read_state, site))
            if state is not None:
                self._version, self._commit = state
        finally:
            self._last_check = time.monotonic()
            self._is_checking = False


def _lacks_only_pending_parts(site: LiveState, version: str, known_version: str) -> bool:
    """Return True if a page lacks only parts that are still being read."""
    return known_version == format_unfinished_version(version) and site.has_background_work


def _read_state(site: LiveState) -> tuple[str, str | None] | None:
    from workspace.errors import WorkspaceError

    try:
        return site.read_state()
    except WorkspaceError:  # the next page shows the error
        return None


def _format_event(version: str, commit: str | None) -> str:
    data = json.dumps({"commit": commit, "version": version})
    return f"id: {version}\nevent: moved\ndata: {data}\n\n"


def build_events_endpoint(site: LiveState) -> Callable[[Request], Any]:
    """Return the endpoint of events.

    The query field `since` is the version of the page. A browser that reconnects sends the version of the
    last event in the header Last-Event-ID.
    """

    async def endpoint(request: Request) -> Response:
        if request.method == "HEAD":  # a stream without events would never end
            return Response(media_type="text/event-stream")
        if site.live_updates.listener_count >= MAX_LISTENERS:
            return PlainTextResponse("too many pages are listening\n", 503, {"Retry-After": "60"})
        known_version = request.headers.get("last-event-id") or request.query_params.get("since", "")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = site.live_updates.stream_events(site, known_version[:64])
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")

    return endpoint
