"""`GET /readyz`: the state of each documentation source, for a load balancer or a monitor.

    200  at least one source can be read, or there are none
    503  no source can be read

The request is authenticated like any other. The body has the reason of each source that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

READY_PATH = "/readyz"


def build_readiness_route(describe: Callable[[], Sequence[dict[str, Any]]]) -> Route:
    """Return the route. `describe` returns an entry with the field `available` for each source."""

    async def respond(request: Request) -> Response:
        entries = await run_in_threadpool(describe)
        is_ready = not entries or any(entry["available"] for entry in entries)
        return JSONResponse({"ready": is_ready, "sources": entries}, 200 if is_ready else 503)

    return Route(READY_PATH, respond)
