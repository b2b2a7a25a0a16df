"""What a proxy says of a request that it passes on. It is believed only where a proxy's name is admitted."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope

from docyard.http.authorities import parse_authority


def came_by_https(scope: Scope) -> bool:
    """Whether a proxy says that a browser reached it by HTTPS, under another name than this machine's own."""
    headers = Headers(scope=scope)
    host = parse_authority(headers.get("host", ""))
    return (
        host is not None
        and not host.is_loopback
        and [each.strip().lower() for each in headers.getlist("x-forwarded-proto")] == ["https"]
    )
