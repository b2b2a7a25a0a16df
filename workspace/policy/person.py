"""Who a token belongs to, and what they and it may be called."""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from workspace.config.settings import TOKEN_NAME
from workspace.errors import WorkspaceError

MAX_TEXT = 200
"""Characters of a person's name, or of an address."""

_SUGGESTED = 39
_NO_ADDRESS = re.compile(r"[<>\s]")


class InvalidPerson(WorkspaceError):
    """A token's name, or the name or address of its person, cannot be used. `field` says which."""

    code: ClassVar[str] = "INVALID_PERSON"


class Person(NamedTuple):
    """Who a token belongs to: the token's name, and the name and address that stand beside what they say."""

    token: str
    name: str
    email: str


def is_same(one: Person, other: Person) -> bool:
    """Whether two tokens are one person's, who is known by the address."""
    return one.email.casefold() == other.email.casefold()


class Known(NamedTuple):
    """A person and the key of their seals, which is never shown."""

    person: Person
    key: bytes

    def __repr__(self) -> str:
        return f"Known({self.person!r}, ***)"


def valid_person(token: str, name: str, email: str) -> Person:
    """A person with a token of this name. Raises InvalidPerson."""
    if not TOKEN_NAME.fullmatch(token):
        suggestion = re.sub("[^a-z0-9.-]+", "-", token[:_SUGGESTED].lower()).strip("-.")
        example = f", such as '{suggestion}'" if TOKEN_NAME.fullmatch(suggestion) else ""
        raise InvalidPerson(
            "this is no name for a token",
            fix=f"Use at most 39 lower-case letters, digits, '.' and '-'{example}.",
            field="token",
        )
    shown = " ".join(_text(name, "name").split())
    address = _text(email, "email").strip()
    if not shown or "<" in shown or ">" in shown:
        raise InvalidPerson("the name is empty, or holds < or >", fix="Give a name.", field="name")
    if not address or _NO_ADDRESS.search(address) or not address.isprintable():
        raise InvalidPerson(
            "the address is empty, or holds what no address does",
            fix="Give an e-mail address.",
            field="email",
        )
    return Person(token, shown, address)


def _text(text: str, field: str) -> str:
    if len(text) > MAX_TEXT:
        raise InvalidPerson(
            f"the {field} has {len(text):,} characters; at most {MAX_TEXT} are kept",
            fix="Shorten it.",
            field=field,
            limit=MAX_TEXT,
        )
    if not text.isprintable():
        raise InvalidPerson(
            f"the {field} holds characters that cannot be seen", fix="Take them out.", field=field
        )
    return text
