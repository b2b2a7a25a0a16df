"""Which requests are heard at all: those by this server's own name, from its own pages or from no page.

This is asked before any token: a browser would show its session to whoever makes it ask.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.http.authorities import Admitted
from docyard.http.forwarding import came_by_https
from docyard.http.refusals import MCP, refusal

_READING = ("GET", "HEAD")

_NAME_FIX = "Open the address that the server printed; a name of its own is admitted with --allow-host NAME."
_LENGTH_FIX = "Send Content-Length or Transfer-Encoding: chunked, not both; HTTP/1.0 has the first alone."
_ORIGIN_FIX = "Only pages of this server may ask it; a name of its own is admitted with --allow-host NAME."


class Admission:
    """Answers 400, 421 or 403 to requests that are not heard, and passes on the others."""

    def __init__(self, app: ASGIApp, admitted: Admitted, *, is_proxied: bool) -> None:
        self._app = app
        self._admitted = admitted
        self._is_proxied = is_proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"a server of HTTP alone was sent {scope['type']}")
        refused = self._refused(scope)
        if _is_ambiguous(scope):
            # What follows on the connection may be a second request that a proxy took for this one's body.
            closing = {"Connection": "close"}
            answer = refusal(scope, 400, "the length of the body is ambiguous", _LENGTH_FIX, closing)
            await answer(scope, receive, send)
        elif refused is None:
            await self._app(scope, receive, send)
        else:
            await refusal(scope, *refused)(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        # A target that names a host itself, or none, is for proxies (RFC 9112 §3.2).
        if len(hosts) != 1 or not scope["path"].startswith("/"):
            return 400, "the request does not name one host", "Send one Host header, and a path."
        if not self._admitted.has_host(hosts[0]):
            return 421, "this server is not known by that name", _NAME_FIX
        reads = scope["method"] in _READING and scope["path"] != MCP
        origins = headers.getlist("origin")
        if origins and not self._has_origins(origins, scope, reads=reads):
            return 403, "another page may not ask this server", _ORIGIN_FIX
        # What a browser says of a request that carries no Origin: an image or script of ours in their page.
        # Pages of other ports of this machine count as of the same site.
        site, mode = headers.get("sec-fetch-site", ""), headers.get("sec-fetch-mode", "")
        if site in ("cross-site", "same-site") and not (mode == "navigate" and reads):
            return 403, "another page may not ask this server", _ORIGIN_FIX
        return None

    def _has_origins(self, origins: list[str], scope: Scope, *, reads: bool) -> bool:
        if origins == ["null"]:  # a page without an origin, such as a file
            return reads
        https = self._is_proxied and came_by_https(scope)
        return len(origins) == 1 and self._admitted.has_origin(origins[0], https=https)


def _is_ambiguous(scope: Scope) -> bool:
    """Return True if a proxy before us may see another end of the body (RFC 9112 §6.1)."""
    headers = Headers(scope=scope)
    if "transfer-encoding" not in headers:
        return False
    return "content-length" in headers or scope["http_version"] == "1.0"
