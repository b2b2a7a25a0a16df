"""A pool of strings: their bytes one after another, and where each begins."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_ERRORS = "surrogatepass"
_MOST = 0xFFFF_FFFF
_ABOVE = b"\xff"  # no string has this byte


class Pool:
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
        """Give the bytes of a string."""
        return bytes(self._data[self._offsets[number] : self._offsets[number + 1]])

    def text(self, number: int) -> str:
        """Give a string as text; lone surrogates pass."""
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
        """Give the number of a string in an ascending pool; None if it is not there."""
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


class Strings:
    """A pool in the making."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._sizes = array("I")

    def extend(self, strings: Iterable[bytes]) -> None:
        found = list(strings)
        self._data += b"".join(found)
        self._sizes.extend(map(len, found))

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Give the bytes, and the offsets."""
        return np.frombuffer(self._data, np.uint8), offsets(np.frombuffer(self._sizes, np.uint32))


def encoded(text: str) -> bytes:
    """Give a string as it is stored; the order of these bytes is the order of the strings."""
    return text.encode("utf-8", _ERRORS)


def decoded(data: bytes) -> str:
    """Give the string that is stored as these bytes."""
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
    """Give the arrays of a pool that has the strings of several, one pool after another."""
    found = list(pools)
    sizes = np.concatenate([offsets_[1:] - offsets_[:-1] for _, offsets_ in found])
    return np.concatenate([data for data, _ in found]), offsets(sizes)


def gather(
    data: NDArray[np.uint8], offsets_: NDArray[np.uint32], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Give the arrays of a pool that has some of the strings of another, in the order given."""
    starts = offsets_[order].astype(np.int64)
    sizes = offsets_[order + 1] - starts
    return data[ranges(starts, sizes)], offsets(sizes)


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the numbers of several ranges, one range after another."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
