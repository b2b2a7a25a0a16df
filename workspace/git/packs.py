"""Pack files (git-scm, "pack-format"): writing objects into one, and listing the objects of one.

Objects are stored whole, not as differences: libgit2's own writer takes six times as long, and needs each
object as a loose file first.
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

DRAFT = ".draft"
KEEP = ".keep"
_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_IDX = b"\xfftOc\x00\x00\x00\x02"
_FAR = 1 << 31  # larger offsets are in a separate table
_FAN_OUT = 256 * 4


class ObjectChanged(Exception):
    """Bytes to be packed are not those that the object's id names. `id` is the one that was expected."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


class PackedObject(NamedTuple):
    """An object to be stored: its kind ("blob", "tree" or "commit"), its id, and its bytes."""

    kind: str
    id: str
    data: bytes


class _ObjectPlace(NamedTuple):
    offset: int
    crc: int


def write_pack(
    folder: Path,
    objects: Iterable[PackedObject],
    count: int,
    durable: bool = False,
    keep: bytes | None = None,
) -> str:
    """Write a pack of `count` different objects, with its index, and give its name without a suffix.

    With `keep`, a `.keep` file with these bytes protects the pack from Git's housekeeping (git-repack).

    The name is that of the bytes, so a pack is never replaced by another. Raises ObjectChanged, OSError, and
    ValueError if there are not `count` objects; nothing is left behind then.
    """
    draft = folder / f"{secrets.token_hex(8)}{DRAFT}"
    index = draft.with_suffix(".idx" + DRAFT)
    marker = draft.with_suffix(KEEP + DRAFT)
    placed: list[Path] = []
    try:
        places, digest = _write_objects(draft, objects, count, durable)
        _write(index, _encode_index(places, digest), durable)
        name = f"pack-{digest.hex()}"
        is_new = not (folder / f"{name}.idx").exists()
        moves = [(draft, ".pack"), (index, ".idx")]
        if keep is not None:
            _write(marker, keep, durable)
            # Before the pack has its name: nothing that removes packs sees it without.
            moves.insert(0, (marker, KEEP))
        # The index is written last: a program that finds the index also finds the pack.
        for source, suffix in moves:
            os.replace(source, folder / f"{name}{suffix}")
            placed += [folder / f"{name}{suffix}"] if is_new else []
        return name
    except BaseException:
        for file in placed:
            file.unlink(missing_ok=True)
        raise
    finally:
        for file in (draft, index, marker):
            with suppress(FileNotFoundError):
                file.unlink()


def read_whole_objects(pack: Path) -> Iterator[PackedObject]:
    """Yield the objects of a pack that `write_pack` wrote. Raises OSError, and ValueError for any other."""
    data = pack.read_bytes()
    names = {number: kind for kind, number in _KINDS.items()}
    offset, end = 12, len(data) - 20
    while offset < end:
        byte = data[offset]
        kind = names.get(byte >> 4 & 7)
        while data[offset] & 128:
            offset += 1
        reader = zlib.decompressobj()
        try:
            content = reader.decompress(memoryview(data)[offset + 1 :])
        except zlib.error as error:
            raise ValueError("an object of the pack is damaged") from error
        if kind is None or not reader.eof:
            raise ValueError("the pack has an object that is not stored whole")
        offset = len(data) - len(reader.unused_data)
        yield PackedObject(kind, hash_object(kind, content), content)


def read_packed_ids(index: Path) -> frozenset[str]:
    """Read the ids of a pack's objects from its index. Raises OSError, and ValueError for another file."""
    data = index.read_bytes()
    names = len(_IDX) + _FAN_OUT
    if not data.startswith(_IDX) or len(data) < names:
        raise ValueError("not the index of a pack")
    (count,) = struct.unpack_from(">I", data, names - 4)
    if len(data) < names + 20 * count:
        raise ValueError("the index of a pack is cut short")
    return frozenset(data[at : at + 20].hex() for at in range(names, names + 20 * count, 20))


def _write_objects(
    file: Path, objects: Iterable[PackedObject], count: int, durable: bool
) -> tuple[Mapping[bytes, _ObjectPlace], bytes]:
    places: dict[bytes, _ObjectPlace] = {}
    with file.open("wb") as stream:
        header = struct.pack(">4sII", b"PACK", 2, count)
        stream.write(header)
        digest = hashlib.sha1(header, usedforsecurity=False)
        offset = len(header)
        for kind, id, data in objects:
            if hash_object(kind, data) != id:
                raise ObjectChanged(id)
            stored = bytes(_encode_size(_KINDS[kind], len(data))) + zlib.compress(data)
            stream.write(stored)
            digest.update(stored)
            places[bytes.fromhex(id)] = _ObjectPlace(offset, zlib.crc32(stored))
            offset += len(stored)
        if len(places) != count:
            raise ValueError("a pack of other objects than were counted")
        stream.write(digest.digest())
        if durable:
            stream.flush()
            os.fsync(stream.fileno())
    return places, digest.digest()


def _encode_size(kind: int, size: int) -> Iterator[int]:
    """Return an object's header: four bits of its size with the kind, then seven bits a byte."""
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        yield byte | 128
        byte, size = size & 127, size >> 7
    yield byte


def _encode_index(places: Mapping[bytes, _ObjectPlace], pack: bytes) -> bytes:
    ids = sorted(places)
    counts = [0] * 256
    for id in ids:
        counts[id[0]] += 1
    ends = [sum(counts[: byte + 1]) for byte in range(256)]
    far = [places[id].offset for id in ids if places[id].offset >= _FAR]
    ranks = {offset: rank for rank, offset in enumerate(far)}
    offsets = [
        _FAR | ranks[place.offset] if place.offset >= _FAR else place.offset
        for place in (places[id] for id in ids)
    ]
    data = b"".join(
        (
            _IDX,
            struct.pack(">256I", *ends),
            *ids,
            struct.pack(f">{len(ids)}I", *(places[id].crc for id in ids)),
            struct.pack(f">{len(ids)}I", *offsets),
            struct.pack(f">{len(far)}Q", *far),
            pack,
        )
    )
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _write(file: Path, data: bytes, durable: bool) -> None:
    with file.open("wb") as stream:
        stream.write(data)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())
