"""Validation of Host and Origin before authentication (DNS-rebinding and CSRF protection).

A browser sends its session with every request, so this check runs before any token is read. A page of
another site can make a browser send requests to this server, under that site's host name (DNS rebinding) or
from that site's origin. The browser sets both headers, and a page cannot change them.

The headers of a proxy are trusted only if a proxy's name is allowed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.http.refusals import build_refusal, is_mcp_path

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_MAX_AUTHORITY_CHARS = 262  # a name of 253, brackets or dots, a colon and a port
_HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Authority(NamedTuple):
    """A host in lower case, with an IPv6 address in brackets; and the port if the text has one."""

    host: str
    port: int | None

    @property
    def is_loopback(self) -> bool:
        """Return True if the host is this machine, on any port."""
        return self.host in LOOPBACK_NAMES or _is_loopback(self.host)


def parse_authority(text: str) -> Authority | None:
    """Parse `host[:port]` (RFC 3986 §3.2); return None for invalid text, including a final dot."""
    if not text.isascii() or len(text) > _MAX_AUTHORITY_CHARS:
        return None
    if text.startswith("["):
        address, bracket, port_part = text[1:].partition("]")
        host = _parse_ipv6(address) if bracket else None
    else:
        name, colon, port_text = text.partition(":")
        host, port_part = _parse_name(name), colon + port_text
    if host is None:
        return None
    if not port_part:
        return Authority(host, None)
    port = parse_port(port_part[1:]) if port_part.startswith(":") else None
    return None if not port else Authority(host, port)


def parse_port(text: str) -> int | None:
    """Return the port of a URL, including 0; None if it is invalid."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5) or str(int(text)) != text:
        return None
    return int(text) if int(text) <= 65_535 else None


def allow_default_ports(authority: Authority, port: int) -> Iterator[tuple[str, int]]:
    """Yield a host name with its port; without one, with those of HTTP and HTTPS and that of the server."""
    for allowed_port in (80, 443, port) if authority.port is None else (authority.port,):
        yield authority.host, allowed_port


class AllowedHosts:
    """The host names and ports that requests may name.

    `get_more` returns further ones, which can change.
    """

    def __init__(
        self,
        names: Iterable[tuple[str, int]],
        get_more: Callable[[], Collection[tuple[str, int]]] = frozenset,
    ) -> None:
        self._names = frozenset(names)
        self._get_more = get_more

    def extend(self, get_more: Callable[[], Collection[tuple[str, int]]]) -> AllowedHosts:
        """Return these names with further ones that can change."""
        return AllowedHosts(self._names, get_more)

    def _allows(self, name: tuple[str, int]) -> bool:
        return name in self._names or name in self._get_more()

    def allows_host(self, header: str) -> bool:
        """Return True if a Host header names this server; without a port it names port 80 or 443."""
        authority = parse_authority(header)
        if authority is None:
            return False
        ports = _DEFAULT_PORTS.values() if authority.port is None else (authority.port,)
        return any(self._allows((authority.host, port)) for port in ports)

    def allows_origin(self, header: str, *, requires_https: bool = False) -> bool:
        """Return True if an Origin header names this server's pages; `requires_https` excludes HTTP."""
        scheme, separator, authority_text = header.partition("://")
        authority = parse_authority(authority_text)
        if (
            not separator
            or authority is None
            or scheme not in _DEFAULT_PORTS
            or (requires_https and scheme != "https")
        ):
            return False
        return self._allows((authority.host, authority.port or _DEFAULT_PORTS[scheme]))


def _parse_name(text: str) -> str | None:
    name = text.lower()
    if _HOST_NAME.fullmatch(name) is None or len(name) > 253:
        return None
    if name.replace(".", "").isdigit():  # an IPv4 address, which is accepted only in dotted decimal form
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            return None
    return name


def _parse_ipv6(text: str) -> str | None:
    if "%" in text:  # a zone is valid only on one machine
        return None
    try:
        return f"[{ipaddress.IPv6Address(text).compressed}]"
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_forwarded_https(scope: Scope) -> bool:
    """Return True if a proxy reports HTTPS to a host other than this machine."""
    headers = Headers(scope=scope)
    host = parse_authority(headers.get("host", ""))
    return (
        host is not None
        and not host.is_loopback
        and [protocol.strip().lower() for protocol in headers.getlist("x-forwarded-proto")] == ["https"]
    )


_SAFE_METHODS = ("GET", "HEAD")
_NAME_FIX = "Open the URL that the server printed, or allow another host name with --allow-host NAME."
_LENGTH_FIX = "Send either Content-Length or Transfer-Encoding: chunked; with HTTP/1.0 only Content-Length."
_ORIGIN_FIX = "Send the request from a page of this server, or allow its host name with --allow-host NAME."


class HostOriginMiddleware:
    """Middleware that rejects requests with a foreign Host or Origin, or with a body of ambiguous length.

    The status is 400, 421 or 403.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: AllowedHosts, *, is_proxied: bool) -> None:
        self._app = app
        self._allowed_hosts = allowed_hosts
        self._is_proxied = is_proxied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"the scope must be http or lifespan (got {scope['type']})")
        refusal = self._check_headers(scope)
        if _has_ambiguous_length(scope):
            # A proxy may have treated the next bytes of the connection as this request's body.
            close_header = {"Connection": "close"}
            response = build_refusal(
                scope, 400, "the length of the body is ambiguous", _LENGTH_FIX, close_header
            )
            await response(scope, receive, send)
        elif refusal is None:
            await self._app(scope, receive, send)
        else:
            await build_refusal(scope, *refusal)(scope, receive, send)

    def _check_headers(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return the status, message and fix of the refusal; None if the headers are allowed."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        # Only proxies accept a target with a host, or without a path (RFC 9112 §3.2).
        if len(hosts) != 1 or not scope["path"].startswith("/"):
            return 400, "the request must have exactly one Host header", "Send one Host header, and a path."
        if not self._allowed_hosts.allows_host(hosts[0]):
            return 421, "the host name is not allowed", _NAME_FIX
        is_safe_request = scope["method"] in _SAFE_METHODS and not is_mcp_path(scope["path"])
        origins = headers.getlist("origin")
        if origins and not self._allows_origins(origins, scope, is_safe_request=is_safe_request):
            return 403, "requests from other sites are not allowed", _ORIGIN_FIX
        # Requests without an Origin, such as for an image, have these headers. A page on another port of this
        # machine counts as same-site.
        site, mode = headers.get("sec-fetch-site", ""), headers.get("sec-fetch-mode", "")
        if site in ("cross-site", "same-site") and not (mode == "navigate" and is_safe_request):
            return 403, "requests from other sites are not allowed", _ORIGIN_FIX
        return None

    def _allows_origins(self, origins: list[str], scope: Scope, *, is_safe_request: bool) -> bool:
        if origins == ["null"]:  # a page without an origin, such as a file
            return is_safe_request
        requires_https = self._is_proxied and is_forwarded_https(scope)
        return len(origins) == 1 and self._allowed_hosts.allows_origin(
            origins[0], requires_https=requires_https
        )


def _has_ambiguous_length(scope: Scope) -> bool:
    """Return True if a proxy may compute another length of the body (RFC 9112 §6.1)."""
    headers = Headers(scope=scope)
    if "transfer-encoding" not in headers:
        return False
    return "content-length" in headers or scope["http_version"] == "1.0"
