"""The operation of a server: request ids, metrics, access logs, health, and the limit of requests by address.

request -> request id, metrics and access log -> /healthz, /readyz, /metrics -> address of the client
        -> limit by address -> the application: host and origin, authentication, route
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docyard.http.client_address import ForwardedHeadersMiddleware, get_client_address
from docyard.http.health import OPERATION_PATHS, HealthMiddleware, Readiness, build_health_routes
from docyard.http.refusals import MCP_PATH, build_refusal
from docyard.telemetry.logs import ACCESS_LOGGER, FIELDS
from docyard.telemetry.request_ids import REQUEST_ID_HEADER, choose_request_id, set_request_id

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from docyard.limits.addresses import AddressLimit
    from docyard.telemetry.metrics import Metrics

_access_log = logging.getLogger(ACCESS_LOGGER)
# A client can send any text as a method.
_LOGGED_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_ROUTES_BY_PREFIX = {"/static/": "static", "/hooks/": "hooks", "/login": "login", "/.well-known/": "metadata"}


@dataclass(frozen=True, slots=True)
class Operations:
    """The parts of the operation of one server.

    `token` is that of monitors. `trusted_proxies` is None if the headers of proxies are not checked here, as
    in a server without a configuration file.
    """

    readiness: Readiness = field(default_factory=lambda: Readiness({}))
    metrics: Metrics | None = None
    address_limit: AddressLimit | None = None
    trusted_proxies: Sequence[str] | None = None
    token: str | None = field(default=None, repr=False)

    def build_routes(self) -> list[BaseRoute]:
        """Return the routes that the application serves to authenticated callers."""
        return [*build_health_routes(self.readiness, self.metrics)]

    def wrap(self, app: ASGIApp, *, is_proxied: bool) -> ASGIApp:
        """Return an application that passes requests through these parts first."""
        if self.address_limit is not None:
            app = AddressLimitMiddleware(app, self.address_limit)
        if self.trusted_proxies is not None:
            app = ForwardedHeadersMiddleware(app, self.trusted_proxies)
        app = HealthMiddleware(app, self.readiness, self.metrics, self.token, is_proxied=is_proxied)
        return TelemetryMiddleware(app, self.metrics)


class AddressLimitMiddleware:
    """Middleware that answers 429 to an address which sends too many requests, before it is authenticated."""

    def __init__(self, app: ASGIApp, limit: AddressLimit) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._app
        if scope["type"] == "http":
            retry_after_s = self._limit.refuse(get_client_address(scope))
            if retry_after_s is not None:
                app = build_refusal(
                    scope,
                    429,
                    "this address sends too many requests",
                    f"Wait {retry_after_s:,} seconds, then send the request again.",
                    {"Retry-After": str(retry_after_s)},
                )
        await app(scope, receive, send)


class TelemetryMiddleware:
    """Middleware that gives a request its id, counts it, and writes a line of the access log.

    Neither has the path, the query or the address of the request.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics | None) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = choose_request_id(Headers(scope=scope).getlist(REQUEST_ID_HEADER))
        start_time = time.perf_counter()
        status, duration_s, byte_count = 0, 0.0, 0

        async def send_and_count(message: Message) -> None:
            nonlocal status, duration_s, byte_count
            if message["type"] == "http.response.start":
                status, duration_s = message["status"], time.perf_counter() - start_time
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            elif message["type"] == "http.response.body":
                byte_count += len(message.get("body", b""))
            await send(message)

        with set_request_id(request_id):
            try:
                await self._app(scope, receive, send_and_count)
            finally:
                route = classify_route(scope["path"])
                if self._metrics is not None:
                    self._metrics.count_request(
                        route,
                        scope["method"],
                        status,
                        duration_s if status else time.perf_counter() - start_time,
                    )
                if _access_log.isEnabledFor(logging.INFO):
                    _log_request(scope, route, status, time.perf_counter() - start_time, byte_count)


def _log_request(scope: Scope, route: str, status: int, duration_s: float, byte_count: int) -> None:
    fields = {
        "route": route,
        "method": scope["method"] if scope["method"] in _LOGGED_METHODS else "OTHER",
        "status": status,
        "duration_ms": round(duration_s * 1_000, 1),
        "bytes": byte_count,
    }
    _access_log.info("request", extra={FIELDS: fields})


def classify_route(path: str) -> str:
    """Return the kind of a path, for metrics and logs: one of few names."""
    if path in OPERATION_PATHS:
        return "operations"
    if path.endswith(MCP_PATH):
        return "mcp"
    return next((name for prefix, name in _ROUTES_BY_PREFIX.items() if path.startswith(prefix)), "page")
