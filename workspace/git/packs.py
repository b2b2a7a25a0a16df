"""Pack files (git-scm, "pack-format"): writing a pack, and listing the objects of a pack.

Objects are stored in full, not as deltas: libgit2's own writer takes six times as long, and needs each object
as a loose file first.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workspace.git.objects import hash_object

DRAFT_SUFFIX = ".draft"
KEEP_SUFFIX = ".keep"
_KIND_NUMBERS = {"commit": 1, "tree": 2, "blob": 3}
_INDEX_HEADER = b"\xfftOc\x00\x00\x00\x02"
_LARGE_OFFSET = 1 << 31  # this and larger offsets are in a separate table
_FAN_OUT_BYTES = 256 * 4


class ObjectChanged(Exception):
    """An error: the bytes to be packed do not match the expected `id` of their object."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


class PackedObject(NamedTuple):
    """An object to be stored: its kind ("blob", "tree" or "commit"), its id, and its bytes."""

    kind: str
    id: str
    data: bytes


class _ObjectLocation(NamedTuple):
    offset: int
    crc: int


def write_pack(
    folder: Path,
    objects: Iterable[PackedObject],
    count: int,
    durable: bool = False,
    keep_content: bytes | None = None,
) -> str:
    """Write a pack of `count` different objects, with its index, and return its name without a suffix.

    With `keep_content`, a `.keep` file with this content protects the pack from `git gc` (git-repack).

    The name contains the hash of the bytes, so a pack is never replaced by a different pack.
    Raises ObjectChanged, OSError, and ValueError if there are not `count` objects. After an error, no file
    of a new pack remains.
    """
    draft = folder / f"{secrets.token_hex(8)}{DRAFT_SUFFIX}"
    index = draft.with_suffix(".idx" + DRAFT_SUFFIX)
    keep_draft = draft.with_suffix(KEEP_SUFFIX + DRAFT_SUFFIX)
    written_files: list[Path] = []
    try:
        locations, digest = _write_objects(draft, objects, count, durable)
        _write_file(index, _encode_index(locations, digest), durable)
        name = f"pack-{digest.hex()}"
        is_new = not (folder / f"{name}.idx").exists()
        moves = [(draft, ".pack"), (index, ".idx")]
        if keep_content is not None:
            _write_file(keep_draft, keep_content, durable)
            # The `.keep` file is placed before the pack, so that no program finds the pack without it.
            moves.insert(0, (keep_draft, KEEP_SUFFIX))
        # The index is moved last: a program that finds the index also finds the pack.
        for source, suffix in moves:
            os.replace(source, folder / f"{name}{suffix}")
            written_files += [folder / f"{name}{suffix}"] if is_new else []
        return name
    except BaseException:
        for file in written_files:
            file.unlink(missing_ok=True)
        raise
    finally:
        for file in (draft, index, keep_draft):
            with suppress(FileNotFoundError):
                file.unlink()


def read_full_objects(pack: Path) -> Iterator[PackedObject]:
    """Yield the objects of a pack that `write_pack` wrote. Raises OSError, ValueError."""
    data = pack.read_bytes()
    kinds = {number: kind for kind, number in _KIND_NUMBERS.items()}
    offset, end = 12, len(data) - 20
    while offset < end:
        byte = data[offset]
        kind = kinds.get(byte >> 4 & 7)
        while data[offset] & 128:
            offset += 1
        reader = zlib.decompressobj()
        try:
            content = reader.decompress(memoryview(data)[offset + 1 :])
        except zlib.error as error:
            raise ValueError("an object of the pack is damaged") from error
        if kind is None or not reader.eof:
            raise ValueError("the pack has an object that is not stored in full")
        offset = len(data) - len(reader.unused_data)
        yield PackedObject(kind, hash_object(kind, content), content)


def read_packed_ids(index: Path) -> frozenset[str]:
    """Read the ids of a pack's objects from its index. Raises OSError; ValueError for an invalid index."""
    data = index.read_bytes()
    ids_start = len(_INDEX_HEADER) + _FAN_OUT_BYTES
    if not data.startswith(_INDEX_HEADER) or len(data) < ids_start:
        raise ValueError("the file is not the index of a pack")
    (count,) = struct.unpack_from(">I", data, ids_start - 4)
    if len(data) < ids_start + 20 * count:
        raise ValueError("the index of the pack is truncated")
    return frozenset(
        data[offset : offset + 20].hex() for offset in range(ids_start, ids_start + 20 * count, 20)
    )


def _write_objects(
    file: Path, objects: Iterable[PackedObject], count: int, durable: bool
) -> tuple[Mapping[bytes, _ObjectLocation], bytes]:
    locations: dict[bytes, _ObjectLocation] = {}
    with file.open("wb") as stream:
        header = struct.pack(">4sII", b"PACK", 2, count)
        stream.write(header)
        digest = hashlib.sha1(header, usedforsecurity=False)
        offset = len(header)
        for kind, id, data in objects:
            if hash_object(kind, data) != id:
                raise ObjectChanged(id)
            encoded = bytes(_encode_size(_KIND_NUMBERS[kind], len(data))) + zlib.compress(data)
            stream.write(encoded)
            digest.update(encoded)
            locations[bytes.fromhex(id)] = _ObjectLocation(offset, zlib.crc32(encoded))
            offset += len(encoded)
        if len(locations) != count:
            raise ValueError(f"{len(locations)} objects were written instead of {count}")
        stream.write(digest.digest())
        if durable:
            stream.flush()
            os.fsync(stream.fileno())
    return locations, digest.digest()


def _encode_size(kind: int, size: int) -> Iterator[int]:
    """Yield the bytes of an object's header: kind and four bits of the size, then seven bits in each byte."""
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        yield byte | 128
        byte, size = size & 127, size >> 7
    yield byte


def _encode_index(locations: Mapping[bytes, _ObjectLocation], pack_digest: bytes) -> bytes:
    ids = sorted(locations)
    counts = [0] * 256
    for id in ids:
        counts[id[0]] += 1
    cumulative_counts = [sum(counts[: byte + 1]) for byte in range(256)]
    large_offsets = [locations[id].offset for id in ids if locations[id].offset >= _LARGE_OFFSET]
    ranks = {offset: rank for rank, offset in enumerate(large_offsets)}
    offsets = [
        _LARGE_OFFSET | ranks[location.offset] if location.offset >= _LARGE_OFFSET else location.offset
        for location in (locations[id] for id in ids)
    ]
    data = b"".join(
        (
            _INDEX_HEADER,
            struct.pack(">256I", *cumulative_counts),
            *ids,
            struct.pack(f">{len(ids)}I", *(locations[id].crc for id in ids)),
            struct.pack(f">{len(ids)}I", *offsets),
            struct.pack(f">{len(large_offsets)}Q", *large_offsets),
            pack_digest,
        )
    )
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _write_file(file: Path, data: bytes, durable: bool) -> None:
    with file.open("wb") as stream:
        stream.write(data)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())
