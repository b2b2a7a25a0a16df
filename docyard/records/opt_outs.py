"""The principals and clients that are not recorded."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from docyard.database.tables import OPT_OUTS
from workspace.errors import WorkspaceError

CLIENT_PREFIX = "client:"
"""The beginning of the key of a client, before its name in lower case."""

_PREFIXES = ("user:", "token:", "address:", CLIENT_PREFIX)
_MAX_KEY_CHARACTERS = 500


class InvalidOptOut(WorkspaceError):
    """The key names neither a principal nor a client."""

    code: ClassVar[str] = "INVALID_OPT_OUT"


class OptOuts(NamedTuple):
    """The keys that are not recorded."""

    keys: frozenset[str]

    def contains(self, principal: str | None, client: str) -> bool:
        """Return True if calls of this principal, or by this client, are not recorded."""
        return principal in self.keys or CLIENT_PREFIX + client.casefold() in self.keys


def read_opt_outs(connection: Connection) -> OptOuts:
    """Return all keys that are not recorded."""
    return OptOuts(frozenset(connection.execute(select(OPT_OUTS.c.key)).scalars()))


def add_opt_out(connection: Connection, key: str) -> bool:
    """Record nothing of a key from now on; return False if that was so already. Raises InvalidOptOut."""
    key = _check_key(key)
    if key in read_opt_outs(connection).keys:
        return False
    connection.execute(insert(OPT_OUTS).values(key=key))
    return True


def remove_opt_out(connection: Connection, key: str) -> bool:
    """Record the calls of a key again; return False if they were recorded. Raises InvalidOptOut."""
    return bool(connection.execute(delete(OPT_OUTS).where(OPT_OUTS.c.key == _check_key(key))).rowcount)


def _check_key(key: str) -> str:
    if not key.startswith(_PREFIXES) or len(key) > _MAX_KEY_CHARACTERS or not key.isprintable():
        raise InvalidOptOut(
            f"the key must begin with {', '.join(_PREFIXES[:-1])} or {_PREFIXES[-1]} ({key[:100]!r})",
            fix="Name a principal, such as user:https://login.example.org#248289, or client:NAME.",
        )
    return (
        CLIENT_PREFIX + key.removeprefix(CLIENT_PREFIX).casefold() if key.startswith(CLIENT_PREFIX) else key
    )
