"""Named tokens, which prove that a person is acting, and identify that person.

A token is a secret, `docyard_<name>_<48 hex digits>`, shown once at its creation. Its SHA-256 is stored: 192
random bits need no slow hash. That digest is also the key of the person's seals, so its file is private. Git
does not fetch, clone or push the file.

The file of tokens is `docyard/tokens.json` in the common Git directory, of mode 600.

    {
      "tokens": [
        {"digest": "<64 hex digits>", "email": "ana@example.org", "name": "Ana Li", "token": "ana"}
      ],
      "version": 1
    }

The file is replaced atomically, under a lock. A file that others own, read or write is not used. A writer
could claim any name, and a reader could create the seals of every person.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from workspace.config.tables import TOKEN_NAME
from workspace.errors import WorkspaceError
from workspace.git.private_folder import is_closed_to_us

MAX_TEXT = 200
"""The most characters of a person's name, or of an address."""

_SUGGESTED = 39
_NO_ADDRESS = re.compile(r"[<>\s]")


class InvalidPerson(WorkspaceError):
    """A token's name, or the name or address of its person, is invalid. `field` names the text."""

    code: ClassVar[str] = "INVALID_PERSON"


class Person(NamedTuple):
    """The owner of a token: the token's name, and the name and address recorded with their actions."""

    token: str
    name: str
    email: str


def is_same(one: Person, other: Person) -> bool:
    """Return True if two tokens are one person's, who is identified by the address."""
    return one.email.casefold() == other.email.casefold()


class KnownPerson(NamedTuple):
    """A person and the key of their seals, which is never shown."""

    person: Person
    key: bytes

    def __repr__(self) -> str:
        return f"Known({self.person!r}, ***)"


def make_person(token: str, name: str, email: str) -> Person:
    """Return a person with a token of this name. Raises InvalidPerson."""
    if not TOKEN_NAME.fullmatch(token):
        suggestion = re.sub("[^a-z0-9.-]+", "-", token[:_SUGGESTED].lower()).strip("-.")
        example = f", such as '{suggestion}'" if TOKEN_NAME.fullmatch(suggestion) else ""
        raise InvalidPerson(
            "the name of the token is invalid",
            fix=f"Use at most 39 lower-case letters, digits, '.' and '-'{example}.",
            field="token",
        )
    display_name = " ".join(_check_text(name, "name").split())
    address = _check_text(email, "email").strip()
    if not display_name or "<" in display_name or ">" in display_name:
        raise InvalidPerson("the name is empty, or contains < or >", fix="Give a name.", field="name")
    if not address or _NO_ADDRESS.search(address) or not address.isprintable():
        raise InvalidPerson(
            "the address is empty, or contains white space, < or >",
            fix="Give an e-mail address.",
            field="email",
        )
    return Person(token, display_name, address)


def _check_text(text: str, field: str) -> str:
    if len(text) > MAX_TEXT:
        raise InvalidPerson(
            f"the {field} has {len(text):,} characters; the limit is {MAX_TEXT}",
            fix="Shorten it.",
            field=field,
            limit=MAX_TEXT,
        )
    if not text.isprintable():
        raise InvalidPerson(f"the {field} contains invisible characters", fix="Remove them.", field=field)
    return text


FILE = "docyard/tokens.json"
VERSION = 1
MAX_BYTES = 2_000_000
_IS_DIGEST = re.compile("[0-9a-f]{64}")
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_STAMP = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


class UnsafeTokens(WorkspaceError):
    """The file of tokens is not used: others could have read or written it. `reason` is the cause."""

    code: ClassVar[str] = "UNSAFE_TOKENS"

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"the file of tokens is not used: {reason}", fix=fix, file=FILE, reason=reason)


class DamagedTokens(WorkspaceError):
    """The file of tokens is invalid. It is neither used nor overwritten. `reason` is the cause."""

    code: ClassVar[str] = "DAMAGED_TOKENS"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the file of tokens is damaged: {reason}",
            fix=f"Restore {FILE} in the Git folder from a backup, or remove it and create the tokens again.",
            file=FILE,
            reason=reason,
        )


class TokenFile:
    """The tokens of a repository by their names, read again whenever the file has changed."""

    def __init__(self, common_dir: Path) -> None:
        self._common_dir = common_dir
        self._path = common_dir / FILE
        self._last: tuple[tuple[int, ...], Mapping[str, KnownPerson]] | None = None

    def read(self) -> Mapping[str, KnownPerson]:
        """Return the tokens; return none if there is no file. Raises UnsafeTokens, DamagedTokens."""
        if self._path.parent.is_symlink():
            raise UnsafeTokens(
                "its folder is a symbolic link", "Replace the link `docyard` in the Git folder by a folder."
            )
        try:
            handle = os.open(self._path, _FLAGS)
        except FileNotFoundError:
            return {}
        except OSError as error:
            if is_closed_to_us(self._common_dir):
                return {}  # the tokens of another user are unknown here
            if error.errno == errno.ELOOP:
                raise UnsafeTokens("it is a link", "Remove the link.") from None
            raise UnsafeTokens(
                f"it cannot be read ({error.strerror})", "Only the user who made it can use it."
            ) from None
        try:
            status = os.fstat(handle)
            _check_status(status)
            stamp = tuple(getattr(status, name) for name in _STAMP)
            last = self._last
            if last is not None and last[0] == stamp:
                return last[1]
            with open(handle, "rb", closefd=False) as stream:
                tokens = decode_tokens(stream.read(MAX_BYTES + 1))
        finally:
            os.close(handle)
        self._last = stamp, tokens
        return tokens

    @contextmanager
    def edit(self) -> Iterator[dict[str, KnownPerson]]:
        """Yield a copy of the tokens; write the copy to the file if the block succeeds. Other writers wait.

        Raises the errors of `read`, AnotherWriter, and CannotWrite.
        """
        from workspace.publishing.locks import CannotWrite, docyard_lock

        try:
            with docyard_lock(self._common_dir):
                before = self.read()
                tokens = dict(before)
                yield tokens
                if tokens != before:
                    self._replace(encode_tokens(tokens))
        except OSError as error:
            raise CannotWrite(error) from error

    def _replace(self, data: bytes) -> None:
        new = self._path.with_name(self._path.name + ".new")
        with suppress(FileNotFoundError):  # left by a crash
            new.unlink()
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(handle, "wb") as stream:
            os.fchmod(handle, 0o600)  # the default ACL of the folder may have granted more
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        os.replace(new, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def encode_tokens(tokens: Mapping[str, KnownPerson]) -> bytes:
    """Return the bytes of the file."""
    records = [
        {
            "token": name,
            "name": known.person.name,
            "email": known.person.email,
            "digest": known.key.hex(),
        }
        for name, known in sorted(tokens.items())
    ]
    return (json.dumps({"version": VERSION, "tokens": records}, sort_keys=True, indent=2) + "\n").encode()


def decode_tokens(data: bytes) -> dict[str, KnownPerson]:
    """Return the tokens in the bytes of a file. Raises DamagedTokens."""
    if len(data) > MAX_BYTES:
        raise DamagedTokens(f"it has more than {MAX_BYTES:,} bytes")
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError):  # bytes that are not UTF-8 raise ValueError too
        raise DamagedTokens("it is not JSON") from None
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), list):
        raise DamagedTokens("'tokens' must be a list")
    if content.get("version") != VERSION:
        raise DamagedTokens(f"'version' must be {VERSION}")
    tokens: dict[str, KnownPerson] = {}
    for number, record in enumerate(content["tokens"], 1):
        fields = (
            [record.get(name) for name in ("token", "name", "email", "digest")]
            if isinstance(record, dict)
            else []
        )
        texts = [field for field in fields if isinstance(field, str)]
        if len(texts) != 4 or not _IS_DIGEST.fullmatch(texts[3]) or texts[0] in tokens:
            raise DamagedTokens(f"entry {number} of 'tokens' is not a token record")
        try:
            tokens[texts[0]] = KnownPerson(make_person(*texts[:3]), bytes.fromhex(texts[3]))
        except InvalidPerson:
            raise DamagedTokens(f"entry {number} of 'tokens' is not a token record") from None
    return tokens


def _check_status(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeTokens("it is not a regular file", "Remove it.")
    if status.st_uid != os.geteuid():
        raise UnsafeTokens("it belongs to another user", "Make tokens as the user who runs the server.")
    if status.st_mode & 0o077:
        raise UnsafeTokens(
            "others can read or write it",
            f"Run chmod 600 on {FILE} in the Git folder; if others could have used it, revoke its tokens.",
        )


MAX_TOKENS = 1_000
_RANDOM = 24
_SHOWN = 60
_IS_SECRET = re.compile(r"docyard_([a-z0-9][a-z0-9.-]{0,38})_[0-9a-f]{48}")


class InvalidToken(WorkspaceError):
    """The token is unknown. The message contains no part of it."""

    code: ClassVar[str] = "INVALID_TOKEN"

    def __init__(self) -> None:
        super().__init__(
            "the token is unknown in this repository: it was revoked, or made for another repository",
            fix="Create one with `docyard tokens add NAME`, or add an existing one with "
            "`docyard tokens trust NAME`.",
        )


class TokenExists(WorkspaceError):
    """A token of this name exists already."""

    code: ClassVar[str] = "TOKEN_EXISTS"


class UnknownToken(WorkspaceError):
    """No token has this name. `candidates` are the nearest."""

    code: ClassVar[str] = "UNKNOWN_TOKEN"


class Keyring(Protocol):
    """The owners of tokens, by name."""

    def find_known(self, token: str) -> KnownPerson | None:
        """Return the person and the key of a token's name, or None if the name is unknown."""


class Tokens:
    """The tokens that a repository knows, by its common Git directory. Safe in several threads.

    Each method raises UnsafeTokens for a file that others could have read or written, and DamagedTokens for
    an invalid one. Methods that change the file also raise AnotherWriter and CannotWrite.
    """

    def __init__(self, common_dir: Path) -> None:
        self._file = TokenFile(common_dir)

    def add(self, token_name: str, name: str, email: str) -> str:
        """Create a token, and return its secret, which is not stored. Raises InvalidPerson, TokenExists."""
        person = make_person(token_name, name, email)
        secret = f"docyard_{person.token}_{secrets.token_hex(_RANDOM)}"
        self._store_token(person, _hash_secret(secret))
        return secret

    def trust(self, secret: str, name: str, email: str) -> Person:
        """Add a token that was created elsewhere, for this person.

        Raises InvalidToken for a text that is not a token, InvalidPerson, and TokenExists for another token
        of its name. The same token may be added again, with another name or address.
        """
        match = _IS_SECRET.fullmatch(secret)
        if match is None:
            raise InvalidToken()
        person = make_person(match[1], name, email)
        self._store_token(person, _hash_secret(secret))
        return person

    def revoke(self, name: str) -> Person:
        """Remove a token, so that all its approvals no longer count here. Raises UnknownToken."""
        with self._file.edit() as tokens:
            if name not in tokens:
                raise _make_unknown_token_error(name, tokens)
            return tokens.pop(name).person

    def list(self) -> tuple[Person, ...]:
        """Return the people with tokens, in order of the tokens' names."""
        return tuple(known.person for _, known in sorted(self._file.read().items()))

    def all(self) -> Mapping[str, KnownPerson]:
        """Return all current tokens by name."""
        return self._file.read()

    def person(self, secret: str) -> Person:
        """Return the person whose token this is. Raises InvalidToken."""
        digest = _hash_secret(secret)
        owner = None
        # All tokens are compared, each in constant time, so that the duration reveals nothing.
        for known in self._file.read().values():
            if hmac.compare_digest(known.key, digest):
                owner = known.person
        if owner is None:
            raise InvalidToken()
        return owner

    def find_known(self, token: str) -> KnownPerson | None:
        """Return the person and the key of a token's name, or None if the name is unknown."""
        return self._file.read().get(token)

    def key(self, token_name: str) -> bytes | None:
        """Return the key of a token's seals, or None if the name is unknown."""
        known = self.find_known(token_name)
        return None if known is None else known.key

    def _store_token(self, person: Person, digest: bytes) -> None:
        with self._file.edit() as tokens:
            before = tokens.get(person.token)
            if before is not None and not hmac.compare_digest(before.key, digest):
                raise TokenExists(
                    f"the token '{person.token}' exists already",
                    fix=f"Choose another name, or revoke it first: `docyard tokens revoke {person.token}`.",
                )
            if before is None and len(tokens) >= MAX_TOKENS:
                raise TokenExists(
                    f"the limit of {MAX_TOKENS:,} tokens is reached", fix="Revoke unused tokens."
                )
            tokens[person.token] = KnownPerson(person, digest)


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _make_unknown_token_error(name: str, known: Mapping[str, KnownPerson]) -> UnknownToken:
    from workspace.nearest import find_nearest

    shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    close = find_nearest(name, sorted(known))
    return UnknownToken(
        f"there is no token '{shown if shown.isprintable() else ascii(shown)[1:-1]}'",
        fix=f"Did you mean '{close[0]}'?" if close else "Run `docyard tokens list` to see all tokens.",
        candidates=close,
    )
