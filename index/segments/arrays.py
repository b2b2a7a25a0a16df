"""Named arrays in one file that is written once and then mapped: what is read is what lies on the disk.

    magic, 8 bytes | length of the head, 8 bytes | head, JSON | arrays, each at a multiple of 8 bytes

The head has the type, shape and offset of each array, and one JSON value of whoever writes the file. Numbers
are little-endian. What is checked here is that every array lies within the file; whether its bytes are right
is for its checksum (`index.integrity`).
"""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.storage.manifest import IndexDamaged, Sum

_MAGIC = b"docyard\x01"
_ALIGNMENT = 8
_TYPES = frozenset({"|u1", "<u4", "<i4", "<u8", "<i8"})

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Flat:
    """Arrays by name, not to be written to, and the JSON value that stands beside them."""

    arrays: Arrays
    value: Any


def write_flat(file: Path, arrays: Arrays, value: object = None, durable: bool = False) -> Sum:
    """Write a new file in one pass, and return its length and checksum; `durable` forces it to the disk."""
    size = crc = 0
    with file.open("xb") as stream:
        for piece in pack(arrays, value):
            stream.write(piece)
            crc = zlib.crc32(piece, crc)
            size += len(piece)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())
    return Sum(size, crc)


def map_flat(file: Path) -> Flat:
    """Map a file into memory; its arrays stay readable when it is removed. Raises IndexDamaged."""
    try:
        with file.open("rb") as stream:
            return unpack(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise IndexDamaged.because(type(error).__name__) from error


def pack(arrays: Arrays, value: object = None) -> Iterator[bytes | memoryview]:
    """Give the bytes of a file, piece by piece; large arrays are not copied."""
    places: dict[str, tuple[str, tuple[int, ...], int]] = {}
    offset = 0
    for name, array in arrays.items():
        places[name] = (array.dtype.str, array.shape, offset)
        offset += _padded(array.nbytes)
    head = json.dumps({"arrays": places, "value": value}, separators=(",", ":")).encode()
    head += b" " * (_padded(len(head)) - len(head))
    yield _MAGIC + len(head).to_bytes(8, "little") + head
    for array in arrays.values():
        if array.nbytes:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            yield bytes(_padded(array.nbytes) - array.nbytes)


def unpack(buffer: bytes | mmap.mmap) -> Flat:
    """Give the arrays of a file as views of its bytes. Raises IndexDamaged."""
    try:
        if buffer[:8] != _MAGIC:
            raise ValueError("not a file of arrays")
        begin = 16 + int.from_bytes(buffer[8:16], "little")
        if begin % _ALIGNMENT or begin > len(buffer):
            raise ValueError("the head is not within the file")
        head = json.loads(buffer[16:begin])
        arrays = {name: _view(buffer, begin, *place) for name, place in head["arrays"].items()}
        return Flat(arrays, head["value"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise IndexDamaged.because(type(error).__name__) from error


def _view(buffer: bytes | mmap.mmap, begin: int, kind: str, shape: list[int], offset: int) -> NDArray[Any]:
    if kind not in _TYPES or any(type(number) is not int or number < 0 for number in (offset, *shape)):
        raise ValueError("an array is not described")
    count = math.prod(shape)
    dtype = np.dtype(kind)
    # NumPy would take an offset at the very end for an error, though nothing is to be read there.
    if offset % _ALIGNMENT or begin + offset + count * dtype.itemsize > len(buffer):
        raise ValueError("an array is not within the file")
    if not count:
        return np.empty(shape, dtype)
    return np.frombuffer(buffer, dtype, count, begin + offset).reshape(shape)


def _padded(size: int) -> int:
    return size + -size % _ALIGNMENT
