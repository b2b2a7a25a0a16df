"""Named tokens, which prove that a person is acting, and identify that person.

A token is a secret, `docyard_<name>_<48 hex digits>`, displayed once at its creation. Its SHA-256 is stored:
192 random bits need no slow hash. That digest is also the key of the person's seals, so its file is private.
Git does not fetch, clone or push the file.

The file of tokens is `docyard/tokens.json` in the common Git directory, of mode 600.

    {
      "tokens": [
        {"digest": "<64 hex digits>", "email": "ana@example.org", "name": "Ana Li", "token": "ana"}
      ],
      "version": 1
    }

A token may be restricted: `scopes` are those that it has, and `expires_at` is a time in seconds since 1970.
`old_digests` are those of its secrets before a rotation: seals made with them stay valid. A file in which one
of these fields is present has version 2, so that an earlier Docyard does not take it for an unrestricted one.

If several nodes share the tokens (`workspace.policy.shared_tokens`), the file has version 3, and no tokens.

The file is replaced atomically, under a lock. A file that other users own, or can read or write, is not used.
A user who can write it could claim any name, and one who can read it could create the seals of every person.
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
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from workspace.config.tables import TOKEN_NAME
from workspace.errors import WorkspaceError
from workspace.git.private_folder import is_inaccessible

MAX_TEXT_LENGTH = 200
"""The maximum length of a person's name, and of an e-mail address, in characters."""

READ_SCOPE, WRITE_SCOPE, REVIEW_SCOPE, ADMIN_SCOPE = "docs:read", "docs:write", "docs:review", "docs:admin"
SCOPES = (READ_SCOPE, WRITE_SCOPE, REVIEW_SCOPE, ADMIN_SCOPE)
"""The scopes of tokens: to read, to write, to review, and to administer.

A review is an approval, a request for changes, or a merge of protected changes.
"""

ALL_SCOPES = frozenset(SCOPES)

_MAX_TOKEN_NAME_LENGTH = 39
_INVALID_IN_EMAIL = re.compile(r"[<>\s]")


class InvalidPerson(WorkspaceError):
    """An error: a token's name, or its person's name or address, is invalid. `field` names the text."""

    code: ClassVar[str] = "INVALID_PERSON"


class Person(NamedTuple):
    """The owner of a token: the token's name, and the name and address recorded with their actions."""

    token: str
    name: str
    email: str


def is_same_person(left: Person, right: Person) -> bool:
    """Return True if two tokens have the same owner: the same e-mail address, in any letter case."""
    return left.email.casefold() == right.email.casefold()


class KnownPerson(NamedTuple):
    """A person, the key of their seals, and the restrictions of their token; the key is never shown.

    `expires_at` is in seconds since 1970. Seals made with one of `old_keys`, before a rotation, stay valid.
    """

    person: Person
    key: bytes
    scopes: frozenset[str] = ALL_SCOPES
    expires_at: int | None = None
    old_keys: tuple[bytes, ...] = ()

    def __repr__(self) -> str:
        return f"KnownPerson({self.person!r}, ***)"

    def may_review(self) -> bool:
        """Return True if the token proves approvals, requests for changes and merges of protected changes."""
        return REVIEW_SCOPE in self.scopes

    def has_expired(self) -> bool:
        """Return True if the token no longer authenticates. Its earlier approvals stay valid."""
        return self.expires_at is not None and time.time() >= self.expires_at


def make_person(token_name: str, name: str, email: str) -> Person:
    """Return a person with a token of this name. Raises InvalidPerson."""
    if not TOKEN_NAME.fullmatch(token_name):
        suggestion = re.sub("[^a-z0-9.-]+", "-", token_name[:_MAX_TOKEN_NAME_LENGTH].lower()).strip("-.")
        example = f", such as '{suggestion}'" if TOKEN_NAME.fullmatch(suggestion) else ""
        raise InvalidPerson(
            "the name of the token is invalid",
            fix=f"Use at most 39 lower-case letters, digits, '.' and '-'{example}.",
            field="token",
        )
    display_name = " ".join(_check_text(name, "name").split())
    clean_email = _check_text(email, "email").strip()
    if not display_name or "<" in display_name or ">" in display_name:
        raise InvalidPerson("the name is empty, or contains < or >", fix="Give a name.", field="name")
    if not clean_email or _INVALID_IN_EMAIL.search(clean_email) or not clean_email.isprintable():
        raise InvalidPerson(
            "the address is empty, or contains white space, < or >",
            fix="Give an e-mail address.",
            field="email",
        )
    return Person(token_name, display_name, clean_email)


def _check_text(text: str, field: str) -> str:
    if len(text) > MAX_TEXT_LENGTH:
        raise InvalidPerson(
            f"the {field} has {len(text):,} characters; the limit is {MAX_TEXT_LENGTH}",
            fix="Shorten it.",
            field=field,
            limit=MAX_TEXT_LENGTH,
        )
    if not text.isprintable():
        raise InvalidPerson(f"the {field} contains invisible characters", fix="Remove them.", field=field)
    return text


TOKENS_PATH = "docyard/tokens.json"
_FORMAT_VERSION = 1
_RESTRICTED_VERSION = 2  # a token has a scope, an expiry or an old digest
_SHARED_VERSION = 3  # the tokens are in a storage that nodes share
_FORMER_TOKENS_NAME = "tokens-before-sharing.json"
_MAX_FILE_BYTES = 2_000_000
_DIGEST = re.compile("[0-9a-f]{64}")
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_STAMP_FIELDS = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


class UnsafeTokens(WorkspaceError):
    """An error: the file of tokens is not private to this user, or unreadable, so it is not used."""

    code: ClassVar[str] = "UNSAFE_TOKENS"

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(
            f"the file of tokens is not used: {reason}", fix=fix, file=TOKENS_PATH, reason=reason
        )


class DamagedTokens(WorkspaceError):
    """An error: the file of tokens is invalid. It is neither used nor overwritten. `reason` is the cause."""

    code: ClassVar[str] = "DAMAGED_TOKENS"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the file of tokens is damaged: {reason}",
            fix=f"Restore {TOKENS_PATH} in the Git folder from a backup, "
            "or remove it and create the tokens again.",
            file=TOKENS_PATH,
            reason=reason,
        )


class SharedTokensNote(WorkspaceError):
    """An error: the file says that nodes share the tokens, and this process does not know where they are."""

    code: ClassVar[str] = "TOKENS_SHARED"

    def __init__(self) -> None:
        super().__init__(
            "the tokens of this repository are in the database that its nodes share",
            fix="Set DOCYARD_SERVER__ENGINE__URL to the `url` of [engine], as the server has it, or "
            "name its file with `docyard tokens list --config FILE`. Then `docyard tokens unshare` copies "
            "them to this repository, if it is to leave the database.",
            file=TOKENS_PATH,
        )


class TokenSource(Protocol):
    """The tokens of a repository by their names: a file, or a storage that nodes share."""

    def read(self) -> Mapping[str, KnownPerson]:
        """Return the tokens as they are now. Raises WorkspaceError if they cannot be read."""

    def edit(self) -> AbstractContextManager[dict[str, KnownPerson]]:
        """Yield a copy of the tokens; store the copy if the block succeeds."""


class TokenFile:
    """The tokens of a repository by their names, read again whenever the file has changed."""

    def __init__(self, common_dir: Path) -> None:
        self._common_dir = common_dir
        self._path = common_dir / TOKENS_PATH
        self._last_read: tuple[tuple[int, ...], Mapping[str, KnownPerson]] | None = None

    def read(self) -> Mapping[str, KnownPerson]:
        """Return the tokens; empty if there is no file, or if its folder is private to another user.

        Raises UnsafeTokens, DamagedTokens, SharedTokensNote.
        """
        if self._path.parent.is_symlink():
            raise UnsafeTokens(
                "its folder is a symbolic link", "Replace the link `docyard` in the Git folder by a folder."
            )
        try:
            handle = os.open(self._path, _OPEN_FLAGS)
        except FileNotFoundError:
            return {}
        except OSError as error:
            if is_inaccessible(self._common_dir):
                return {}  # the tokens of another user are unknown here
            if error.errno == errno.ELOOP:
                raise UnsafeTokens("it is a symbolic link", "Remove the link.") from None
            raise UnsafeTokens(
                f"it cannot be read ({error.strerror})", "Only the user who created it can use it."
            ) from None
        try:
            status = os.fstat(handle)
            _check_status(status)
            stamp = tuple(getattr(status, name) for name in _STAMP_FIELDS)
            last_read = self._last_read
            if last_read is not None and last_read[0] == stamp:
                return last_read[1]
            with open(handle, "rb", closefd=False) as stream:
                tokens = decode_tokens(stream.read(_MAX_FILE_BYTES + 1))
        finally:
            os.close(handle)
        self._last_read = stamp, tokens
        return tokens

    @contextmanager
    def edit(self) -> Iterator[dict[str, KnownPerson]]:
        """Yield a copy of the tokens; write the copy to the file if the block succeeds. Other writers wait.

        Raises the errors of `read`, AnotherWriter, and CannotWrite.
        """
        with self.lock():
            tokens_before = self.read()
            tokens = dict(tokens_before)
            yield tokens
            if tokens != tokens_before:
                self.replace(encode_tokens(tokens))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file for a change. Raises AnotherWriter, and CannotWrite for an OSError of the block."""
        from workspace.publishing.locks import CannotWrite, docyard_lock

        try:
            with docyard_lock(self._common_dir):
                yield
        except OSError as error:
            raise CannotWrite(error) from error

    def note_sharing(self) -> None:
        """Replace the file by the note that nodes share the tokens, and keep its former content next to it.

        The file must be locked. Raises UnsafeTokens, OSError.
        """
        try:
            self.read()
        except SharedTokensNote:
            return
        except DamagedTokens:
            pass  # it is kept, too
        with suppress(FileNotFoundError):
            self._path.replace(self._path.with_name(_FORMER_TOKENS_NAME))
        self.replace(_SHARED_NOTE)

    def replace(self, data: bytes) -> None:
        """Replace the file, which must be locked. Raises OSError."""
        self._path.parent.mkdir(exist_ok=True, mode=0o700)
        new_file = self._path.with_name(self._path.name + ".new")
        with suppress(FileNotFoundError):  # left by a crash
            new_file.unlink()
        handle = os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(handle, "wb") as stream:
            os.fchmod(handle, 0o600)  # the default ACL of the folder may have granted more
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        os.replace(new_file, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


_SHARED_NOTE = (json.dumps({"version": _SHARED_VERSION, "tokens": []}, indent=2) + "\n").encode()


def encode_tokens(tokens: Mapping[str, KnownPerson]) -> bytes:
    """Return the bytes of the file."""
    records = [_encode_record(name, owner) for name, owner in sorted(tokens.items())]
    is_restricted = any(len(record) > _PLAIN_FIELD_COUNT for record in records)
    version = _RESTRICTED_VERSION if is_restricted else _FORMAT_VERSION
    return (json.dumps({"version": version, "tokens": records}, sort_keys=True, indent=2) + "\n").encode()


_PLAIN_FIELD_COUNT = 4


def _encode_record(name: str, owner: KnownPerson) -> dict[str, object]:
    record: dict[str, object] = {
        "token": name,
        "name": owner.person.name,
        "email": owner.person.email,
        "digest": owner.key.hex(),
    }
    if owner.scopes != ALL_SCOPES:
        record["scopes"] = sorted(owner.scopes)
    if owner.expires_at is not None:
        record["expires_at"] = owner.expires_at
    if owner.old_keys:
        record["old_digests"] = [key.hex() for key in owner.old_keys]
    return record


def decode_tokens(data: bytes) -> dict[str, KnownPerson]:
    """Return the tokens in the bytes of a file. Raises DamagedTokens, SharedTokensNote."""
    if len(data) > _MAX_FILE_BYTES:
        raise DamagedTokens(f"it has more than {_MAX_FILE_BYTES:,} bytes")
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError):  # bytes that are not UTF-8 raise ValueError too
        raise DamagedTokens("it is not JSON") from None
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), list):
        raise DamagedTokens("'tokens' must be a list")
    if content.get("version") == _SHARED_VERSION:
        raise SharedTokensNote
    if content.get("version") not in (_FORMAT_VERSION, _RESTRICTED_VERSION):
        raise DamagedTokens(f"'version' must be {_FORMAT_VERSION} or {_RESTRICTED_VERSION}")
    tokens: dict[str, KnownPerson] = {}
    for number, record in enumerate(content["tokens"], 1):
        owner = _decode_record(record)
        if owner is None or owner.person.token in tokens:
            raise DamagedTokens(f"entry {number} of 'tokens' is not a token record")
        tokens[owner.person.token] = owner
    return tokens


def _decode_record(record: object) -> KnownPerson | None:
    """Return the token in a record; None if the record is invalid."""
    if not isinstance(record, dict):
        return None
    texts = [
        text for name in ("token", "name", "email", "digest") if isinstance(text := record.get(name), str)
    ]
    scopes, expires_at = record.get("scopes", list(SCOPES)), record.get("expires_at")
    digests = [texts[-1] if len(texts) == _PLAIN_FIELD_COUNT else None, *_read_list(record, "old_digests")]
    if (
        not all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in digests)
        or not isinstance(scopes, list)
        or not all(scope in SCOPES for scope in scopes)
        or not (expires_at is None or type(expires_at) is int)
    ):
        return None
    try:
        person = make_person(*texts[:3])
    except InvalidPerson:
        return None
    key, *old_keys = (bytes.fromhex(str(digest)) for digest in digests)
    return KnownPerson(person, key, frozenset(scopes), expires_at, tuple(old_keys))


def _read_list(record: Mapping[str, object], name: str) -> list[object]:
    value = record.get(name, [])
    return value if isinstance(value, list) else [None]


def _check_status(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeTokens("it is not a regular file", "Remove it.")
    if status.st_uid != os.geteuid():
        raise UnsafeTokens("it belongs to another user", "Create tokens as the user who runs the server.")
    if status.st_mode & 0o077:
        raise UnsafeTokens(
            "others can read or write it",
            f"Run chmod 600 on {TOKENS_PATH} in the Git folder; "
            "if others could have used it, revoke its tokens.",
        )


MAX_TOKENS = 1_000
_MAX_OLD_KEYS = 10
_SECRET_BYTES = 24
_MAX_SHOWN_LENGTH = 60
_SECRET = re.compile(r"docyard_([a-z0-9][a-z0-9.-]{0,38})_[0-9a-f]{48}")


class InvalidToken(WorkspaceError):
    """An error: a token is unknown, or a text is not a token. The message contains no part of the text."""

    code: ClassVar[str] = "INVALID_TOKEN"

    def __init__(self, message: str = "", fix: str = "") -> None:
        super().__init__(
            message
            or "the token is unknown in this repository: it was revoked, or created for another repository",
            fix=fix
            or "Create one with `docyard tokens add NAME`, or add an existing one with "
            "`docyard tokens trust NAME`.",
        )


class UnknownSecret(InvalidToken):
    """An error: no token of this repository has this secret. The nodes of another clone may share it."""


class TokenExists(WorkspaceError):
    """An error: another token of this name exists, or the maximum number of tokens is reached."""

    code: ClassVar[str] = "TOKEN_EXISTS"


class UnknownToken(WorkspaceError):
    """An error: no token has this name. `candidates` are the most similar names."""

    code: ClassVar[str] = "UNKNOWN_TOKEN"


class Keyring(Protocol):
    """The owners of tokens, by the name of the token."""

    def find_owner(self, token: str) -> KnownPerson | None:
        """Return the owner of a token, with their key; None if no token has this name."""


class TokenOwners:
    """The owners of tokens in one read of all tokens, which the first question causes.

    `find_owner` raises the errors of `read_all`.
    """

    def __init__(self, read_all: Callable[[], Mapping[str, KnownPerson]]) -> None:
        self._read_all = read_all

    @cached_property
    def _owners(self) -> Mapping[str, KnownPerson]:
        return self._read_all()

    def find_owner(self, token: str) -> KnownPerson | None:
        return self._owners.get(token)


class Tokens:
    """The tokens of a repository: in its common Git directory, or in a source that nodes share. Thread-safe.

    Each method raises UnsafeTokens for a file that others could have read or written, DamagedTokens for an
    invalid one, SharedTokensNote, and the errors of the source. Methods that change the tokens also raise
    AnotherWriter and CannotWrite.
    """

    def __init__(self, common_dir: Path, source: TokenSource | None = None) -> None:
        self._source = source or TokenFile(common_dir)

    def add(
        self,
        token_name: str,
        name: str,
        email: str,
        *,
        scopes: frozenset[str] = ALL_SCOPES,
        expires_at: int | None = None,
    ) -> str:
        """Create a token, and return its secret, which is not stored. Raises InvalidPerson, TokenExists.

        `expires_at` is in seconds since 1970.
        """
        person = make_person(token_name, name, email)
        secret = _create_secret(person.token)
        self._store_token(KnownPerson(person, _hash_secret(secret), scopes, expires_at))
        return secret

    def rotate(self, name: str, *, expires_at: int | None = None) -> str:
        """Give a token a new secret, and return it. The old secret no longer authenticates.

        Approvals that were sealed with the old secret stay valid. `expires_at` replaces the time of expiry;
        None keeps it. Raises UnknownToken, and InvalidToken for an expired token without a new time.
        """
        with self._source.edit() as tokens:
            if name not in tokens:
                raise _make_unknown_token_error(name, tokens)
            owner = tokens[name]
            if expires_at is not None:
                owner = owner._replace(expires_at=expires_at)
            if owner.has_expired():
                raise _make_expired_error(owner)
            secret = _create_secret(name)
            old_keys = (owner.key, *owner.old_keys)[:_MAX_OLD_KEYS]
            tokens[name] = owner._replace(key=_hash_secret(secret), old_keys=old_keys)
        return secret

    def trust(self, secret: str, name: str, email: str) -> Person:
        """Add a token that was created elsewhere, for this person.

        The same token may be added again with another name or address. Raises InvalidToken for a text that is
        not a token, InvalidPerson, and TokenExists if another token has the same name.
        """
        match = _SECRET.fullmatch(secret)
        if match is None:
            raise InvalidToken(
                "the text is not a token: a token is `docyard_NAME_` and 48 hexadecimal digits in lower case",
                fix="Copy the whole token, as `docyard tokens add NAME` printed it.",
            )
        person = make_person(match[1], name, email)
        self._store_token(KnownPerson(person, _hash_secret(secret)))
        return person

    def revoke(self, name: str) -> Person:
        """Remove a token; its approvals no longer count in this repository. Raises UnknownToken."""
        with self._source.edit() as tokens:
            if name not in tokens:
                raise _make_unknown_token_error(name, tokens)
            return tokens.pop(name).person

    def list(self) -> tuple[Person, ...]:
        """Return the people with tokens, in order of the tokens' names."""
        return tuple(owner.person for _, owner in sorted(self._source.read().items()))

    def read_all(self) -> Mapping[str, KnownPerson]:
        """Return all current tokens by name."""
        return self._source.read()

    def list_owners(self) -> tuple[KnownPerson, ...]:
        """Return the owners of all tokens, in order of the tokens' names."""
        return tuple(owner for _, owner in sorted(self._source.read().items()))

    def person(self, secret: str) -> Person:
        """Return the owner of the token with this secret. Raises InvalidToken."""
        return self.authenticate(secret).person

    def authenticate(self, secret: str) -> KnownPerson:
        """Return the owner of the token with this secret, with its scopes. Raises InvalidToken.

        The error is UnknownSecret if no token has it.
        """
        digest = _hash_secret(secret)
        owner = None
        # All tokens are compared, each in constant time, so that the duration reveals nothing.
        for known_person in self._source.read().values():
            if hmac.compare_digest(known_person.key, digest):
                owner = known_person
        if owner is None:
            raise UnknownSecret()
        if owner.has_expired():
            raise _make_expired_error(owner)
        return owner

    def find_owner(self, token: str) -> KnownPerson | None:
        """Return the owner of a token, with their key; None if no token has this name."""
        return self._source.read().get(token)

    def key(self, token_name: str) -> bytes | None:
        """Return the key of a token's seals, or None if the name is unknown."""
        owner = self.find_owner(token_name)
        return None if owner is None else owner.key

    def _store_token(self, owner: KnownPerson) -> None:
        name = owner.person.token
        with self._source.edit() as tokens:
            stored_owner = tokens.get(name)
            if stored_owner is not None and not hmac.compare_digest(stored_owner.key, owner.key):
                raise TokenExists(
                    f"the token '{name}' exists already",
                    fix=f"Choose another name, or revoke it first: `docyard tokens revoke {name}`.",
                )
            if stored_owner is None and len(tokens) >= MAX_TOKENS:
                raise TokenExists(
                    f"the limit of {MAX_TOKENS:,} tokens is reached", fix="Revoke unused tokens."
                )
            tokens[name] = owner if stored_owner is None else stored_owner._replace(person=owner.person)


def _create_secret(token_name: str) -> str:
    return f"docyard_{token_name}_{secrets.token_hex(_SECRET_BYTES)}"


def _make_expired_error(owner: KnownPerson) -> InvalidToken:
    name = owner.person.token
    return InvalidToken(
        f"the token '{name}' has expired",
        fix=f"Give it a new secret and a new time: `docyard tokens rotate {name} --expires 90d`.",
    )


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _make_unknown_token_error(name: str, tokens: Mapping[str, KnownPerson]) -> UnknownToken:
    from workspace.nearest import find_nearest

    short_name = name if len(name) <= _MAX_SHOWN_LENGTH else name[:_MAX_SHOWN_LENGTH] + "…"
    candidates = find_nearest(name, sorted(tokens))
    return UnknownToken(
        f"there is no token '{short_name if short_name.isprintable() else ascii(short_name)[1:-1]}'",
        fix=f"Did you mean '{candidates[0]}'?"
        if candidates
        else "Run `docyard tokens list` to see all tokens.",
        candidates=candidates,
    )
