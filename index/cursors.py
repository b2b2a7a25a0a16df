"""Cursors: opaque tokens that continue one search, and only that one.

A cursor names its kind, what is searched (a generation of the index), the search (a digest of query and
filters) and the offset of the next hit. A MAC (keyed BLAKE2b, RFC 7693 §2.9) over all of it shows that this
user's Docyard gave it out and nobody changed it. Every page of hits makes one, so it has to be a quick one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from workspace.errors import WorkspaceError

_KIND = "search"
_MAC_BYTES = 16
_SHAPE = re.compile(r"(?:[A-Za-z0-9_-]{4}){6,1000}(?:[A-Za-z0-9_-]{2,3})?")
_written = json.JSONEncoder(separators=(",", ":")).encode
_FIX = "Repeat the search without a cursor to start at its first page."


class InvalidCursor(WorkspaceError):
    """The cursor is malformed, was changed, or belongs to another search."""

    code: ClassVar[str] = "INVALID_CURSOR"


class StaleCursor(WorkspaceError):
    """The cursor was given out for another commit than the one that is searched now."""

    code: ClassVar[str] = "CURSOR_STALE"


def search_digest(query: str, filters: Mapping[str, str], path: str | None) -> str:
    """Name a search by what decides its hits."""
    search = json.dumps([query, sorted(filters.items()), path])
    return hashlib.sha256(search.encode()).hexdigest()[:32]


def write_cursor(key: bytes, *, generation: str, search: str, offset: int) -> str:
    """Make the cursor for the hits from `offset` on."""
    return seal(key, [_KIND, generation, search, offset])


def read_cursor(key: bytes, cursor: str, *, search: str) -> tuple[str, int]:
    """Return the generation of a list, and the offset at which it continues. Raises InvalidCursor."""
    kind, generation, its_search, offset = unseal(key, cursor, 4)
    if kind != _KIND:
        raise _foreign_cursor()
    if its_search != search:
        raise InvalidCursor("the cursor belongs to a search with another query or other filters", fix=_FIX)
    return str(generation), int(offset)


def stale_cursor(generation: str | None, gone: WorkspaceError, *, other_ref: bool = False) -> StaleCursor:
    """Tell of a cursor whose list is gone, or is that of `other_ref`.

    A generation is `schema:commit`, and more perhaps.
    """
    return StaleCursor(
        "the cursor belongs to another commit than this ref"
        if other_ref
        else "the documents have changed since the cursor was issued",
        fix=_FIX,
        cursor_commit=(generation or "").partition(":")[2].partition(":")[0] or None,
        commit=gone.details.get("commit"),
    )


def seal(key: bytes, values: Sequence[object]) -> str:
    """Write JSON values into a token that nobody without the key can make or change."""
    body = _written(list(values)).encode()
    return urlsafe_b64encode(_mac(key, body) + body).decode().rstrip("=")


def unseal(key: bytes, cursor: str, count: int) -> list[Any]:
    """Read the values of a token, of which there are `count`. Raises InvalidCursor."""
    if not _SHAPE.fullmatch(cursor):
        raise InvalidCursor("the cursor is malformed", fix=_FIX)
    data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    mac, body = data[:_MAC_BYTES], data[_MAC_BYTES:]
    # The last character of base64 has spare bits: equal data has several spellings, and only ours is taken.
    exact = urlsafe_b64encode(data).decode().rstrip("=") == cursor
    if not (hmac.compare_digest(mac, _mac(key, body)) and exact):
        raise InvalidCursor("the cursor was changed, or was not issued by this server", fix=_FIX)
    values = json.loads(body)
    if len(values) != count:
        raise _foreign_cursor()
    return list(values)


def _foreign_cursor() -> InvalidCursor:
    return InvalidCursor("the cursor belongs to another tool", fix=_FIX)


def _mac(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=key, digest_size=_MAC_BYTES, person=b"docyard cursor").digest()
