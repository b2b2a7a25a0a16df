"""A remote's URL as a value: its transport, and the parts that are not secret (git-fetch, "GIT URLS")."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar
from urllib.parse import SplitResult, unquote, urlsplit

from workspace.errors import WorkspaceError

_SCP_FORM = re.compile(r"(?:([^@/:\[\]]+)@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\[\]]+):(?!//)(.+)", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HELPER = re.compile(r"[A-Za-z0-9]+::")
_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")


class Transport(StrEnum):
    """The transport that reaches a remote."""

    FILE = "file"
    GIT = "git"
    HTTP = "http"
    HTTPS = "https"
    SSH = "ssh"


class UnsupportedRemote(WorkspaceError):
    """An error: a remote with an invalid URL, or with an unsupported transport."""

    code: ClassVar[str] = "UNSUPPORTED_REMOTE"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the remote cannot be reached: {reason}",
            fix="Use git remote set-url to set the path of a folder, or a URL that begins with ssh://, "
            "https://, http:// or git://.",
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """The parts of a remote's URL. `url` has no password; `password` is a separate field, never printed.

    `host` is in lower case, without a port, and "" for a folder. `user` is the user name in the URL.
    """

    transport: Transport
    url: str
    host: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def is_private(self) -> bool:
        """Return False for HTTP to another computer, over which no token is sent; git:// is not checked."""
        return self.transport is not Transport.HTTP or bool(_LOOPBACK.fullmatch(self.host))

    def format_redacted(self) -> str:
        """Return the transport and the host, for a message."""
        return "a folder" if self.transport is Transport.FILE else f"{self.host} ({self.transport})"

    def is_same_server(self, url: str) -> bool:
        """Return True if another URL has the same transport, host and port."""
        try:
            other, this = urlsplit(url), urlsplit(self.url)
            return (other.scheme, other.hostname, other.port) == (this.scheme, this.hostname, this.port)
        except ValueError:
            return False


def parse_remote_url(url: str) -> RemoteUrl:
    """Return the parts of a remote's URL.

    Raises UnsupportedRemote; its message does not contain the URL.
    """
    if not url or not url.isprintable():
        raise UnsupportedRemote("its URL is empty or contains unprintable characters")
    if url.startswith("-"):
        raise UnsupportedRemote("its URL begins with a dash")
    if _HELPER.match(url):
        raise UnsupportedRemote("its URL names a helper program, which Docyard does not run")
    match = _SCHEME.match(url)
    if match is None:
        return _parse_without_scheme(url)
    scheme = {"git+ssh": "ssh", "ssh+git": "ssh"}.get(match[1].lower(), match[1].lower())
    if scheme not in set(Transport):
        raise UnsupportedRemote(f"the transport `{scheme[:20]}://` is not supported")
    transport = Transport(scheme)
    if transport is Transport.FILE:
        return RemoteUrl(transport, url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UnsupportedRemote("its URL names no host and port") from None
    if not host or host.startswith("-"):
        raise UnsupportedRemote("its URL names no host")
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    if transport in (Transport.HTTP, Transport.HTTPS) and user and password is None:
        # Forges accept a token in place of the user name.
        user, password = (user, None) if len(user) < _MIN_TOKEN_LENGTH else (None, user)
    return RemoteUrl(transport, _strip_secrets(parts, transport, host, port), host, user, password)


_MIN_TOKEN_LENGTH = 20  # characters; a shorter text is a user name


def _strip_secrets(parts: SplitResult, transport: Transport, host: str, port: int | None) -> str:
    """Return the URL without its secrets; a URL for SSH retains the user name."""
    host_part = f"[{host}]" if ":" in host else host
    user = f"{parts.username}@" if transport is Transport.SSH and parts.username else ""
    return parts._replace(
        scheme=transport.value, netloc=f"{user}{host_part}{f':{port}' if port else ''}"
    ).geturl()


def _parse_without_scheme(url: str) -> RemoteUrl:
    match = None if _DRIVE.match(url) else _SCP_FORM.fullmatch(url)
    if match is None:
        return RemoteUrl(Transport.FILE, url)
    user, host, _ = match.groups()
    if host.startswith("-"):
        raise UnsupportedRemote("its URL names no host")
    return RemoteUrl(Transport.SSH, url, host.strip("[]").lower(), user)
