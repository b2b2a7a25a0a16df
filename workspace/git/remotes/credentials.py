"""Credentials for a remote: an SSH agent, SSH keys, and tokens of the environment or a private file.

A secret is never stored in the repository, never printed, and only sent to its own host.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import unquote, urlsplit

from workspace.errors import WorkspaceError
from workspace.git.remotes.url import RemoteUrl, Transport

FORGE_LOGINS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "github.com": ("x-access-token", ("GH_TOKEN", "GITHUB_TOKEN")),
    "gitlab.com": ("oauth2", ("GITLAB_TOKEN",)),
}
"""For the host of each forge, the user name for a token, and the environment variables with tokens."""

_DEFAULT_USER = "git"
_MAX_FILE_BYTES = 1_000_000


class UnsafeCredentials(WorkspaceError):
    """An error: the credential file is not used; `reason` states why, such as access by other users."""

    code: ClassVar[str] = "UNSAFE_CREDENTIALS"

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"the credential file is not used: {reason}", fix=fix, reason=reason)


class Login(NamedTuple):
    """A user name, and a password or a token."""

    user: str
    secret: str

    def __repr__(self) -> str:
        return "Login(***)"


@dataclass(frozen=True, slots=True)
class Access:
    """Access to remotes: the sources of this user's secrets, as set in the environment.

    `token` is used for each synchronized remote, and `forge_tokens` maps hosts to tokens. `user` is the user
    name for remotes whose URL has none. `file` contains lines such as `https://user:token@host`
    (git-credential-store). Private keys in `ssh_keys` have no passphrase.
    """

    token: str | None = field(default=None, repr=False)
    user: str | None = None
    forge_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    file: Path | None = None
    has_agent: bool = False
    ssh_keys: tuple[Path, ...] = ()

    def find_login(self, address: RemoteUrl, repository_folders: Iterable[Path]) -> Login | None:
        """Return the login for a remote over HTTP, or None.

        The result is None if there is no secret for the remote, or if the connection is insecure.
        `repository_folders` are the folders in which no credential file is read. Raises UnsafeCredentials.
        """
        if address.transport not in (Transport.HTTP, Transport.HTTPS) or not address.is_private:
            return None
        default_user = FORGE_LOGINS.get(address.host, (_DEFAULT_USER, ()))[0]
        user = address.user or self.user or default_user
        if address.password:
            return Login(user, address.password)
        if self.token:
            return Login(user, self.token)
        if self.file is not None:
            for login in _find_logins(_read_file(self.file, repository_folders), address):
                if address.user in (None, login.user):
                    return login
        forge_token = self.forge_tokens.get(address.host) if address.transport is Transport.HTTPS else None
        return Login(user, forge_token) if forge_token else None


def _read_file(file: Path, repository_folders: Iterable[Path]) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UnsafeCredentials(
            f"it cannot be read ({error.strerror})", "Make it a file that you can read, of mode 600."
        ) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise UnsafeCredentials("it is not a regular file", "Make it a file, of mode 600.")
    with open(handle, "rb") as stream:
        if os.name == "posix" and status.st_uid not in (os.geteuid(), 0):
            raise UnsafeCredentials("it belongs to another user", "Create your own file, of mode 600.")
        if os.name == "posix" and status.st_mode & 0o077:
            raise UnsafeCredentials("others can read or write it", "Run chmod 600 on it.")
        resolved_file = file.resolve()
        if any(resolved_file.is_relative_to(folder.resolve()) for folder in repository_folders):
            raise UnsafeCredentials("it is in the repository", "Move it out of the repository.")
        return stream.read(_MAX_FILE_BYTES).decode("utf-8", "replace")


def _find_logins(text: str, address: RemoteUrl) -> Iterable[Login]:
    for line in text.splitlines():
        try:
            parts = urlsplit(line.strip())
            is_match = bool(parts.password) and address.is_same_server(line.strip())
        except ValueError:
            continue
        if is_match and parts.password:
            yield Login(unquote(parts.username or _DEFAULT_USER), unquote(parts.password))
