"""One exchange with a remote: the callbacks for libgit2, and the errors of an exchange.

Messages of a remote or a library are shown without secrets, control characters and local paths.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pygit2
from pygit2.enums import CredentialType
from pygit2.remotes import PushUpdate, TransferProgress

from workspace.errors import WorkspaceError
from workspace.git.remotes.credentials import Login
from workspace.git.remotes.url import RemoteUrl, Transport

_MAX_MESSAGE_LENGTH = 500
_MAX_INPUT_LENGTH = 5_000
_MAX_REMOTE_OUTPUT_LENGTH = 4_000
_URL_USER = re.compile(r"(://)[^/@\s]{1,500}@")
_CONTROLS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b.|[\x00-\x1f\x7f-\x9f]+")
_PATH = re.compile(r"(?<![\w:/.])(?:file://)?/(?:[^\s'\"/]+/)+[^\s'\":]*|(?<=')/[^']{0,1000}(?=')")


def clean_message(text: str, secrets: Iterable[str] = ()) -> str:
    """Return one line, cut after 500 characters, without secrets, user names in URLs and absolute paths."""
    text = text[:_MAX_INPUT_LENGTH]
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = _URL_USER.sub(r"\1***@", text)
    text = " ".join(_CONTROLS.sub(" ", text).split())
    text = "".join(char if char.isprintable() else "?" for char in text)
    text = _PATH.sub("the folder", text).strip(" .")
    return text if len(text) <= _MAX_MESSAGE_LENGTH else f"{text[:_MAX_MESSAGE_LENGTH]}…"


NULL_ID = "0" * 40
"""The id of a missing ref in Git's protocol."""

_DEFAULT_SSH_USER = "git"
Progress = Callable[[float, float | None, str | None], None]


class RemoteUnreachable(WorkspaceError):
    """An error: a failed or lost connection to a remote; `reason` is the error message."""

    code: ClassVar[str] = "REMOTE_UNREACHABLE"

    def __init__(self, remote: str, reason: str) -> None:
        super().__init__(
            f"the remote `{remote}` could not be reached, or closed the connection: {reason}",
            fix="Nothing is lost. Try again when the remote can be reached.",
            remote=remote,
            reason=reason,
        )


class PushNotBegun(RemoteUnreachable):
    """An error: a push whose connection failed before it sent a commit, so the remote has not changed."""


class RemoteTooSlow(WorkspaceError):
    """An error: an exchange with a remote that exceeded its time limit, `seconds`."""

    code: ClassVar[str] = "REMOTE_TOO_SLOW"

    def __init__(self, remote: str, seconds: float) -> None:
        super().__init__(
            f"the remote `{remote}` did not finish within {seconds:g} seconds",
            fix="Nothing is lost. Try again, or raise remote.seconds in docyard.toml.",
            remote=remote,
            seconds=seconds,
        )


class RemoteTooLarge(WorkspaceError):
    """An error: a fetch of more than `limit` bytes."""

    code: ClassVar[str] = "REMOTE_TOO_LARGE"

    def __init__(self, remote: str, limit: int) -> None:
        super().__init__(
            f"the remote `{remote}` sent more than {limit:,} bytes, so the fetch was ended",
            fix="If this size is expected, raise remote.fetch_bytes in docyard.toml, or run git fetch once.",
            remote=remote,
            limit=limit,
        )


class RemoteDenied(WorkspaceError):
    """An error: an exchange to which the remote denied access."""

    code: ClassVar[str] = "REMOTE_DENIED"

    def __init__(self, remote: str, reason: str, fix: str) -> None:
        super().__init__(f"the remote `{remote}` denied access: {reason}", fix=fix, remote=remote)


class HostNotTrusted(WorkspaceError):
    """An error: a remote whose key or certificate could not be verified; nothing was sent."""

    code: ClassVar[str] = "HOST_NOT_TRUSTED"

    def __init__(self, remote: str, address: RemoteUrl) -> None:
        if address.transport is Transport.SSH:
            reason = "its key is not in known_hosts"
            fix = (
                f"Connect once with ssh to {address.host}, compare the key's fingerprint with that of its "
                "owner, and accept the key."
            )
        else:
            reason, fix = (
                "its certificate is not valid",
                "Add the authority that signed it to the system's trusted authorities.",
            )
        super().__init__(
            f"the identity of the remote `{remote}` is not verified: {reason}", fix=fix, remote=remote
        )


@dataclass(frozen=True, slots=True)
class Peer:
    """A remote in one exchange: its local name, its address, its credentials, and the limits.

    `answer_seconds` limits the time without data from the remote, `seconds` the full exchange, and
    `fetch_bytes` the bytes that the remote may send. `ssh_keys` are private keys, tried after the agent.
    """

    name: str
    address: RemoteUrl
    login: Login | None = None
    has_agent: bool = False
    ssh_keys: tuple[Path, ...] = ()
    answer_seconds: float = 30.0
    seconds: float = 600.0
    fetch_bytes: int = 2_000_000_000

    def build_error(self, error: Exception) -> WorkspaceError:
        """Return the error for a failed exchange, with the message of libgit2 without secrets or paths."""
        secrets = (self.login.secret,) if self.login is not None else ()
        reason = clean_message(str(error), (*secrets, self.address.password or ""))
        # pygit2 returns neither the class nor the code of libgit2's errors.
        if "certificate" in reason or "hostkey" in reason:
            return HostNotTrusted(self.name, self.address)
        if "authenticat" in reason or reason.endswith(("code: 401", "code: 403")):
            return RemoteDenied(self.name, reason, _suggest_credentials(self.address))
        return RemoteUnreachable(self.name, reason or "it returned no error message")


class RefMoved(Exception):
    """An error: a ref of the remote is not at the commit from which a push is to move it."""


class Exchange(pygit2.RemoteCallbacks):
    """The callbacks for libgit2 during one exchange.

    `rejections` maps the names of rejected refs to the reasons of the remote. `remote_output` is the
    text that the remote prints for people. `expected_commits` are the commits at which the pushed refs of the
    remote must be, by name, and None for those that must not exist; refs that it lacks may be anywhere.
    `has_begun_push` is True if a push may have sent something.
    """

    def __init__(self, peer: Peer, progress: Progress | None = None) -> None:
        super().__init__()
        self.rejections: dict[str, str] = {}
        self.remote_output = ""
        self.expected_commits: Mapping[str, str | None] = {}
        self.has_begun_push = False
        self._peer = peer
        self._progress = progress
        self._deadline = time.monotonic() + peer.seconds
        self._key_factories = self._iterate_keys()
        self._has_sent_login = False

    def credentials(
        self, url: str, username_from_url: str | None, allowed_types: CredentialType
    ) -> pygit2.Username | pygit2.UserPass | pygit2.Keypair:
        self._check_deadline()
        user = username_from_url or self._peer.address.user or _DEFAULT_SSH_USER
        if self._peer.address.transport is Transport.SSH:
            if allowed_types & CredentialType.SSH_KEY:
                make_key = next(self._key_factories, None)
                if make_key is None:
                    raise self._make_denied_error("it accepts none of the offered keys")
                return make_key(user)
            if allowed_types & CredentialType.USERNAME:
                return pygit2.Username(user)
            raise self._make_denied_error("it requires a password")
        login = self._peer.login
        if login is None or not allowed_types & CredentialType.USERPASS_PLAINTEXT:
            if self._peer.address.is_private:
                raise self._make_denied_error("it requires a password, and none is set")
            raise self._make_denied_error("it requires a password, but the connection is not encrypted")
        if self._has_sent_login:
            raise self._make_denied_error("the token or password is not accepted")
        if not self._peer.address.is_same_server(url):
            raise self._make_denied_error("it redirects to another host, which must not receive the token")
        self._has_sent_login = True
        return pygit2.UserPass(*login)

    def certificate_check(self, certificate: None, valid: bool, host: bytes) -> bool:
        if not valid:
            raise HostNotTrusted(self._peer.name, self._peer.address)
        return True

    def sideband_progress(self, string: str) -> None:
        self._check_deadline()
        self.remote_output = (self.remote_output + string)[-_MAX_REMOTE_OUTPUT_LENGTH:]

    def transfer_progress(self, stats: TransferProgress) -> None:
        self._check_deadline()
        if stats.received_bytes > self._peer.fetch_bytes:
            raise RemoteTooLarge(self._peer.name, self._peer.fetch_bytes)
        self._report(stats.indexed_objects, stats.total_objects)

    def push_transfer_progress(self, objects_pushed: int, total_objects: int, bytes_pushed: int) -> None:
        self._check_deadline()
        self._report(objects_pushed, total_objects)

    def push_negotiation(self, updates: list[PushUpdate]) -> None:
        # The remote moves a ref only from the commit that libgit2 has read at the start of this exchange.
        for update in updates:
            old_commit = str(update.src)
            expected = self.expected_commits.get(update.dst_refname, old_commit)
            if old_commit not in (expected or NULL_ID, str(update.dst)):
                raise RefMoved(update.dst_refname)
        self.has_begun_push = True

    def push_update_reference(self, refname: str, message: str | None) -> None:
        if message is not None:
            self.rejections[refname] = message

    def _report(self, completed: int, total: int) -> None:
        if self._progress is not None and total:
            self._progress(completed, total, None)

    def _check_deadline(self) -> None:
        if time.monotonic() > self._deadline:
            raise RemoteTooSlow(self._peer.name, self._peer.seconds)

    def _make_denied_error(self, reason: str) -> RemoteDenied:
        return RemoteDenied(self._peer.name, reason, _suggest_credentials(self._peer.address))

    def _iterate_keys(self) -> Iterator[Callable[[str], pygit2.Keypair]]:
        """Yield the keys to offer over SSH, each once: libgit2 calls again until no key remains."""
        if self._peer.has_agent:
            yield pygit2.KeypairFromAgent
        for key in self._peer.ssh_keys:
            public_key_file = key.with_name(key.name + ".pub")
            yield partial(
                _make_keypair, str(public_key_file) if public_key_file.is_file() else None, str(key)
            )


def _make_keypair(public_key: str | None, private_key: str, user: str) -> pygit2.Keypair:
    return pygit2.Keypair(user, public_key, private_key, "")


def _suggest_credentials(address: RemoteUrl) -> str:
    if address.transport is Transport.SSH:
        return (
            "Add a key that it accepts to the SSH agent by ssh-add, or name a key file in DOCYARD_SSH_KEY "
            "(docs/remotes.md)."
        )
    if address.transport is Transport.HTTP and not address.is_private:
        return "Set a URL of the remote that begins with https://; no token is sent over http://."
    return "Put a token for it into DOCYARD_REMOTE_TOKEN, or into the credential file (docs/remotes.md)."
