"""The state of a server, for load balancers and monitors.

    GET /healthz  200 while the process answers requests
    GET /readyz   200 if the server can answer searches, 503 if not
    GET /metrics  the metrics, if they are enabled

`/healthz` and `/readyz` need no token and no known host name, because a load balancer has neither. Then they
contain no details. The token of monitors, or that of another operator, shows the state of each part.
`/metrics` needs such a token. A client on this machine needs none, unless the server has another host name:
then a proxy may be the client.

A database that cannot be reached does not make a server unready, because searches need none: the status is
then "degraded". Restarts by a load balancer would not repair the database.

A node that shares its indexes with others is not ready while one of them, or the replica that it reads, lags
behind for too long, or while none is open and their database cannot be reached: another node can answer.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.caller import is_operator
from docyard.http.client_address import has_forwarded_headers, is_loopback_client
from docyard.http.host_origin import parse_authority
from docyard.http.refusals import build_refusal
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.service import SharedIndex
    from docyard.telemetry.metrics import Metrics
    from index.live import IndexLag

HEALTH_PATH, READY_PATH, METRICS_PATH = "/healthz", "/readyz", "/metrics"
OPERATION_PATHS = (HEALTH_PATH, READY_PATH, METRICS_PATH)

_CACHE_S = 1.0  # any client can send these requests
_METHODS = ("GET", "HEAD")
_NO_STORE = {"Cache-Control": "no-store"}


class PartState(NamedTuple):
    """The state of a part of a server. `is_required` is True if no search can be answered without it."""

    is_ok: bool
    is_required: bool
    details: Any


class ReadyState(NamedTuple):
    """The state of a server. `status` is "ok", "degraded" or "unavailable"."""

    is_ready: bool
    status: str
    parts: Mapping[str, Any]


class Readiness:
    """The state of a server, read from its parts at most once a second."""

    def __init__(
        self, parts: Mapping[str, Callable[[], PartState]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._parts = parts
        self._clock = clock
        self._lock = threading.Lock()
        self._last: tuple[float, ReadyState] | None = None

    def read(self) -> ReadyState:
        """Return the state. Concurrent requests wait for one reading."""
        with self._lock:
            now = self._clock()
            if self._last is None or now - self._last[0] >= _CACHE_S:
                self._last = (now, self._read_parts())
            return self._last[1]

    def _read_parts(self) -> ReadyState:
        states = {name: read() for name, read in self._parts.items()}
        is_ready = all(state.is_ok for state in states.values() if state.is_required)
        is_whole = all(state.is_ok for state in states.values())
        status = "ok" if is_whole else "degraded" if is_ready else "unavailable"
        return ReadyState(is_ready, status, {name: state.details for name, state in states.items()})


def describe_sources(entries: Sequence[dict[str, Any]]) -> PartState:
    """Return the state of sources: one that can be read is enough. Each entry has a field `available`."""
    availability = [bool(entry["available"]) for entry in entries]
    if availability and not any(availability):
        return PartState(False, True, entries)
    return PartState(all(availability), False, entries)


class IndexReadiness:
    """The readiness of the indexes that this node shares with others.

    An index that lags is updated in the background, because a load balancer sends no searches to a node that
    is not ready. `clock` returns seconds.
    """

    def __init__(
        self,
        list_indexes: Callable[[], Iterable[SharedIndex]],
        max_lag_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._list_indexes = list_indexes
        self._max_lag_s = max_lag_s
        self._clock = clock
        self._lag_start_times: WeakKeyDictionary[SharedIndex, float] = WeakKeyDictionary()
        self._missing_generations: WeakKeyDictionary[SharedIndex, tuple[int, float]] = WeakKeyDictionary()
        self._update_lock = threading.Lock()

    def describe(self) -> PartState:
        """Return the state of the indexes. Those that were not used yet, and those in files, do not count."""
        details: list[dict[str, Any]] = []
        lags: list[IndexLag] = []
        is_lagging = False
        for index in self._list_indexes():
            lag = _read_lag(index)
            if lag is None:
                continue
            lags.append(lag)
            replica_seconds = self._measure_replica_lag(index, lag)
            seconds = max(self._measure_lag(index, lag), replica_seconds or 0.0)
            reasons = list(_explain_lag(lag))
            if replica_seconds is not None:
                reasons.append("the replica of the engine's database is behind the primary server")
            if seconds > self._max_lag_s:
                is_lagging = True
            if reasons:
                details.append({"name": index.name, "reasons": reasons, "seconds": round(seconds)})
        is_closed = bool(lags) and not any(lag.is_open for lag in lags)
        is_unusable = is_closed and not any(lag.is_database_reachable for lag in lags)
        is_ok = not is_lagging and all(lag.is_database_reachable and lag.is_replica_reachable for lag in lags)
        return PartState(is_ok, is_lagging or is_unusable, details)

    def _measure_lag(self, index: SharedIndex, lag: IndexLag) -> float:
        """Return the seconds since the first description in which the index lagged; start an update."""
        if not (lag.is_behind_clone or lag.is_behind_database):
            self._lag_start_times.pop(index, None)
            return 0.0
        if lag.is_behind_clone and self._update_lock.acquire(blocking=False):
            threading.Thread(target=self._update, args=(index,), name="docyard-index", daemon=True).start()
        now = self._clock()
        return now - self._lag_start_times.setdefault(index, now)

    def _measure_replica_lag(self, index: SharedIndex, lag: IndexLag) -> float | None:
        """Return the seconds for which the replica has lacked a generation that was seen; None if it has all.

        A generation that is newer than the one that was seen first does not count yet: a replica that always
        follows after a moment would seem to lag all the time.
        """
        if not lag.is_replica_reachable or lag.head_generation is None:
            self._missing_generations.pop(index, None)  # the primary server is read
            return None
        generation = lag.replica_generation or 0
        missing_generation, start_time = self._missing_generations.get(index, (None, 0.0))
        if missing_generation is None or generation >= missing_generation:
            if generation >= lag.head_generation:
                self._missing_generations.pop(index, None)
                return None
            start_time = self._clock()
            self._missing_generations[index] = (lag.head_generation, start_time)
        return self._clock() - start_time

    def _update(self, index: SharedIndex) -> None:
        try:
            with suppress(WorkspaceError), index.open() as search_index:
                search_index.update_to_tip()
        finally:
            self._update_lock.release()


def _read_lag(index: SharedIndex) -> IndexLag | None:
    """Return the lag of an index; None for one in files, and for a source that cannot be read."""
    from index.live import IndexLag
    from index.port import EngineUnavailable

    try:
        with index.open() as search_index:
            return search_index.read_lag()
    except WorkspaceError as error:
        # A source names the error that made it unavailable as the cause.
        if isinstance(error.__cause__, EngineUnavailable):
            return IndexLag(False, False, False, False)
        return None


def _explain_lag(lag: IndexLag) -> Iterator[str]:
    if not lag.is_database_reachable:
        yield "the engine's database cannot be reached"
    if not lag.is_replica_reachable:
        yield "the replica of the engine's database cannot be reached"
    if lag.is_behind_clone:
        yield "the index is behind the tip of the clone"
    if lag.is_behind_database:
        yield "the clone is behind a commit that another node has indexed"


class HealthMiddleware:
    """Middleware that answers the requests of load balancers and of local monitors, without authentication.

    `token` is that of monitors, or None. `is_proxied` is True if the server has a host name other than this
    machine's.
    """

    def __init__(
        self,
        app: ASGIApp,
        readiness: Readiness,
        metrics: Metrics | None,
        token: str | None,
        *,
        is_proxied: bool,
    ) -> None:
        self._app = app
        self._authorization = None if token is None else f"Bearer {token}".encode()
        self._readiness = readiness
        self._metrics = metrics
        self._is_proxied = is_proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(scope) if scope["type"] == "http" else None
        await (self._app if response is None else response)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        """Return the response; None for a request that must be authenticated, or is for another path."""
        path = scope["path"]
        if path not in OPERATION_PATHS:
            return None
        if scope["method"] not in _METHODS:
            return build_refusal(scope, 405, "the method is not allowed", "Use GET.", {"Allow": "GET, HEAD"})
        if path == HEALTH_PATH:
            return PlainTextResponse("ok\n", headers=_NO_STORE)
        headers = Headers(scope=scope)
        is_monitor = self._has_token(headers)
        if "authorization" in headers and not is_monitor:
            return None
        if path == READY_PATH:
            state = await run_in_threadpool(self._readiness.read)
            return _build_ready_response(state, has_details=is_monitor)
        if self._metrics is not None and (is_monitor or self._is_local_monitor(scope, headers)):
            return await _build_metrics_response(self._metrics)
        return None

    def _has_token(self, headers: Headers) -> bool:
        values = headers.getlist("authorization")
        return (
            self._authorization is not None
            and len(values) == 1
            and hmac.compare_digest(values[0].encode("latin-1"), self._authorization)
        )

    def _is_local_monitor(self, scope: Scope, headers: Headers) -> bool:
        # A page of another site could make a browser send the request, with the host name of that site.
        authority = parse_authority(headers.get("host", ""))
        return (
            not self._is_proxied
            and is_loopback_client(scope)
            and not has_forwarded_headers(scope)
            and authority is not None
            and authority.is_loopback
            and "origin" not in headers
        )


def build_health_routes(readiness: Readiness, metrics: Metrics | None) -> list[Route]:
    """Return the routes of authenticated requests."""

    async def respond_ready(request: Request) -> Response:
        state = await run_in_threadpool(readiness.read)
        return _build_ready_response(state, has_details=is_operator(_get_caller(request)))

    async def respond_metrics(request: Request) -> Response:
        if metrics is None or not is_operator(_get_caller(request)):
            message = "the metrics are for operators"
            fix = "Send the token of an operator, and set telemetry.metrics = true."
            return build_refusal(request.scope, 403, message, fix)
        return await _build_metrics_response(metrics)

    return [Route(READY_PATH, respond_ready), Route(METRICS_PATH, respond_metrics)]


def _get_caller(request: Request) -> Any:
    return getattr(request.state, "caller", None)


def _build_ready_response(state: ReadyState, *, has_details: bool) -> Response:
    data = {"ready": state.is_ready, "status": state.status, **(state.parts if has_details else {})}
    return JSONResponse(data, 200 if state.is_ready else 503, headers=_NO_STORE)


async def _build_metrics_response(metrics: Metrics) -> Response:
    from docyard.telemetry.metrics import CONTENT_TYPE

    return Response(await run_in_threadpool(metrics.render), headers=_NO_STORE, media_type=CONTENT_TYPE)
