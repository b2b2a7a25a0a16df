"""Keys: the user's own key, the keys that sign what clients keep, and the key of an artifact.

The user's key seals the files of indexes on this machine. It has 32 random bytes and is stored outside every
repository. To rotate it, the user renames the file `key` to `old-key`: the next process creates a new key,
and builds its indexes again.

Clients keep cursors, handles and the secrets of claims, and give them back to any node. The user's key signs
them (`SigningKeys`), or a key that nodes share (`index.postgres.shared_keys`). What the old key has signed is
valid until the user removes `old-key`.

The key of an artifact is shared by its builder and its readers. It has 32 bytes, in a file that only the
owner can read.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import ClassVar

from workspace.errors import WorkspaceError

KEY_BYTES = 32


_lock = Lock()


def load_user_key() -> bytes:
    """Return this user's key, created on first use. Without a writable file, it is lost with the process."""
    # Without the lock, two threads of one process could get different keys.
    with _lock:
        return _load_user_key()


class SigningKeys:
    """The keys that sign what clients keep: those of this user."""

    def get_signing_key(self) -> bytes:
        """Return the key for new signatures."""
        return load_user_key()

    def list_verification_keys(self) -> Iterator[bytes]:
        """Yield the keys whose signatures are valid, the most likely first."""
        yield load_user_key()
        with suppress(OSError):
            if (old_key := read_private_key(_locate_user_key("old-key"))) is not None:
                yield old_key

    def get_session_key(self, database: str) -> bytes:
        """Return the key of the CSRF tokens of sessions in a database, which its description names."""
        return hmac.digest(load_user_key(), b"docyard sessions\n" + database.encode(), "sha256")


USER_KEYS = SigningKeys()
"""The keys of this user, which sign unless nodes share keys."""


@cache
def _load_user_key() -> bytes:
    return load_or_create_key(_locate_user_key("key")) or secrets.token_bytes(KEY_BYTES)


def _locate_user_key(name: str) -> Path:
    from platformdirs import user_state_path

    return user_state_path("docyard", appauthor=False) / name


def load_or_create_key(file: Path) -> bytes | None:
    """Return the key in a file, created if missing; None if this user has no valid, private file there."""
    for _ in range(2):
        try:
            key = read_private_key(file)
        except FileNotFoundError:
            try:
                _create_key_file(file)
            except OSError:
                return None
        except OSError:
            return None
        else:
            return key
    return None


def read_private_key(file: Path) -> bytes | None:
    """Return the key in a file. Raises OSError.

    Returns None if it is not a regular file of the right size that belongs to this user alone.
    """
    # Opening a pipe with this name must not block.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(file, flags)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
            return None
        key = stream.read(KEY_BYTES + 1)
    return key if len(key) == KEY_BYTES else None


def write_key(file: Path, key: bytes) -> None:
    """Write a key to a private file, in place of another one. Raises OSError."""
    with _write_draft(file, key) as draft:
        draft.replace(file)


def _create_key_file(file: Path) -> None:
    """Link a finished draft to the key file, so that two processes that start together use one key."""
    with _write_draft(file, secrets.token_bytes(KEY_BYTES)) as draft, suppress(FileExistsError):
        os.link(draft, file)


@contextmanager
def _write_draft(file: Path, key: bytes) -> Iterator[Path]:
    """Yield a private file with a key, in the folder of `file`; remove it unless it was renamed."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(key)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


class InvalidKeyFile(WorkspaceError):
    """A key file that is missing, unreadable, of a wrong size, or accessible to other users."""

    code: ClassVar[str] = "INVALID_KEY_FILE"


def read_key_file(file: Path) -> bytes:
    """Return the key in a file. Raises InvalidKeyFile."""
    try:
        # The user names this file, and secrets are often mounted as links.
        key = read_private_key(Path(os.path.realpath(file)))
    except FileNotFoundError:
        raise InvalidKeyFile(
            "the key file does not exist", fix="Create one with `docyard build --key FILE`, and copy it."
        ) from None
    except OSError as error:
        raise InvalidKeyFile(
            f"the key file cannot be read: {error.strerror}", fix="Name a file that this user can read."
        ) from error
    if key is None:
        raise InvalidKeyFile(
            f"the key file must contain exactly {KEY_BYTES} bytes, and only its owner may be able to read it",
            fix="Run `chmod 600` on it, or create a new one with `head -c 32 /dev/urandom > FILE`.",
        )
    return key
