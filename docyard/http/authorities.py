"""Names by which a server may be spoken to: what a Host or Origin header says, and whether it is one of them.

A page of somebody else's can make a browser ask this server, under its own name (DNS rebinding) or from its
own origin. Both headers are the browser's word, which no page can change.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

_MOST = 262  # characters: a name of 253, brackets or dots, a colon and a port
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_PORTS = {"http": 80, "https": 443}


class Authority(NamedTuple):
    """A host in lower case, an IPv6 address in brackets, and the port if one is named."""

    host: str
    port: int | None

    @property
    def is_loopback(self) -> bool:
        """Whether this is the machine itself, by whatever port."""
        return self.host in LOOPBACK_NAMES or _is_loopback(self.host)


def parse_authority(text: str) -> Authority | None:
    """What `host[:port]` names (RFC 3986 §3.2); None for anything else, final dots too."""
    if not text.isascii() or len(text) > _MOST:
        return None
    if text.startswith("["):
        address, closed, rest = text[1:].partition("]")
        host = _ipv6(address) if closed else None
    else:
        name, colon, after = text.partition(":")
        host, rest = _name(name), colon + after
    if host is None:
        return None
    if not rest:
        return Authority(host, None)
    port = parse_port(rest[1:]) if rest.startswith(":") else None
    return None if not port else Authority(host, port)


def parse_port(text: str) -> int | None:
    """A port as it is written in a URL, 0 too; None for what is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5) or str(int(text)) != text:
        return None
    return int(text) if int(text) <= 65_535 else None


class Admitted:
    """The names and ports by which requests may come."""

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._names = frozenset(names)

    def has_host(self, header: str) -> bool:
        """Whether a Host header names this server; without a port it names port 80 or 443."""
        found = parse_authority(header)
        if found is None:
            return False
        ports = _PORTS.values() if found.port is None else (found.port,)
        return any((found.host, port) in self._names for port in ports)

    def has_origin(self, header: str, *, https: bool = False) -> bool:
        """Whether an Origin header is of this server's own pages; `https` asks for those that came by it."""
        scheme, separator, rest = header.partition("://")
        found = parse_authority(rest)
        if not separator or found is None or scheme not in _PORTS or (https and scheme != "https"):
            return False
        return (found.host, found.port or _PORTS[scheme]) in self._names


def _name(text: str) -> str | None:
    name = text.lower()
    if _NAME.fullmatch(name) is None or len(name) > 253:
        return None
    if name.replace(".", "").isdigit():  # then it is an address, and only in its usual form
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            return None
    return name


def _ipv6(text: str) -> str | None:
    if "%" in text:  # a zone means something on one machine alone
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
