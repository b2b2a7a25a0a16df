"""The key that builder and readers of an artifact share: 32 bytes in a file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from index.storage.keys import KEY_BYTES, private_key
from workspace.errors import WorkspaceError


class InvalidKeyFile(WorkspaceError):
    """A key file that cannot be used: it is missing, of another length, or others may read it."""

    code: ClassVar[str] = "INVALID_KEY_FILE"


def read_key(file: Path) -> bytes:
    """Read the key in a file. Raises InvalidKeyFile."""
    try:
        # The user names this file, and secrets are often mounted as links.
        key = private_key(Path(os.path.realpath(file)))
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
