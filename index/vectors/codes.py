"""Vectors in eight bits a number, scanned for the sections that may be nearest to a question.

A scan of all codes finds candidates, which are then ranked by their full vectors. Of 158,000 vectors with 384
dimensions the codes need 61 MB and the vectors 243 MB. The codes are converted to floating-point numbers in
blocks that fit the cache of a processor, because NumPy multiplies integers slowly.

A table of more than 200,000 vectors is scanned by NumKong, if it is installed (`docyard[vectors]`): of a
million vectors in 18 ms instead of 65 ms. This is the only module that imports `numkong`.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from index.vectors.embedder import Vectors

Scalar = TypeVar("Scalar", bound=np.generic)

_BLOCK_ROWS = 1_024
_MIN_CAPACITY = 1_024
LARGE_TABLE_ROWS = 200_000
"""The number of rows from which a scan by NumPy takes longer than the rest of a search."""

_MAX_CODE = 127

NO_ROW = -1
"""The row of a section without a vector."""


class Codes(NamedTuple):
    """Encoded vectors: one row of numbers and one scale for each vector."""

    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]


def encode_vectors(vectors: Vectors) -> Codes:
    """Encode vectors; a code times its scale is the vector, with an error of at most half a scale."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(_MAX_CODE)
    divisors = np.where(scales == 0, 1, scales)
    return Codes(np.rint(vectors / divisors[:, None]).astype(np.int8), scales.astype(np.float32))


def split_digests(digests: NDArray[np.uint8]) -> list[bytes]:
    """Return each row of digests as bytes."""
    data, size = digests.tobytes(), digests.shape[1]
    return [data[start : start + size] for start in range(0, len(data), size)]


class CodeTable:
    """The codes of many vectors by digest. Safe to use from threads.

    Rows are only added, in ascending order of their ids in a store.
    """

    def __init__(self, dimensions: int) -> None:
        self._numbers = np.empty((_MIN_CAPACITY, dimensions), np.int8)
        self._scales = np.empty(_MIN_CAPACITY, np.float32)
        self._ids = np.empty(_MIN_CAPACITY, np.int64)
        self._rows: dict[bytes, int] = {}
        self._count = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    @property
    def last_id(self) -> int:
        """The id of the last row; 0 without rows."""
        with self._lock:
            return int(self._ids[self._count - 1]) if self._count else 0

    def get_ids(self, rows: Sequence[int]) -> list[int]:
        """Return the ids of rows in the store."""
        with self._lock:
            return [int(self._ids[row]) for row in rows]

    def count_rows(self, last_id: int) -> int:
        """Return the number of rows whose ids are at most `last_id`."""
        with self._lock:
            return int(np.searchsorted(self._ids[: self._count], last_id, "right"))

    def add(self, ids: Sequence[int], digests: Sequence[bytes], codes: Codes) -> None:
        """Add the codes of digests, with ascending ids; those of rows that the table has are ignored."""
        with self._lock:
            last_id = int(self._ids[self._count - 1]) if self._count else 0
            new = range(bisect_right(ids, last_id), len(ids))
            start = self._count
            end = start + len(new)
            if end > len(self._scales):
                capacity = max(end, len(self._scales) * 3 // 2)
                self._numbers = _grow(self._numbers, capacity, start)
                self._scales = _grow(self._scales, capacity, start)
                self._ids = _grow(self._ids, capacity, start)
            self._numbers[start:end] = codes.numbers[new.start :]
            self._scales[start:end] = codes.scales[new.start :]
            self._ids[start:end] = ids[new.start :]
            self._count = end
            # A reader that sees a digest finds its row complete.
            for row, number in enumerate(new, start):
                self._rows.setdefault(digests[number], row)

    def find_rows(self, digests: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the row of each digest, given as rows of bytes; NO_ROW without one."""
        find = self._rows.get
        return np.fromiter(
            (find(digest, NO_ROW) for digest in split_digests(digests)), np.int32, len(digests)
        )

    def scan(self, vector: Vectors) -> NDArray[np.float32]:
        """Return the estimated cosine of a vector with each row; -inf for a row of zeros, which has none."""
        with self._lock:
            count, numbers, scales = self._count, self._numbers, self._scales
        if count > LARGE_TABLE_ROWS and _has_numkong():
            products = _scan_by_numkong(vector, numbers[:count])
        else:
            products = _scan_in_blocks(vector, numbers[:count])
        return np.where(scales[:count] == 0, np.float32(-np.inf), products * scales[:count])


def _scan_in_blocks(vector: Vectors, numbers: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the product of a vector with each row of numbers."""
    products = np.empty(len(numbers), np.float32)
    block = np.empty((_BLOCK_ROWS, numbers.shape[1]), np.float32)
    for start in range(0, len(numbers), _BLOCK_ROWS):
        end = min(start + _BLOCK_ROWS, len(numbers))
        rows = block[: end - start]
        np.copyto(rows, numbers[start:end])
        np.dot(rows, vector, out=products[start:end])
    return products


@cache
def _has_numkong() -> bool:
    return find_spec("numkong") is not None


def _scan_by_numkong(vector: Vectors, numbers: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the product of the code of a vector with each row of numbers."""
    import numkong

    code = encode_vectors(vector[None])
    products: NDArray[np.float32] = np.asarray(numkong.cdist(code.numbers, numbers, "dot"), np.float32)
    estimates: NDArray[np.float32] = products.reshape(len(numbers)) * code.scales[0]
    return estimates


def _grow(array: NDArray[Scalar], capacity: int, count: int) -> NDArray[Scalar]:
    grown = np.empty((capacity, *array.shape[1:]), array.dtype)
    grown[:count] = array[:count]
    return grown
