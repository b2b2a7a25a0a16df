"""Named tokens: how it is known that a person is speaking, and which.

A token is a secret, `docyard_<name>_<48 hex digits>`, shown once to whoever makes it. Kept is its SHA-256:
192 random bits need no slow hash. That digest is also the key of the person's seals, so the file that it is
kept in is private, and is no part of what Git fetches, clones or pushes.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Protocol

from workspace.errors import WorkspaceError
from workspace.policy.keeping import TokenFile
from workspace.policy.person import InvalidPerson, Known, Person, valid_person

__all__ = [
    "InvalidPerson",
    "InvalidToken",
    "Keyring",
    "Known",
    "Person",
    "TokenExists",
    "Tokens",
    "UnknownToken",
]

MAX_TOKENS = 1_000
_RANDOM = 24
_SHOWN = 60
_IS_SECRET = re.compile(r"docyard_([a-z0-9][a-z0-9.-]{0,38})_[0-9a-f]{48}")


class InvalidToken(WorkspaceError):
    """This secret is no token that is known here. Nothing of it is in the message."""

    code: ClassVar[str] = "INVALID_TOKEN"

    def __init__(self) -> None:
        super().__init__(
            "this is no token that is known here: it was revoked, or made for another repository",
            fix="Make one with `docyard tokens add NAME`, or bring one that was made elsewhere here with "
            "`docyard tokens trust NAME`.",
        )


class TokenExists(WorkspaceError):
    """There is a token of this name already."""

    code: ClassVar[str] = "TOKEN_EXISTS"


class UnknownToken(WorkspaceError):
    """There is no token of this name. `candidates` are the nearest."""

    code: ClassVar[str] = "UNKNOWN_TOKEN"


class Keyring(Protocol):
    """What tells whose token a name is."""

    def known(self, token: str) -> Known | None:
        """The person and the key of a token's name; None if none of that name is known."""


class Tokens:
    """The tokens that a repository knows, by its common Git directory. Safe in several threads.

    Each method raises UnsafeTokens for a file that others could have read or written, and DamagedTokens for
    one that cannot be understood; those that change it also AnotherWriter and CannotWrite.
    """

    def __init__(self, common_dir: Path) -> None:
        self._file = TokenFile(common_dir)

    def add(self, token_name: str, name: str, email: str) -> str:
        """Makes a token, and gives its secret, which is kept nowhere. Raises InvalidPerson, TokenExists."""
        person = valid_person(token_name, name, email)
        secret = f"docyard_{person.token}_{secrets.token_hex(_RANDOM)}"
        self._keep(person, _digest(secret))
        return secret

    def trust(self, secret: str, name: str, email: str) -> Person:
        """Makes a token that was made elsewhere known here, for this person.

        Raises InvalidToken for what has no token's form, InvalidPerson, and TokenExists for another of its
        name. The same one can be given again, with another name or address.
        """
        form = _IS_SECRET.fullmatch(secret)
        if form is None:
            raise InvalidToken()
        person = valid_person(form[1], name, email)
        self._keep(person, _digest(secret))
        return person

    def revoke(self, name: str) -> Person:
        """Takes a token away: its approvals, old ones too, no longer count here. Raises UnknownToken."""
        with self._file.changing() as kept:
            if name not in kept:
                raise _unknown(name, kept)
            return kept.pop(name).person

    def list(self) -> tuple[Person, ...]:
        """The people whose tokens are known, in order of the tokens' names."""
        return tuple(known.person for _, known in sorted(self._file.read().items()))

    def all(self) -> Mapping[str, Known]:
        """Every token by its name, as they are now."""
        return self._file.read()

    def person(self, secret: str) -> Person:
        """The person whose token this is. Raises InvalidToken."""
        digest = _digest(secret)
        found = None
        # All are compared, and each in constant time, so that nothing is told by how long it takes.
        for known in self._file.read().values():
            if hmac.compare_digest(known.key, digest):
                found = known.person
        if found is None:
            raise InvalidToken()
        return found

    def known(self, token: str) -> Known | None:
        """The person and the key of a token's name; None if none of that name is known here."""
        return self._file.read().get(token)

    def key(self, token_name: str) -> bytes | None:
        """The key of a token's seals; None if none of that name is known here."""
        known = self.known(token_name)
        return None if known is None else known.key

    def _keep(self, person: Person, digest: bytes) -> None:
        with self._file.changing() as kept:
            before = kept.get(person.token)
            if before is not None and not hmac.compare_digest(before.key, digest):
                raise TokenExists(
                    f"there is a token '{person.token}' already",
                    fix=f"Choose another name, or revoke it first: `docyard tokens revoke {person.token}`.",
                )
            if before is None and len(kept) >= MAX_TOKENS:
                raise TokenExists(
                    f"there are {MAX_TOKENS:,} tokens already", fix="Revoke those that nobody needs."
                )
            kept[person.token] = Known(person, digest)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _unknown(name: str, known: Mapping[str, Known]) -> UnknownToken:
    from workspace.document.addresses import nearest

    shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    close = nearest(name, sorted(known))
    return UnknownToken(
        f"there is no token '{shown if shown.isprintable() else ascii(shown)[1:-1]}'",
        fix=f"Did you mean '{close[0]}'?" if close else "`docyard tokens list` shows those that there are.",
        candidates=close,
    )
