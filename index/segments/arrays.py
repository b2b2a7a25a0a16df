"""Named arrays in one file that is written once and then mapped, without decoding.

    magic, 8 bytes | length of the head, 8 bytes | head, JSON | arrays, each at a multiple of 8 bytes

The head has the type, shape and offset of each array, and a JSON value given by the caller. Numbers are
little-endian. `unpack` checks that every array lies within the file. The manifest has the file's checksum
(`index.storage.manifest`).

A pool of strings is two arrays: the bytes of all strings, one after another, and their offsets.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.storage.manifest import FileChecksum, IndexDamaged

_MAGIC = b"docyard\x01"
_ALIGNMENT_BYTES = 8
_TYPES = frozenset({"|u1", "<u4", "<i4", "<u8", "<i8"})
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class FlatArrays:
    """Read-only arrays by name, and the JSON value of the same file."""

    arrays: Arrays
    value: Any


def write_flat(file: Path, arrays: Arrays, value: object = None, durable: bool = False) -> FileChecksum:
    """Write a new file in one pass, and return its length and checksum; `durable` forces it to the disk."""
    size = crc = 0
    with file.open("xb") as stream:
        for chunk in pack(arrays, value):
            stream.write(chunk)
            crc = zlib.crc32(chunk, crc)
            size += len(chunk)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())
    return FileChecksum(size, crc)


def map_flat(file: Path) -> FlatArrays:
    """Map a file into memory. Its arrays stay readable after it is removed. Raises IndexDamaged."""
    try:
        with file.open("rb") as stream:
            return unpack(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise IndexDamaged.with_reason(type(error).__name__) from error


def pack(arrays: Arrays, value: object = None) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file in chunks; large arrays are not copied."""
    descriptions: dict[str, tuple[str, tuple[int, ...], int]] = {}
    offset = 0
    for name, values in arrays.items():
        descriptions[name] = (values.dtype.str, values.shape, offset)
        offset += _pad_size(values.nbytes)
    head = json.dumps({"arrays": descriptions, "value": value}, separators=(",", ":")).encode()
    head += b" " * (_pad_size(len(head)) - len(head))
    yield _MAGIC + len(head).to_bytes(8, "little") + head
    for values in arrays.values():
        if values.nbytes:
            yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
            yield bytes(_pad_size(values.nbytes) - values.nbytes)


def unpack(buffer: bytes | mmap.mmap) -> FlatArrays:
    """Return the arrays of a file as views of its bytes. Raises IndexDamaged."""
    try:
        if buffer[:8] != _MAGIC:
            raise ValueError("the file has a wrong magic number")
        begin = 16 + int.from_bytes(buffer[8:16], "little")
        if begin % _ALIGNMENT_BYTES or begin > len(buffer):
            raise ValueError("the head exceeds the file")
        head = json.loads(buffer[16:begin])
        arrays = {
            name: _view_array(buffer, begin, *description) for name, description in head["arrays"].items()
        }
        return FlatArrays(arrays, head["value"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise IndexDamaged.with_reason(type(error).__name__) from error


def _view_array(
    buffer: bytes | mmap.mmap, begin: int, type_name: str, shape: list[int], offset: int
) -> NDArray[Any]:
    if type_name not in _TYPES or any(type(number) is not int or number < 0 for number in (offset, *shape)):
        raise ValueError("an array has an invalid type, shape or offset")
    count = math.prod(shape)
    dtype = np.dtype(type_name)
    # NumPy rejects an offset at the end of the buffer, even for an empty array.
    if offset % _ALIGNMENT_BYTES or begin + offset + count * dtype.itemsize > len(buffer):
        raise ValueError("an array exceeds the file")
    if not count:
        return np.empty(shape, dtype)
    return np.frombuffer(buffer, dtype, count, begin + offset).reshape(shape)


def _pad_size(size: int) -> int:
    return size + -size % _ALIGNMENT_BYTES


_ENCODING_ERRORS = "surrogatepass"
_MAX_POOL_BYTES = 0xFFFF_FFFF
_AFTER_UTF8 = b"\xff"  # sorts after every byte of UTF-8


_SAMPLE_COUNT = 256
"""The number of sampled strings of an ascending pool, which narrow each search to a range of the pool."""


class StringPool:
    """Strings by number, read from two arrays: the bytes of all strings, and their n + 1 offsets."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.uint32]) -> None:
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data):
            raise ValueError("the offsets of strings do not match their bytes")
        # Indexing a memoryview is several times faster than indexing an array.
        self._data = data.data
        self._offsets = offsets.data

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def get_bytes(self, number: int) -> bytes:
        """Return the bytes of a string."""
        return bytes(self._data[self._offsets[number] : self._offsets[number + 1]])

    def get_text(self, number: int) -> str:
        """Return a string as text; lone surrogates pass."""
        return str(self._data[self._offsets[number] : self._offsets[number + 1]], "utf-8", _ENCODING_ERRORS)

    def get_texts(self, numbers: range) -> list[str]:
        """Return consecutive strings as texts; lone surrogates pass."""
        start, *ends = self._offsets[numbers.start : numbers.stop + 1].tolist()
        data = bytes(self._data[start : ends[-1] if ends else start])
        return [
            data[first - start : end - start].decode("utf-8", _ENCODING_ERRORS)
            for first, end in pairwise((start, *ends))
        ]

    def count_before(self, string: bytes) -> int:
        """Return the number of strings that sort before a string. The pool must be ascending."""
        data, offsets = self._data, self._offsets
        step, samples = self._samples
        sample = bisect_left(samples, string)
        low, high = max((sample - 1) * step, 0), min(sample * step, len(offsets) - 1)
        while low < high:
            middle = (low + high) // 2
            # Memoryviews can only be compared for equality.
            if bytes(data[offsets[middle] : offsets[middle + 1]]) < string:
                low = middle + 1
            else:
                high = middle
        return low

    @cached_property
    def _samples(self) -> tuple[int, list[bytes]]:
        """A step, and the strings at its multiples. A search in this list is faster than in the arrays."""
        step = max(len(self) // _SAMPLE_COUNT, 1)
        return step, [self.get_bytes(number) for number in range(0, len(self), step)]

    def find(self, string: bytes) -> int | None:
        """Return the number of a string in an ascending pool; None if it is missing."""
        number = self.count_before(string)
        return number if number < len(self) and self.get_bytes(number) == string else None

    def find_among(self, first: int, last: int, string: bytes) -> int | None:
        """Return the first number in [first, last) of a non-empty string; None if it is not in this range."""
        offsets = self._offsets
        start = offsets[first]
        data = bytes(self._data[start : offsets[last]])
        position = data.find(string)
        while position >= 0:
            number = bisect_left(offsets, start + position, first, last)
            if offsets[number] == start + position and self.get_bytes(number) == string:
                return number
            position = data.find(string, position + 1)
        return None

    def find_strings_with_prefix(self, prefix: bytes) -> list[bytes]:
        """Return the strings, as UTF-8 bytes, of an ascending pool that begin with a prefix."""
        first, last = self.find_prefix_range(prefix)
        start, *ends = self._offsets[first : last + 1].tolist()
        data = bytes(self._data[start : ends[-1] if ends else start])
        return [
            data[start_offset - start : end_offset - start]
            for start_offset, end_offset in pairwise((start, *ends))
        ]

    def find_prefix_range(self, prefix: bytes) -> tuple[int, int]:
        """Return the range [first, end) of the strings of an ascending pool that begin with a prefix."""
        return self.count_before(prefix), self.count_before(prefix + _AFTER_UTF8)

    def get_all_bytes(self) -> list[bytes]:
        """Return the bytes of every string."""
        data, offsets = bytes(self._data), self._offsets.tolist()
        return [data[start:end] for start, end in pairwise(offsets)]


class StringPoolBuilder:
    """A builder of the two arrays of a string pool."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._sizes = array("I")

    def extend(self, strings: Iterable[bytes]) -> None:
        new_strings = list(strings)
        self._data += b"".join(new_strings)
        self._sizes.extend(map(len, new_strings))

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Return the bytes and the offsets."""
        return np.frombuffer(self._data, np.uint8), compute_offsets(np.frombuffer(self._sizes, np.uint32))


def encode(text: str) -> bytes:
    """Return the stored bytes of a string; their order is the order of the strings."""
    return text.encode("utf-8", _ENCODING_ERRORS)


def decode(data: bytes) -> str:
    """Return the string of stored bytes."""
    return data.decode("utf-8", _ENCODING_ERRORS)


def compute_offsets(sizes: NDArray[np.integer]) -> NDArray[np.uint32]:
    """Return the n + 1 offsets of n strings from their sizes."""
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    if ends[-1] > _MAX_POOL_BYTES:
        raise OverflowError(f"a pool of strings has {ends[-1]:,} bytes (limit {_MAX_POOL_BYTES:,})")
    return ends.astype(np.uint32)


def join_pools(
    pools: Iterable[tuple[NDArray[np.uint8], NDArray[np.uint32]]],
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the arrays of a pool with the strings of several pools, one pool after another."""
    all_pools = list(pools)
    sizes = np.concatenate([offsets[1:] - offsets[:-1] for _, offsets in all_pools])
    return np.concatenate([data for data, _ in all_pools]), compute_offsets(sizes)


def gather_strings(
    data: NDArray[np.uint8], offsets: NDArray[np.uint32], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the arrays of a pool with some strings of another pool, in the given order."""
    starts = offsets[order].astype(np.int64)
    sizes = offsets[order + 1] - starts
    return data[expand_ranges(starts, sizes)], compute_offsets(sizes)


def expand_ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of several ranges, one range after another."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
