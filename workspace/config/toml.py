"""The TOML files of a workspace, which are small, flat and UTF-8, and the lines of their errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workspace.git.reader import GitReader

CONFIG_PATH = "docyard.toml"
MAX_FILE_BYTES = 64 * 1024
# The standard library reads dotted keys in time that grows with the cube of the number of their parts. The
# lookahead prevents backtracking, because possessive groups have an error in some releases of Python 3.11
# (CPython issue 106052).
DEEP_KEY = re.compile(
    rb"""(?:(?:(?<![\w-])[\w-]++|(?<!\\)"(?=((?:[^"\\\n]|\\.)*))\1"|'[^'\n]*+')[ \t]*+\.[ \t]*+){20}"""
)

# Before Python 3.14, only the message of the error has the line.
_ERROR_LOCATION = re.compile(r"\(at line (\d+), column \d+\)$")
_MAX_MESSAGE_LENGTH = 200


class InvalidToml(ValueError):
    """An error: a file cannot be read. `reason` is a phrase that follows the file's name in a message.

    `line` counts from 1; None is an unknown line.
    """

    def __init__(self, reason: str, fix: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
        self.line = line


def read_bytes(git: GitReader, blob: str) -> bytes:
    """Return the bytes of a file; for a file over MAX_FILE_BYTES, more zero bytes than the limit allows."""
    data = git.blob_within(blob, MAX_FILE_BYTES)
    return bytes(MAX_FILE_BYTES + 1) if data is None else data


def load_toml(data: bytes, max_bytes: int = MAX_FILE_BYTES) -> dict[str, object]:
    """Return the tables of a file.

    Raises InvalidToml for a file that is over `max_bytes`, nested too deeply, not UTF-8 or not TOML, and for
    a number with too many digits.
    """
    import tomllib  # imported late, because most workspaces have no such file

    if len(data) > max_bytes:
        raise InvalidToml(f"is over {max_bytes // 1024} KiB", "Shorten it and commit it.")
    if DEEP_KEY.search(data):
        raise InvalidToml("is nested too deeply", "Keep its values flat.")
    try:
        return tomllib.loads(decode_text(data))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidToml("is not UTF-8", "Save it as UTF-8 and commit it.", line) from error
    except RecursionError as error:
        raise InvalidToml("is nested too deeply", "Keep its values flat.") from error
    except tomllib.TOMLDecodeError as error:
        match = _ERROR_LOCATION.search(str(error))
        line = int(match[1]) if match else data.count(b"\n") + 1
        raise InvalidToml(
            f"is not TOML: {_truncate(str(error))}", "Correct that line and commit it.", line
        ) from error
    except ValueError as error:  # Python does not parse a number with thousands of digits
        raise InvalidToml("contains a number that is too large", "Shorten it and commit it.") from error


def decode_text(data: bytes) -> str:
    """Return the text of a file without a byte order mark. Bytes that are not UTF-8 are an error."""
    return data.decode("utf-8-sig")


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE_LENGTH else text[:_MAX_MESSAGE_LENGTH] + "…"
