"""Cursors: opaque tokens that continue one search, and no other search.

A cursor contains the kind "search", the generation of the index, a digest of query and filters, and the
offset of the next hit. Hexadecimal digits are packed, because a model pays for each character of a cursor. A
MAC (keyed BLAKE2b, RFC 7693 §2.9) over these values proves that Docyard issued the cursor, for this user or
on a node that shares its keys, and that the cursor is unchanged. BLAKE2b is fast, and every page of hits
needs a cursor.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from workspace.errors import WorkspaceError

_SEARCH_KIND = "search"
_MAC_BYTES = 16
_DIGEST_CHARACTERS = 16  # cursors of earlier versions have longer digests
# A token with the longest path in a document tree has about 19,000 characters.
_TOKEN_PATTERN = re.compile(r"(?:[A-Za-z0-9_-]{4}){6,6000}(?:[A-Za-z0-9_-]{2,3})?")
_encode_json = json.JSONEncoder(separators=(",", ":")).encode
_FIX_RESTART = "Repeat the search without a cursor to start at its first page."


class InvalidCursor(WorkspaceError):
    """The cursor is malformed, was changed, or belongs to another search or tool."""

    code: ClassVar[str] = "INVALID_CURSOR"


class StaleCursor(WorkspaceError):
    """The cursor was issued for another commit than the one that is searched."""

    code: ClassVar[str] = "CURSOR_STALE"


def compute_search_digest(
    query: str,
    filters: Mapping[str, str],
    path: str | None,
    base: str | None = None,
    search_type: str | None = None,
) -> str:
    """Return a digest of the values that decide the hits of a search.

    `base` is the commit of `since`, and `search_type` the requested type if there are vectors.
    """
    later_fields = [] if base is None else [base]
    if search_type is not None:
        later_fields = [base or "", search_type]
    search_data = json.dumps([query, sorted(filters.items()), path, *later_fields])
    return hashlib.sha256(search_data.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def write_cursor(key: bytes, *, generation: str, search_digest: str, offset: int) -> str:
    """Return the cursor that continues a search at `offset`."""
    return sign_token(key, [_SEARCH_KIND, generation, search_digest, offset])


def read_cursor(keys: Iterable[bytes], cursor: str, *, search_digest: str) -> tuple[str, int]:
    """Return the generation of the results, and the offset at which they continue. Raises InvalidCursor."""
    kind, generation, cursor_digest, offset = verify_token(keys, cursor, 4)
    if kind != _SEARCH_KIND:
        raise _make_foreign_cursor_error()
    if cursor_digest[:_DIGEST_CHARACTERS] != search_digest:
        raise InvalidCursor(
            "the cursor belongs to a search with another query or other filters", fix=_FIX_RESTART
        )
    return str(generation), int(offset)


def make_stale_cursor_error(
    generation: str | None, cause: WorkspaceError, *, is_other_ref: bool = False
) -> StaleCursor:
    """Return the error for a cursor of another generation, or, if `is_other_ref` is True, of another ref.

    `cause` has the current commit in its `details`. A generation is `schema:commit`, or
    `schema:commit:digest`.
    """
    return StaleCursor(
        "the cursor belongs to another commit than this ref"
        if is_other_ref
        else "the documents have changed since the cursor was issued",
        fix=_FIX_RESTART,
        cursor_commit=(generation or "").partition(":")[2].partition(":")[0] or None,
        commit=cause.details.get("commit"),
    )


def sign_token(key: bytes, values: Sequence[object]) -> str:
    """Return JSON values as a signed token, which cannot be created or changed without the key."""
    body = _pack_hexadecimal(_encode_json(list(values)).encode())
    return urlsafe_b64encode(_compute_mac(key, body) + body).decode().rstrip("=")


def verify_token(keys: Iterable[bytes], token: str, count: int) -> list[Any]:
    """Verify a token that one of the keys has signed; return its `count` values. Raises InvalidCursor."""
    if not _TOKEN_PATTERN.fullmatch(token):
        raise InvalidCursor("the cursor is malformed", fix=_FIX_RESTART)
    data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    mac, body = data[:_MAC_BYTES], data[_MAC_BYTES:]
    # The last character of base64 has unused bits, so data has several encodings. Only one is accepted.
    is_canonical = urlsafe_b64encode(data).decode().rstrip("=") == token
    is_signed = any(hmac.compare_digest(mac, _compute_mac(key, body)) for key in keys)
    if not (is_signed and is_canonical):
        raise InvalidCursor("the cursor was changed, or was not issued by this server", fix=_FIX_RESTART)
    values = json.loads(_unpack_hexadecimal(body))
    if len(values) != count:
        raise _make_foreign_cursor_error()
    return list(values)


# JSON is ASCII, so a larger byte can state how many packed bytes follow.
_PACKED_MARK = 0x80
_HEXADECIMAL = re.compile(rb"(?:[0-9a-f]{2}){4,127}")
_PACKED = re.compile(rb"[\x80-\xff]")


def _pack_hexadecimal(body: bytes) -> bytes:
    """Return JSON with each run of eight or more hexadecimal digits as bytes."""
    return _HEXADECIMAL.sub(
        lambda run: bytes((_PACKED_MARK | len(run[0]) // 2,)) + bytes.fromhex(run[0].decode()), body
    )


def _unpack_hexadecimal(body: bytes) -> bytes:
    """Return the JSON that `_pack_hexadecimal` packed; other JSON is unchanged."""
    parts: list[bytes] = []
    position = 0
    while mark := _PACKED.search(body, position):
        end = mark.end() + (mark[0][0] & ~_PACKED_MARK)
        parts += (body[position : mark.start()], body[mark.end() : end].hex().encode())
        position = end
    return b"".join((*parts, body[position:]))


def _make_foreign_cursor_error() -> InvalidCursor:
    return InvalidCursor("the cursor belongs to another tool", fix=_FIX_RESTART)


def _compute_mac(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=key, digest_size=_MAC_BYTES, person=b"docyard cursor").digest()
