"""Which secrets let somebody in: the server's own token, and the named tokens of people."""

from __future__ import annotations

import hashlib
import hmac
import logging
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.policy.person import Person
    from workspace.policy.tokens import Tokens

log = logging.getLogger("docyard")

_MOST = 1_000  # characters of what may be a token


class Proof(NamedTuple):
    """Who showed a secret: a person with the key of their token, or whoever was given the server's own."""

    person: Person | None = None
    key: bytes = b""


class Proving:
    """Tells who a secret belongs to. `token` None lets everybody in, who then is nobody by name."""

    def __init__(self, token: str | None, people: Tokens | None) -> None:
        self.is_open = token is None
        self._token = _digest(token) if token is not None else b""
        self._people = people

    def prove(self, secret: str) -> Proof | None:
        """Who this secret belongs to; None for nobody."""
        if len(secret) > _MOST:
            return None
        found = None if self._people is None else self._person(self._people, secret)
        if not self.is_open and hmac.compare_digest(self._token, _digest(secret)):
            return Proof()
        return found

    def again(self, proof: Proof) -> Proof | None:
        """The same proof by what is known now; None if the person's token was revoked."""
        if proof.person is None:
            return proof
        try:
            known = None if self._people is None else self._people.known(proof.person.token)
        except WorkspaceError as error:
            log.warning("people are not known by their tokens: %s. %s", error.message, error.fix)
            return None
        if known is None or not hmac.compare_digest(known.key, proof.key):
            return None
        return Proof(known.person, known.key)

    def _person(self, people: Tokens, secret: str) -> Proof | None:
        from workspace.policy.tokens import InvalidToken

        try:
            person = people.person(secret)
            key = people.key(person.token)
        except InvalidToken:
            return None
        except WorkspaceError as error:
            log.warning("people are not known by their tokens: %s. %s", error.message, error.fix)
            return None
        return None if key is None else Proof(person, key)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
