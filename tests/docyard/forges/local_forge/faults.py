"""Faults of the local forge: a status, a slow or incomplete response, or an invalid one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

HUGE_BODY_BYTES = 11_000_000
_SLOW_INTERVAL_S = 0.05


@dataclass
class Fault:
    """A fault of the next `times` requests that match `method` and `path` (a regular expression).

    `kind`: "status" returns the status and the body; "after_request" does so after it executes the request.
    "silent" never responds. "slow" sends a byte at intervals. "incomplete" ends early. "not_json" is HTML.
    "wrong_fields" is JSON with invalid fields. "huge" is too large. "redirect" redirects to another host.
    """

    kind: str = "status"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=lambda: {"message": "broken"})
    times: int = 1
    method: str = ""
    path: str = ""

    def matches(self, request: Request) -> bool:
        """Return True if the fault applies to a request."""
        return (
            self.times > 0
            and self.method in ("", request.method)
            and bool(re.search(self.path, request.url.path))
        )

    async def create_response(self, request: Request) -> Response:
        """Return the response. A silent fault waits until the client disconnects."""
        match self.kind:
            case "silent":
                while not await request.is_disconnected():
                    await asyncio.sleep(0.02)
                return Response(status_code=500)
            case "slow":
                return StreamingResponse(_send_slowly(), media_type="application/json")
            case "incomplete":
                return Response(b'{"number": 1', headers={"content-length": "1000"})
            case "not_json":
                return Response(b"<html>Welcome</html>", media_type="text/html")
            case "wrong_fields":
                return JSONResponse({"number": "one"})
            case "huge":
                return Response(b'"' + b"x" * HUGE_BODY_BYTES + b'"', media_type="application/json")
            case "redirect":
                return Response(status_code=307, headers={"location": "http://127.0.0.2:9/taken"})
            case _:
                return JSONResponse(self.body, self.status, dict(self.headers))


async def _send_slowly() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(_SLOW_INTERVAL_S)
