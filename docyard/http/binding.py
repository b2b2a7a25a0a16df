"""Where a server listens: what `--http` says, and the sockets of it."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from contextlib import suppress
from typing import ClassVar, NamedTuple

from docyard.http.authorities import LOOPBACK_NAMES, parse_port
from workspace.errors import WorkspaceError

_BACKLOG = 128
_TRIES = 5  # free ports that are tried until both kinds of address have the same


class CannotListen(WorkspaceError):
    """The address cannot be listened on. `reason` is the system's."""

    code: ClassVar[str] = "CANNOT_LISTEN"


class Address(NamedTuple):
    """An IP address, or "localhost" for both of its own; port 0 is any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    @property
    def is_everywhere(self) -> bool:
        """Whether it stands for every address of the machine."""
        return self.host != "localhost" and ipaddress.ip_address(self.host).is_unspecified

    @property
    def shown_host(self) -> str:
        """The host as it stands in a URL."""
        if self.is_everywhere:
            return LOOPBACK_NAMES[0] if "." in self.host else LOOPBACK_NAMES[2]
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_address(text: str) -> Address:
    """What `HOST:PORT` or `[ADDRESS]:PORT` names. Raises ValueError with what is wrong and what to write."""
    host, colon, port_text = text.rpartition(":")
    port = parse_port(port_text)
    if not colon or not host or port is None:
        raise ValueError(f"'{text[:80]}' is no HOST:PORT; write 127.0.0.1:8000, or [::1]:8000")
    if host.lower() == "localhost":
        return Address("localhost", port)
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        found = ipaddress.ip_address(host[1:-1] if bracketed else host)
    except ValueError:
        raise ValueError(
            f"'{host[:80]}' is no address of this machine; write an IP address or localhost, and name the "
            "host that people use with --allow-host"
        ) from None
    if bracketed != (found.version == 6) or "%" in host:
        raise ValueError(f"'{text[:80]}' is no HOST:PORT; an IPv6 address stands in brackets: [::1]:8000")
    return Address(found.compressed, port)


def listening(address: Address) -> tuple[list[socket.socket], int]:
    """Sockets that listen, and their port. Raises CannotListen."""
    if address.host != "localhost":
        found = _bound(address.host, address.port)
        return [found], found.getsockname()[1]
    for attempt in range(1 if address.port else _TRIES):
        first = _bound("127.0.0.1", address.port)
        port = first.getsockname()[1]
        try:
            return [first, _bound("::1", port)], port
        except CannotListen as error:
            if error.details["reason"] != errno.EADDRINUSE:  # there is no IPv6 here
                return [first], port
            first.close()
            if attempt == _TRIES - 1 or address.port:
                raise
    raise AssertionError("unreachable")


def _bound(host: str, port: int) -> socket.socket:
    found = None
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # The event loop sends small answers at once only where the protocol is named; else each waits 40 ms.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere it would let others take the port away
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):
                found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind((host, port))
        found.listen(_BACKLOG)
    except OSError as error:
        if found is not None:
            found.close()
        raise _refused(port, error) from None
    return found


def _refused(port: int, error: OSError) -> CannotListen:
    if error.errno == errno.EADDRINUSE:
        message, fix = f"port {port} is in use", "Choose another, or 0 for any that is free."
    elif error.errno == errno.EACCES:
        message, fix = f"port {port} is for the system's own services", "Choose one above 1023."
    elif error.errno == errno.EADDRNOTAVAIL:
        message, fix = (
            "this machine does not have that address",
            "Listen on 127.0.0.1, or on one that it has.",
        )
    else:
        message, fix = f"the address cannot be listened on ({error.strerror})", "Choose another."
    return CannotListen(message, fix=fix, reason=error.errno)
