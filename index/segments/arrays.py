"""Named arrays in one file that is written once and then mapped: what is read is what lies on the disk.

    magic, 8 bytes | length of the head, 8 bytes | head, JSON | arrays, each at a multiple of 8 bytes

The head has the type, shape and offset of each array, and one JSON value of whoever writes the file. Numbers
are little-endian. What is checked here is that every array lies within the file; whether its bytes are right
is for its checksum (`index.integrity`).

A pool of strings: their bytes one after another, and where each begins.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.storage.manifest import FileChecksum, IndexDamaged

_MAGIC = b"docyard\x01"
_ALIGNMENT = 8
_TYPES = frozenset({"|u1", "<u4", "<i4", "<u8", "<i8"})
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class FlatArrays:
    """Arrays by name, not to be written to, and the JSON value that stands beside them."""

    arrays: Arrays
    value: Any


def write_flat(file: Path, arrays: Arrays, value: object = None, durable: bool = False) -> FileChecksum:
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
    return FileChecksum(size, crc)


def map_flat(file: Path) -> FlatArrays:
    """Map a file into memory; its arrays stay readable when it is removed. Raises IndexDamaged."""
    try:
        with file.open("rb") as stream:
            return unpack(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise IndexDamaged.because(type(error).__name__) from error


def pack(arrays: Arrays, value: object = None) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file, piece by piece; large arrays are not copied."""
    places: dict[str, tuple[str, tuple[int, ...], int]] = {}
    offset = 0
    for name, values in arrays.items():
        places[name] = (values.dtype.str, values.shape, offset)
        offset += _pad(values.nbytes)
    head = json.dumps({"arrays": places, "value": value}, separators=(",", ":")).encode()
    head += b" " * (_pad(len(head)) - len(head))
    yield _MAGIC + len(head).to_bytes(8, "little") + head
    for values in arrays.values():
        if values.nbytes:
            yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
            yield bytes(_pad(values.nbytes) - values.nbytes)


def unpack(buffer: bytes | mmap.mmap) -> FlatArrays:
    """Return the arrays of a file as views of its bytes. Raises IndexDamaged."""
    try:
        if buffer[:8] != _MAGIC:
            raise ValueError("not a file of arrays")
        begin = 16 + int.from_bytes(buffer[8:16], "little")
        if begin % _ALIGNMENT or begin > len(buffer):
            raise ValueError("the head is not within the file")
        head = json.loads(buffer[16:begin])
        arrays = {name: _view(buffer, begin, *place) for name, place in head["arrays"].items()}
        return FlatArrays(arrays, head["value"])
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


def _pad(size: int) -> int:
    return size + -size % _ALIGNMENT


_ERRORS = "surrogatepass"
_MOST = 0xFFFF_FFFF
_ABOVE = b"\xff"  # no string has this byte


class StringPool:
    """Strings by number, read from two arrays: the bytes of all, and the offsets of all and of the end."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.uint32]) -> None:
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data):
            raise ValueError("the strings do not fit their offsets")
        # A memoryview gives a Python int or bytes several times faster than an array does.
        self._data = data.data
        self._offsets = offsets.data

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def raw(self, number: int) -> bytes:
        """Return the bytes of a string."""
        return bytes(self._data[self._offsets[number] : self._offsets[number + 1]])

    def text(self, number: int) -> str:
        """Return a string as text; lone surrogates pass."""
        return str(self._data[self._offsets[number] : self._offsets[number + 1]], "utf-8", _ERRORS)

    def at_or_after(self, wanted: bytes) -> int:
        """Count the strings before a wanted one. The pool must be ascending."""
        data, offsets = self._data, self._offsets
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) // 2
            # memoryviews compare for equality only
            if bytes(data[offsets[middle] : offsets[middle + 1]]) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, wanted: bytes) -> int | None:
        """Return the number of a string in an ascending pool; None if it is not there."""
        number = self.at_or_after(wanted)
        return number if number < len(self) and self.raw(number) == wanted else None

    def starting(self, prefix: bytes) -> list[bytes]:
        """List the strings of an ascending pool that begin with some bytes of UTF-8."""
        first, last = self.at_or_after(prefix), self.at_or_after(prefix + _ABOVE)
        start, *ends = self._offsets[first : last + 1].tolist()
        data = bytes(self._data[start : ends[-1] if ends else start])
        return [data[one - start : other - start] for one, other in pairwise((start, *ends))]

    def all(self) -> list[bytes]:
        """List the bytes of every string."""
        data, offsets = bytes(self._data), self._offsets.tolist()
        return [data[start:end] for start, end in pairwise(offsets)]


class StringPoolBuilder:
    """A pool in the making."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._sizes = array("I")

    def extend(self, strings: Iterable[bytes]) -> None:
        found = list(strings)
        self._data += b"".join(found)
        self._sizes.extend(map(len, found))

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Return the bytes, and the offsets."""
        return np.frombuffer(self._data, np.uint8), offsets(np.frombuffer(self._sizes, np.uint32))


def encode(text: str) -> bytes:
    """Return a string as it is stored; the order of these bytes is the order of the strings."""
    return text.encode("utf-8", _ERRORS)


def decode(data: bytes) -> str:
    """Return the string that is stored as these bytes."""
    return data.decode("utf-8", _ERRORS)


def offsets(sizes: NDArray[np.integer]) -> NDArray[np.uint32]:
    """Turn the sizes of n strings into their n + 1 offsets."""
    found = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=found[1:])
    if found[-1] > _MOST:
        raise OverflowError("a pool of strings holds at most 4 GB")
    return found.astype(np.uint32)


def join(
    pools: Iterable[tuple[NDArray[np.uint8], NDArray[np.uint32]]],
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the arrays of a pool that has the strings of several, one pool after another."""
    found = list(pools)
    sizes = np.concatenate([offsets_[1:] - offsets_[:-1] for _, offsets_ in found])
    return np.concatenate([data for data, _ in found]), offsets(sizes)


def gather(
    data: NDArray[np.uint8], offsets_: NDArray[np.uint32], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the arrays of a pool that has some of the strings of another, in the order given."""
    starts = offsets_[order].astype(np.int64)
    sizes = offsets_[order + 1] - starts
    return data[ranges(starts, sizes)], offsets(sizes)


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the numbers of several ranges, one range after another."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
