"""The file that tokens are kept in: `docyard/tokens.json` in the common Git directory, of mode 600.

    {
      "tokens": [
        {"digest": "<64 hex digits>", "email": "ana@example.org", "name": "Ana Li", "token": "ana"}
      ],
      "version": 1
    }

It is replaced whole, in one step, under a lock. One that others can read or write, or own, is not used: who
can write it can name themselves anyone, and who can read it can make the seals of all.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git.private_folder import is_closed_to_us
from workspace.policy.person import InvalidPerson, Known, valid_person

FILE = "docyard/tokens.json"
VERSION = 1
MAX_BYTES = 2_000_000

_IS_DIGEST = re.compile("[0-9a-f]{64}")
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_STAMP = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


class UnsafeTokens(WorkspaceError):
    """The file of tokens is not used: someone else could have read it, or written it. `reason` says why."""

    code: ClassVar[str] = "UNSAFE_TOKENS"

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"the file of tokens is not used: {reason}", fix=fix, file=FILE, reason=reason)


class DamagedTokens(WorkspaceError):
    """The file of tokens cannot be understood. It is neither used nor overwritten. `reason` says why."""

    code: ClassVar[str] = "DAMAGED_TOKENS"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the file of tokens is damaged: {reason}",
            fix=f"Bring {FILE} in the Git folder back from a copy, or remove it and make the tokens anew.",
            file=FILE,
            reason=reason,
        )


class TokenFile:
    """The tokens of a repository by their names, read again whenever the file is another."""

    def __init__(self, common_dir: Path) -> None:
        self._common_dir = common_dir
        self._path = common_dir / FILE
        self._last: tuple[tuple[int, ...], Mapping[str, Known]] | None = None

    def read(self) -> Mapping[str, Known]:
        """What is kept; nothing where there is no file. Raises UnsafeTokens, DamagedTokens."""
        if self._path.parent.is_symlink():
            raise UnsafeTokens("it lies behind a link", "Make `docyard` in the Git folder a folder.")
        try:
            handle = os.open(self._path, _FLAGS)
        except FileNotFoundError:
            return {}
        except OSError as error:
            if is_closed_to_us(self._common_dir):
                return {}  # another user's tokens: none of them is known here
            if error.errno == errno.ELOOP:
                raise UnsafeTokens("it is a link", "Remove the link.") from None
            raise UnsafeTokens(
                f"it cannot be read ({error.strerror})", "Only the user who made it can use it."
            ) from None
        try:
            status = os.fstat(handle)
            _check(status)
            stamp = tuple(getattr(status, name) for name in _STAMP)
            last = self._last
            if last is not None and last[0] == stamp:
                return last[1]
            with open(handle, "rb", closefd=False) as stream:
                found = decode(stream.read(MAX_BYTES + 1))
        finally:
            os.close(handle)
        self._last = stamp, found
        return found

    @contextmanager
    def changing(self) -> Iterator[dict[str, Known]]:
        """A copy to be changed, which takes the file's place if all goes well; other writers wait.

        Raises what `read` does, AnotherWriter, and CannotWrite.
        """
        from workspace.publishing.locks import CannotWrite, docyard_lock

        try:
            with docyard_lock(self._common_dir):
                before = self.read()
                kept = dict(before)
                yield kept
                if kept != before:
                    self._replace(encode(kept))
        except OSError as error:
            raise CannotWrite(error) from error

    def _replace(self, data: bytes) -> None:
        new = self._path.with_name(self._path.name + ".new")
        with suppress(FileNotFoundError):  # one that a crash left
            new.unlink()
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(handle, "wb") as stream:
            os.fchmod(handle, 0o600)  # a folder's default ACL could have given more
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        os.replace(new, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def encode(kept: Mapping[str, Known]) -> bytes:
    """The bytes of the file."""
    tokens = [
        {
            "token": name,
            "name": known.person.name,
            "email": known.person.email,
            "digest": known.key.hex(),
        }
        for name, known in sorted(kept.items())
    ]
    return (json.dumps({"version": VERSION, "tokens": tokens}, sort_keys=True, indent=2) + "\n").encode()


def decode(data: bytes) -> dict[str, Known]:
    """What the bytes of a file say. Raises DamagedTokens."""
    if len(data) > MAX_BYTES:
        raise DamagedTokens("it is too large")
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError):  # bytes that are no text are a ValueError too
        raise DamagedTokens("it is not JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("tokens"), list):
        raise DamagedTokens("it has no list of tokens")
    if found.get("version") != VERSION:
        raise DamagedTokens("it is of another version")
    kept: dict[str, Known] = {}
    for one in found["tokens"]:
        fields = (
            [one.get(name) for name in ("token", "name", "email", "digest")] if isinstance(one, dict) else []
        )
        texts = [field for field in fields if isinstance(field, str)]
        if len(texts) != 4 or not _IS_DIGEST.fullmatch(texts[3]) or texts[0] in kept:
            raise DamagedTokens("a token in it is none")
        try:
            kept[texts[0]] = Known(valid_person(*texts[:3]), bytes.fromhex(texts[3]))
        except InvalidPerson:
            raise DamagedTokens("a token in it is none") from None
    return kept


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeTokens("it is no regular file", "Remove what is there.")
    if status.st_uid != os.geteuid():
        raise UnsafeTokens("it belongs to another user", "Make tokens as the user who runs the server.")
    if status.st_mode & 0o077:
        raise UnsafeTokens(
            "others can read or write it",
            f"Run chmod 600 on {FILE} in the Git folder; if others could have used it, revoke its tokens.",
        )
