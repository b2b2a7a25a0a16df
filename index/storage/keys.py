"""The user's own key: 32 random bytes outside every repository, with which cursors and indexes are sealed.

The key that builder and readers of an artifact share: 32 bytes in a file that only its owner can read.
"""

from __future__ import annotations

import os
import secrets
import stat
from functools import cache
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError

KEY_BYTES = 32


@cache
def load_user_key() -> bytes:
    """Give this user's key, made at its first use; where no file can be kept, one for this process alone."""
    from platformdirs import user_state_path

    return load_or_create_key(user_state_path("docyard", appauthor=False) / "key") or secrets.token_bytes(
        KEY_BYTES
    )


def load_or_create_key(file: Path) -> bytes | None:
    """Read the key in a file, made if it is missing; None if there can be none that is this user's alone."""
    for _ in range(2):
        try:
            key = read_private_key(file)
        except FileNotFoundError:
            try:
                _create(file)
            except OSError:
                return None
        except OSError:
            return None
        else:
            return key
    return None


def read_private_key(file: Path) -> bytes | None:
    """Read the key in a file; None if it is none, or is not this user's alone. Raises OSError."""
    # A pipe in its place must not keep us waiting.
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


def _create(file: Path) -> None:
    """Link a finished file into place, so that two processes which start together agree on one key."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(draft, file)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)


class InvalidKeyFile(WorkspaceError):
    """A key file that cannot be used: it is missing, of another length, or others may read it."""

    code: ClassVar[str] = "INVALID_KEY_FILE"


def read_key(file: Path) -> bytes:
    """Read the key in a file. Raises InvalidKeyFile."""
    try:
        # The user names this file, and secrets are often mounted as links.
        key = read_private_key(Path(os.path.realpath(file)))
    except FileNotFoundError:
        raise InvalidKeyFile(
            "the key file does not exist", fix="Make one with `docyard build --key FILE`, and copy that."
        ) from None
    except OSError as error:
        raise InvalidKeyFile(
            f"the key file cannot be read: {error.strerror}", fix="Name a file that this user can read."
        ) from error
    if key is None:
        raise InvalidKeyFile(
            f"the key file must hold exactly {KEY_BYTES} bytes, and only its owner may be able to read it",
            fix="Run `chmod 600` on it, or make a new one with `head -c 32 /dev/urandom > FILE`.",
        )
    return key
