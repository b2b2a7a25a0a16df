"""The host of a repository's forge, from Git's remote and from the environment.

A document never decides where a token is sent: the host is that of the remote, or of DOCYARD_FORGE_URL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from docyard.forges.errors import NoForgeToken, NotAForge
from workspace.git.remotes.url import RemoteUrl, Transport, UnsupportedRemote, parse_remote_url

FORGE_KINDS_BY_HOST: Mapping[str, str] = {
    "github.com": "github",
    "gitlab.com": "gitlab",
    "codeberg.org": "gitea",
}
"""The kind of forge of each well-known host."""

_SSH_HOSTS = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
_PUBLIC_API_URLS = {"github.com": "https://api.github.com"}
_API_PATHS = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}
_SEGMENT = re.compile(r"(?!\.{1,2}$)[\w.~+-]{1,255}")
_SCP_URL = re.compile(r"[^:]*(?:\[[^\]]*\])?:(.*)", re.DOTALL)
_MAX_SEGMENTS = 21  # GitLab's maximum depth of groups, and the project


@dataclass(frozen=True, slots=True)
class ForgeAccess:
    """Forge settings of the environment: the forge's URL, its token, and tokens by host."""

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)


class ForgeRepository(NamedTuple):
    """A repository on a forge: the kind of forge, its host for messages, the URL of its API, and a token.

    `segments` are the parts of the repository's path on the forge.
    """

    kind: str
    host: str
    api_url: str
    segments: tuple[str, ...]
    token: str

    def __repr__(self) -> str:
        return f"ForgeRepository({self.kind}, {self.api_url}, {'/'.join(self.segments)})"


def resolve_forge_repository(remote_url: RemoteUrl, kind: str | None, access: ForgeAccess) -> ForgeRepository:
    """Return the forge and repository of a remote. `kind` is needed for an unknown host.

    Raises NotAForge, NoForgeToken.
    """
    base_url = _normalize_forge_url(access.url) if access.url else _get_base_url(remote_url)
    url_parts = urlsplit(base_url)
    host = url_parts.hostname or ""
    forge_kind = FORGE_KINDS_BY_HOST.get(host, kind)
    if forge_kind is None:
        raise NotAForge(
            f"the kind of the forge {host} is unknown",
            fix='Set it in docyard.toml: [forge] kind = "github", "gitlab" or "gitea".',
            host=host,
        )
    api_url = _PUBLIC_API_URLS.get(host, base_url + _API_PATHS[forge_kind])
    segments = _parse_path_segments(
        remote_url, url_parts.path, max_count=_MAX_SEGMENTS if forge_kind == "gitlab" else 2
    )
    token = access.token or (access.tokens.get(host) if url_parts.scheme == "https" else None)
    if not token or not token.isascii() or not token.isprintable():
        raise NoForgeToken(host)
    return ForgeRepository(forge_kind, url_parts.netloc, api_url, segments, token)


def _normalize_forge_url(url: str) -> str:
    """Return the normalized URL in DOCYARD_FORGE_URL. Raises NotAForge if a token may not be sent to it."""
    try:
        url_parts = urlsplit(url)
        remote_url = (
            parse_remote_url(url) if url_parts.scheme in ("http", "https") and url_parts.port != 0 else None
        )
    except (ValueError, UnsupportedRemote):
        remote_url = None
    if (
        remote_url is None
        or not remote_url.is_private
        or "@" in url_parts.netloc
        or url_parts.query
        or url_parts.fragment
    ):
        raise NotAForge(
            "DOCYARD_FORGE_URL must be an https:// URL without a user name or a query",
            fix="Set it to the forge's URL, such as https://git.example.org.",
        )
    return f"{url_parts.scheme}://{url_parts.netloc}{url_parts.path}".rstrip("/")


def _get_base_url(remote_url: RemoteUrl) -> str:
    """Return the web URL of the host of a remote. Raises NotAForge if a token may not be sent to it."""
    if remote_url.transport is Transport.SSH:
        # The port is SSH's, and not that of the web server.
        host = _SSH_HOSTS.get(remote_url.host, remote_url.host)
        return f"https://{f'[{host}]' if ':' in host else host}"
    if remote_url.transport is Transport.HTTPS:
        return f"https://{urlsplit(remote_url.url).netloc}"
    kind = "a folder" if remote_url.transport is Transport.FILE else f"a {remote_url.transport}:// URL"
    raise NotAForge(
        f"the remote is {kind}, so its forge is unknown or unsafe for a token",
        fix="Give the remote an ssh:// or https:// URL, or set DOCYARD_FORGE_URL to the forge's URL.",
    )


def _parse_path_segments(remote_url: RemoteUrl, prefix: str, max_count: int) -> tuple[str, ...]:
    """Return the path of the repository on its forge. Raises NotAForge."""
    if remote_url.transport is Transport.SSH and "://" not in remote_url.url:
        match = _SCP_URL.fullmatch(remote_url.url)
        path = match[1] if match else ""
    else:
        path = urlsplit(remote_url.url).path
    path = f"/{unquote(path).strip('/')}"
    if prefix and path.startswith(prefix.rstrip("/") + "/"):
        path = path[len(prefix.rstrip("/")) :]
    segments = tuple(path.strip("/").removesuffix(".git").split("/"))
    if remote_url.transport is Transport.FILE:
        segments = segments[-2:]
    if not 2 <= len(segments) <= max_count or not all(map(_SEGMENT.fullmatch, segments)):
        raise NotAForge(
            "the remote's URL must end with the owner and the name of a repository",
            fix="Check it with `git remote -v`; for a forge below a path, set DOCYARD_FORGE_URL.",
        )
    return segments
