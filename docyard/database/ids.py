"""Random ids with a prefix for the kind of a row, such as `dsq_4k2m9x0a7bqe`."""

from __future__ import annotations

import base64
import secrets
import time

SHORT_ID_CHARACTERS = 8
LONG_ID_CHARACTERS = 12


def create_id(prefix: str, characters: int = SHORT_ID_CHARACTERS) -> str:
    """Return a new id: the prefix, an underscore, and random digits and lower-case letters."""
    # One call for all characters, because a server records hundreds of rows a second.
    text = base64.b32hexencode(secrets.token_bytes(characters)).decode().lower()
    return f"{prefix}_{text[:characters]}"


def read_clock_ms() -> int:
    """Return the current time in milliseconds since 1970 (UTC)."""
    return time.time_ns() // 1_000_000
