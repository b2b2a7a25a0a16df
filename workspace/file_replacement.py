"""The replacement of a user's file in one step, unless someone else has changed it meanwhile."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


class ContentChanged(Exception):
    """The content of a file is no longer the one that its replacement is based on."""


def replace_file(file: Path, content: bytes, before: bytes | None) -> None:
    """Replace a file in one step, with its mode and its owner; if `before` is None, create it.

    Raises ContentChanged if the content is no longer `before`, and OSError. The file is then unchanged.
    """
    draft = file.with_name(f".docyard-{secrets.token_hex(8)}.new")
    mode = 0o666 if before is None else 0o600
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            if before is not None:
                status = file.stat()
                with suppress(PermissionError):  # only root may give a file to another user
                    os.fchown(stream.fileno(), status.st_uid, status.st_gid)
                os.fchmod(stream.fileno(), status.st_mode & 0o7777)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if (file.read_bytes() if file.exists() else None) != before:
            raise ContentChanged
        os.replace(draft, file)
    finally:
        with suppress(OSError):
            draft.unlink()
