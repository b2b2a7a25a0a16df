"""The address of a client, from the connection or from a trusted proxy.

The headers `X-Forwarded-*` and `Forwarded` of any other sender are removed before they are read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_PREFIX = b"x-forwarded-"
_OTHER_NAMES = (b"forwarded", b"x-real-ip")
_ADDRESS_HEADER = "x-forwarded-for"


class ForwardedHeadersMiddleware:
    """Middleware that replaces the address of a trusted proxy by that of its client.

    `trusted_proxies` are addresses and networks. Of several addresses in `X-Forwarded-For` the last that no
    trusted proxy has is used: a client can invent those before it.
    """

    def __init__(self, app: ASGIApp, trusted_proxies: Sequence[str]) -> None:
        self._app = app
        self._networks = [ipaddress.ip_network(network, strict=False) for network in trusted_proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = self._resolve(scope)
        await self._app(scope, receive, send)

    def _resolve(self, scope: Scope) -> Scope:
        address, port = scope.get("client") or ("", 0)
        if not self._is_trusted(address):
            headers = [item for item in scope["headers"] if not _is_forwarded_header(item[0])]
            return {**scope, "headers": headers}
        hops = ",".join(Headers(scope=scope).getlist(_ADDRESS_HEADER)).split(",")
        for hop in reversed(hops):
            candidate = _strip_port(hop.strip())
            if not _is_address(candidate):
                break
            address, port = candidate, 0
            if not self._is_trusted(candidate):
                break
        return {**scope, "client": (address, port)}

    def _is_trusted(self, address: str) -> bool:
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:
            return False
        return is_in_networks(ip, self._networks)


def is_in_networks(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, networks: Iterable[_Network]) -> bool:
    """Return True if one of the networks contains an address; an IPv4 address may be written as IPv6."""
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return any(ip in network for network in networks)


def has_forwarded_headers(scope: Scope) -> bool:
    """Return True if a request has a header that proxies set."""
    return any(_is_forwarded_header(name) or name == b"via" for name, _ in scope["headers"])


def is_loopback_client(scope: Scope) -> bool:
    """Return True if the sender of a connection is this machine."""
    address, _ = scope.get("client") or ("", 0)
    return _is_address(address) and ipaddress.ip_address(address).is_loopback


def get_client_address(scope: Scope) -> str:
    """Return the address of the client; empty if the connection has none."""
    address: str = (scope.get("client") or ("", 0))[0]
    return address


def _is_forwarded_header(name: bytes) -> bool:
    return name.startswith(_PREFIX) or name in _OTHER_NAMES


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _strip_port(text: str) -> str:
    """Return an address without its port: `192.0.2.1:80` or `[2001:db8::1]:80`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
