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

from docyard.http.host_origin import (
    LOOPBACK_NAMES,
    AllowedHosts,
    Authority,
    allow_default_ports,
    parse_authority,
    parse_port,
)
from docyard.terminal.credentials import read_secret
from docyard.terminal.exits import CommandError
from workspace.errors import WorkspaceError

_BACKLOG = 128
_MAX_PORT_ATTEMPTS = 5  # attempts to find a port that is free for both IPv4 and IPv6


class CannotListen(WorkspaceError):
    """The server cannot listen on the address. `reason` is the system's error number."""

    code: ClassVar[str] = "CANNOT_LISTEN"


class ListenAddress(NamedTuple):
    """An IP address, or "localhost" for both of its addresses; port 0 is any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Return True if only this machine can reach the address."""
        return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback

    @property
    def is_unspecified(self) -> bool:
        """Return True if the address means all addresses of the machine."""
        return self.host != "localhost" and ipaddress.ip_address(self.host).is_unspecified

    @property
    def url_host(self) -> str:
        """Return the host as part of a URL."""
        if self.is_unspecified:
            return LOOPBACK_NAMES[0] if "." in self.host else LOOPBACK_NAMES[2]
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_address(text: str) -> ListenAddress:
    """Parse `HOST:PORT` or `[ADDRESS]:PORT`.

    Raises ValueError with the problem and the fix.
    """
    host, colon, port_text = text.rpartition(":")
    port = parse_port(port_text)
    if colon and host and port is None and port_text.isdecimal():
        raise ValueError(f"the port of '{text[:80]}' must be from 0 to 65535")
    if not colon or not host or port is None:
        raise ValueError(f"'{text[:80]}' must be HOST:PORT; write 127.0.0.1:8000, or [::1]:8000")
    if host.lower() == "localhost":
        return ListenAddress("localhost", port)
    is_bracketed = host.startswith("[") and host.endswith("]")
    try:
        ip = ipaddress.ip_address(host[1:-1] if is_bracketed else host)
    except ValueError:
        raise ValueError(
            f"'{host[:80]}' must be an IP address or localhost; name the host in URLs with --allow-host"
        ) from None
    if is_bracketed != (ip.version == 6) or "%" in host:
        raise ValueError(f"'{text[:80]}' must be HOST:PORT; write an IPv6 address in brackets: [::1]:8000")
    return ListenAddress(ip.compressed, port)


def parse_page_url(text: str) -> str:
    """Return the URL of web pages without a slash at the end.

    Raises ValueError with the problem and the fix, which do not contain the URL.
    """
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    authority = parse_authority(rest.removesuffix("/"))
    if not separator or scheme not in ("http", "https") or authority is None:
        raise ValueError(
            "the URL must have only a scheme, a host and a port; write https://docs.example.org, without a "
            "user name, a path, a query or a fragment"
        )
    if scheme == "http" and not authority.is_loopback:
        raise ValueError(
            "the URL must begin with https://, because people send their tokens to it; only the pages of "
            "this machine may have http://"
        )
    return f"{scheme}://{authority.host}" + (f":{authority.port}" if authority.port is not None else "")


def open_sockets(address: ListenAddress) -> tuple[list[socket.socket], int]:
    """Open listening sockets; return them and their port. Raises CannotListen."""
    if address.host != "localhost":
        listener = _open_socket(address.host, address.port)
        return [listener], listener.getsockname()[1]
    for attempt in range(1 if address.port else _MAX_PORT_ATTEMPTS):
        ipv4_socket = _open_socket("127.0.0.1", address.port)
        port = ipv4_socket.getsockname()[1]
        try:
            return [ipv4_socket, _open_socket("::1", port)], port
        except CannotListen as error:
            if error.details["reason"] != errno.EADDRINUSE:  # this machine has no IPv6
                return [ipv4_socket], port
            ipv4_socket.close()
            if attempt == _MAX_PORT_ATTEMPTS - 1 or address.port:
                raise
    raise AssertionError("unreachable")


def _open_socket(host: str, port: int) -> socket.socket:
    listener = None
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # The event loop disables Nagle's algorithm only if the protocol is named; else responses wait 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # on other systems another process could take the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise _build_bind_error(port, error) from None
    return listener


def _build_bind_error(port: int, error: OSError) -> CannotListen:
    if error.errno == errno.EADDRINUSE:
        message, fix = f"port {port} is in use", "Choose another port, or 0 for a free port."
    elif error.errno == errno.EACCES:
        message, fix = f"port {port} needs more privileges", "Choose a port above 1023."
    elif error.errno == errno.EADDRNOTAVAIL:
        message, fix = (
            "this machine does not have the address",
            "Listen on 127.0.0.1, or on an address of this machine.",
        )
    else:
        message, fix = (
            f"the server cannot listen on the address ({error.strerror})",
            "Choose another address.",
        )
    return CannotListen(message, fix=fix, reason=error.errno)


_RANDOM_BYTES = 32  # the length of a token that is valid until the server ends
_MIN_TOKEN_CHARS = 32  # the minimum length of a token in a file
_VISIBLE_ASCII = re.compile(r"[!-~]+")
_PERSON_TOKEN = re.compile(r"docyard_[a-z0-9.-]+_[0-9a-f]{48}")


class InvalidOptions(Exception):
    """The options are invalid, or exclude each other. The message has the fix."""


class HttpSettings(NamedTuple):
    """The address of a server, its allowed names, and its token.

    If `token` is None, no token is needed. `is_token_printed` is true if the printed URL contains the token.
    A token from a file is not printed, because the output may be logged. `page_url` is the URL of the pages
    for people, if it is set.
    """

    address: ListenAddress
    allowed_names: tuple[Authority, ...]
    token: str | None
    is_token_printed: bool
    page_url: str | None = None

    def build_allowed_hosts(self, port: int) -> AllowedHosts:
        """Return the host names that requests to the given port may use."""
        names = {(host, port) for host in LOOPBACK_NAMES if self._accepts_loopback}
        if self.address.is_loopback:
            names.add((self.address.url_host, port))
        for authority in self.allowed_names:
            names.update(allow_default_ports(authority, port))
        return AllowedHosts(names)

    def build_url(self, port: int) -> str:
        """Return the URL of the first page, which is printed at the start."""
        query = f"?token={self.token}" if self.token is not None and self.is_token_printed else ""
        return f"{self._build_origin(port)}/{query}"

    def build_page_url(self, port: int) -> str | None:
        """Return the URL of the pages for people, without a slash at the end.

        If it is not set, it is the URL that this machine uses; None if a proxy gives the server another name.
        """
        if self.page_url is not None or self.allowed_names:
            return self.page_url
        return self._build_origin(port)

    def _build_origin(self, port: int) -> str:
        if self._accepts_loopback:
            authority = f"{self.address.url_host}:{port}"
        else:
            host, allowed_port = self.allowed_names[0]
            authority = f"{host}:{port if allowed_port is None else allowed_port}"
        return f"http://{authority}"

    @property
    def _accepts_loopback(self) -> bool:
        return self.address.is_loopback or self.address.is_unspecified


def build_http_settings(
    http: str,
    allow_hosts: Sequence[str],
    token_file: Path | None,
    *,
    no_token: bool,
    read_only: bool,
    page_url: str | None = None,
) -> HttpSettings:
    """Return the settings for these options.

    `page_url` is the result of `parse_page_url`. Raises InvalidOptions for options that exclude each other,
    CommandError for an unusable token file.
    """
    try:
        address = parse_address(http)
    except ValueError as error:
        raise InvalidOptions(f"--http: {error}") from None
    allowed_names = tuple(_parse_allowed_host(name) for name in allow_hosts)
    if not address.is_loopback and not allowed_names:
        raise InvalidOptions(
            f"--http {http} can be reached from other machines: add its name with --allow-host NAME, or "
            "listen on 127.0.0.1"
        )
    if no_token and token_file is not None:
        raise InvalidOptions("--no-token and --token-file exclude each other: omit one of them")
    is_local = address.is_loopback and all(host.is_loopback for host in allowed_names)
    if no_token and not is_local and not read_only:
        raise InvalidOptions(
            "--no-token would let other machines write: listen on 127.0.0.1, add --read-only, or omit "
            "--no-token"
        )
    if no_token:
        return HttpSettings(address, allowed_names, None, False, page_url)
    if token_file is not None:
        return HttpSettings(address, allowed_names, _read_token_file(token_file), False, page_url)
    return HttpSettings(address, allowed_names, secrets.token_urlsafe(_RANDOM_BYTES), True, page_url)


def _parse_allowed_host(name: str) -> Authority:
    authority = parse_authority(name)
    if authority is None:
        raise InvalidOptions(
            f"--allow-host: '{name[:80]}' must be NAME or NAME:PORT; write the host of the URL, such as "
            "docs.example.org, without a scheme, a path or a wildcard"
        )
    return authority


def _read_token_file(file: Path) -> str:
    """Return the token in a file. Raises CommandError."""
    token = read_secret(file, prompt=False) or ""
    if _PERSON_TOKEN.fullmatch(token):
        raise CommandError(
            f"{file.name} contains a person's token, which is valid without --token-file",
            fix="Omit --token-file, or write another secret to the file.",
        )
    if len(token) < _MIN_TOKEN_CHARS or not _VISIBLE_ASCII.fullmatch(token):
        raise CommandError(
            f"the token in {file.name} must have at least {_MIN_TOKEN_CHARS} characters, all visible ASCII",
            fix="Create one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`.",
        )
    return token
