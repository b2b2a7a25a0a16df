"""Cursors: opaque tokens that continue one search, and only that one.

A cursor contains its kind, the generation of the index, a digest of query and filters, and the offset of the
next hit. A MAC (keyed BLAKE2b, RFC 7693 §2.9) over all of it proves that this user's Docyard issued the
cursor and that it is unchanged. BLAKE2b is fast, and every page of hits needs a cursor.
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
_encode_json = json.JSONEncoder(separators=(",", ":")).encode
_FIX = "Repeat the search without a cursor to start at its first page."


class InvalidCursor(WorkspaceError):
    """The cursor is malformed, was changed, or belongs to another search."""

    code: ClassVar[str] = "INVALID_CURSOR"


class StaleCursor(WorkspaceError):
    """The cursor was issued for another commit than the one that is searched now."""

    code: ClassVar[str] = "CURSOR_STALE"


def search_digest(query: str, filters: Mapping[str, str], path: str | None) -> str:
    """Return a digest of everything that decides the hits of a search."""
    search = json.dumps([query, sorted(filters.items()), path])
    return hashlib.sha256(search.encode()).hexdigest()[:32]


def write_cursor(key: bytes, *, generation: str, search: str, offset: int) -> str:
    """Return the cursor of the hits from `offset` on."""
    return seal(key, [_KIND, generation, search, offset])


def read_cursor(key: bytes, cursor: str, *, search: str) -> tuple[str, int]:
    """Return the generation of the results, and the offset at which they continue. Raises InvalidCursor."""
    kind, generation, cursor_search, offset = unseal(key, cursor, 4)
    if kind != _KIND:
        raise _foreign_cursor()
    if cursor_search != search:
        raise InvalidCursor("the cursor belongs to a search with another query or other filters", fix=_FIX)
    return str(generation), int(offset)


def stale_cursor(generation: str | None, cause: WorkspaceError, *, other_ref: bool = False) -> StaleCursor:
    """Return the error for a cursor whose generation is no longer current, or belongs to `other_ref`.

    A generation is `schema:commit`, optionally followed by a colon and more.
    """
    return StaleCursor(
        "the cursor belongs to another commit than this ref"
        if other_ref
        else "the documents have changed since the cursor was issued",
        fix=_FIX,
        cursor_commit=(generation or "").partition(":")[2].partition(":")[0] or None,
        commit=cause.details.get("commit"),
    )


def seal(key: bytes, values: Sequence[object]) -> str:
    """Encode JSON values as a token that cannot be made or changed without the key."""
    body = _encode_json(list(values)).encode()
    return urlsafe_b64encode(_mac(key, body) + body).decode().rstrip("=")


def unseal(key: bytes, cursor: str, count: int) -> list[Any]:
    """Return the `count` values of a token. Raises InvalidCursor."""
    if not _SHAPE.fullmatch(cursor):
        raise InvalidCursor("the cursor is malformed", fix=_FIX)
    data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    mac, body = data[:_MAC_BYTES], data[_MAC_BYTES:]
    # The last character of base64 has spare bits, so equal data has several encodings. Only ours is accepted.
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
