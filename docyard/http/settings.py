"""The settings of a server over HTTP. Incomplete settings are refused before a socket listens."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from docyard.http.access import LOOPBACK_NAMES, AllowedHosts, Authority, parse_authority, parse_port
from docyard.terminal.authors import read_secret
from docyard.terminal.exits import CannotError
from workspace.errors import WorkspaceError

_BACKLOG = 128
_TRIES = 5  # free ports that are tried until both kinds of address have the same


class CannotListen(WorkspaceError):
    """The address cannot be listened on. `reason` is the system's."""

    code: ClassVar[str] = "CANNOT_LISTEN"


class ListenAddress(NamedTuple):
    """An IP address, or "localhost" for both of its addresses; port 0 is any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Return True if only this machine can reach it."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    @property
    def is_everywhere(self) -> bool:
        """Return True if it is every address of the machine."""
        return self.host != "localhost" and ipaddress.ip_address(self.host).is_unspecified

    @property
    def shown_host(self) -> str:
        """The host as part of a URL."""
        if self.is_everywhere:
            return LOOPBACK_NAMES[0] if "." in self.host else LOOPBACK_NAMES[2]
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_address(text: str) -> ListenAddress:
    """Parse `HOST:PORT` or `[ADDRESS]:PORT`.

    Raises ValueError with the problem and the fix.
    """
    host, colon, port_text = text.rpartition(":")
    port = parse_port(port_text)
    if not colon or not host or port is None:
        raise ValueError(f"'{text[:80]}' is no HOST:PORT; write 127.0.0.1:8000, or [::1]:8000")
    if host.lower() == "localhost":
        return ListenAddress("localhost", port)
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
    return ListenAddress(found.compressed, port)


def open_sockets(address: ListenAddress) -> tuple[list[socket.socket], int]:
    """Open listening sockets; return them and their port. Raises CannotListen."""
    if address.host != "localhost":
        found = _bind_sockets(address.host, address.port)
        return [found], found.getsockname()[1]
    for attempt in range(1 if address.port else _TRIES):
        first = _bind_sockets("127.0.0.1", address.port)
        port = first.getsockname()[1]
        try:
            return [first, _bind_sockets("::1", port)], port
        except CannotListen as error:
            if error.details["reason"] != errno.EADDRINUSE:  # there is no IPv6 here
                return [first], port
            first.close()
            if attempt == _TRIES - 1 or address.port:
                raise
    raise AssertionError("unreachable")


def _bind_sockets(host: str, port: int) -> socket.socket:
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


_RANDOM = 32  # bytes of a token that is made for one run
_SHORTEST = 32  # characters of a token in a file
_VISIBLE = re.compile(r"[!-~]+")
_OF_A_PERSON = re.compile(r"docyard_[a-z0-9.-]+_[0-9a-f]{48}")


class InvalidOptions(Exception):
    """The options exclude each other. The message has the fix."""


class HttpSettings(NamedTuple):
    """The address of a server, its allowed names, and its token.

    With `token` None no token is needed. `is_told` is true if the printed line contains the token: one from a
    file is known already, and the line may end up in a log.
    """

    address: ListenAddress
    allowed: tuple[Authority, ...]
    token: str | None
    is_told: bool

    def admitted(self, port: int) -> AllowedHosts:
        """Return the host names that requests to the given port may use."""
        names = {(host, port) for host in LOOPBACK_NAMES if self._has_loopback}
        if self.address.is_loopback:
            names.add((self.address.shown_host, port))
        for host, named in self.allowed:
            names.update((host, each) for each in ((80, 443, port) if named is None else (named,)))
        return AllowedHosts(names)

    def url(self, port: int) -> str:
        """Return the URL to print: where to open the page."""
        if self._has_loopback:
            authority = f"{self.address.shown_host}:{port}"
        else:
            host, named = self.allowed[0]
            authority = f"{host}:{port if named is None else named}"
        told = f"?token={self.token}" if self.token is not None and self.is_told else ""
        return f"http://{authority}/{told}"

    @property
    def _has_loopback(self) -> bool:
        return self.address.is_loopback or self.address.is_everywhere


def build_http_settings(
    http: str, allow_hosts: Sequence[str], token_file: Path | None, *, no_token: bool, read_only: bool
) -> HttpSettings:
    """Return the settings for these options.

    Raises InvalidOptions for options that exclude each other, CannotError for an unusable token file.
    """
    try:
        address = parse_address(http)
    except ValueError as error:
        raise InvalidOptions(f"--http: {error}") from None
    allowed = tuple(_parse_allowed_host(name) for name in allow_hosts)
    if not address.is_loopback and not allowed:
        raise InvalidOptions(
            f"--http {http} can be reached from other machines: say by which name with --allow-host NAME, or "
            "listen on 127.0.0.1"
        )
    if no_token and token_file is not None:
        raise InvalidOptions("--no-token and --token-file exclude each other: leave one out")
    is_local = address.is_loopback and all(each.is_loopback for each in allowed)
    if no_token and not is_local and not read_only:
        raise InvalidOptions(
            "--no-token would let others write: serve to this machine alone, or with --read-only, or ask for "
            "a token"
        )
    if no_token:
        return HttpSettings(address, allowed, None, False)
    if token_file is not None:
        return HttpSettings(address, allowed, _read_token_file(token_file), False)
    return HttpSettings(address, allowed, secrets.token_urlsafe(_RANDOM), True)


def _parse_allowed_host(name: str) -> Authority:
    found = parse_authority(name)
    if found is None:
        raise InvalidOptions(
            f"--allow-host: '{name[:80]}' is no NAME or NAME:PORT; write the host as a browser shows it, "
            "such as docs.example.org, without a scheme, a path or a wildcard"
        )
    return found


def _read_token_file(file: Path) -> str:
    """Return the token in a file. Raises CannotError."""
    token = read_secret(file, ask=False) or ""
    if _OF_A_PERSON.fullmatch(token):
        raise CannotError(
            "the token in the file is a person's, who can show it as it is",
            fix="Leave out --token-file, or write a secret of its own into the file.",
        )
    if len(token) < _SHORTEST or not _VISIBLE.fullmatch(token):
        raise CannotError(
            f"the token in the file is too short, or holds more than visible ASCII characters; at least "
            f"{_SHORTEST} are needed",
            fix="Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`.",
        )
    return token
