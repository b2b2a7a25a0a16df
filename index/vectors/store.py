"""The SQLite tables of the vectors of one embedding id, in a file or in memory.

    facts     the vector of the probe text, and the id of the next vector
    blocks    some vectors with consecutive ids: the first id, their number, the day on which one of them was
              last used, their digests and codes, and the vectors in sixteen bits a number

Vectors are stored by the digest of a section's headings and text, so that a commit needs new vectors only for
what it changed. A block is written in one transaction, and ids increase; there is no index of digests,
because every reader loads the digests and codes. Values have CRC-32 checksums, because nothing is forced to
the disk: one for the digests and codes of a block, and one for each vector.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from index.documents import DIGEST_BYTES
from index.storage.database import connect, remove_database, translate_sqlite_errors
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from index.vectors.codes import Codes, encode_vectors, split_digests
from index.vectors.embedder import Vectors

MAX_BLOCK_VECTORS = 64
"""The largest number of vectors of a block. SQLite reads a block up to the vector that is needed."""

_CREATE_TABLES = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS blocks
        (first INTEGER PRIMARY KEY, count INTEGER, used INTEGER, codes BLOB, vectors BLOB);
    COMMIT;
"""

_SECONDS_PER_DAY = 86_400

_PROBE, _NEXT_ID = "probe", "next_id"
_CRC_BYTES = 4
_SCALE = np.dtype("<f4")
_HALF = np.dtype("<f2")
_CHECKSUM = np.dtype("<u4")


class CodeRows(NamedTuple):
    """Some vectors of a store: their ids, which ascend, their digests, and their codes."""

    ids: Sequence[int]
    digests: Sequence[bytes]
    codes: Codes


class _Block(NamedTuple):
    """The values of a block: its number of vectors, and their codes and vectors with checksums."""

    size: int
    codes: bytes
    vectors: bytes


class VectorStore:
    """The vectors of one embedding id. Safe to use from threads.

    Every method raises IndexDamaged for a value with a wrong checksum, and IndexBusy or IndexUnwritable if
    the system or another process prevents the access. After `close`, which another thread may call, every
    method raises IndexBusy.
    """

    def __init__(self, file: Path | None, dimensions: int, *, read_only: bool = False) -> None:
        """Open a file, created if needed; None is memory. Nothing changes a file that is opened read-only."""
        self.file = file
        self._dimensions = dimensions
        self._lock = threading.RLock()
        self._is_closed = False
        self._connection = connect(file, read_only=read_only)
        try:
            with translate_sqlite_errors():
                if not read_only:
                    self._connection.executescript(_CREATE_TABLES)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._is_closed = True
            self._connection.close()

    def finish(self) -> None:
        """Write everything to the one file, which can then be opened read-only."""
        with self._access():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("PRAGMA journal_mode=DELETE")

    def discard(self) -> None:
        """Close the file, and remove it."""
        self.close()
        if self.file is not None:
            remove_database(self.file)

    def read_probe(self) -> Vectors | None:
        """Return the vector of the probe text with which the store was begun; None if it is new."""
        value = self._read_fact(_PROBE)
        if value is None:
            return None
        if len(value) != _SCALE.itemsize * self._dimensions:
            raise IndexDamaged.with_reason("the vector of the probe text has a wrong size")
        return np.frombuffer(value, _SCALE).astype(np.float32)

    def write_probe(self, vector: Vectors) -> None:
        """Store the vector of the probe text, unless there is one."""
        with self._transaction():
            if self._read_fact(_PROBE) is None:
                self._write_fact(_PROBE, vector.astype(_SCALE).tobytes())

    def last_id(self) -> int:
        """Return the largest id that was given to a vector; 0 without vectors."""
        value = self._read_fact(_NEXT_ID)
        return int.from_bytes(value, "little") - 1 if value is not None else 0

    def read_codes(self, after: int = 0) -> Iterator[CodeRows]:
        """Yield the codes of each block whose ids are above `after`, the id of a block's last vector."""
        with self._access():
            blocks = self._connection.execute(
                "SELECT first, count, codes FROM blocks WHERE first > ? ORDER BY first", [after]
            ).fetchall()
        for first, size, codes in blocks:
            yield self._decode_codes(range(first, first + size), codes)

    def read_vectors(self, ids: Iterable[int]) -> dict[int, Vectors]:
        """Return vectors by id; those that were removed are left out."""
        size = _HALF.itemsize * self._dimensions
        vectors: dict[int, Vectors] = {}
        with self._access():
            for id in ids:
                for first, count, value in self._connection.execute(
                    "SELECT first, count, substr(vectors, 1 + (? - first) * ?, ?) FROM blocks"
                    " WHERE first <= ? ORDER BY first DESC LIMIT 1",
                    [id, size + _CRC_BYTES, size + _CRC_BYTES, id],
                ):
                    if id < first + count:
                        content = _check(value)
                        if len(content) != size:
                            raise IndexDamaged.with_reason("a vector has a wrong size")
                        vectors[id] = np.frombuffer(content, _HALF).astype(np.float32)
        return vectors

    def copy_to(self, target: VectorStore, digests: Set[bytes], day: int) -> None:
        """Copy the vectors of some digests in one transaction. Blocks without others are copied unchanged."""
        with self._access(), target._transaction():
            for first, *values in self._connection.execute(
                "SELECT first, count, codes, vectors FROM blocks ORDER BY first"
            ):
                block = _Block(*values)
                rows = self._decode_codes(range(first, first + block.size), block.codes)
                numbers = [number for number, digest in enumerate(rows.digests) if digest in digests]
                if numbers:
                    vectors = self._decode_vectors(block)
                    if len(numbers) < len(rows.digests):
                        copied = [rows.digests[number] for number in numbers]
                        codes = Codes(rows.codes.numbers[numbers], rows.codes.scales[numbers])
                        [block] = _encode_blocks(copied, codes, vectors[numbers])
                    target._insert([block], day)

    def add(self, digests: Sequence[bytes], vectors: Vectors, day: int) -> CodeRows:
        """Add the vectors of digests in one transaction, and return their ids and codes.

        `day` is the day of their use, counted from 1970-01-01. The codes are those of the stored vectors, so
        that a node that reads these from another one has the same codes.
        """
        halves = vectors.astype(_HALF)
        codes = encode_vectors(halves.astype(np.float32))
        blocks = _encode_blocks(digests, codes, halves)
        with self._transaction():
            first = self._insert(blocks, day)
        return CodeRows(range(first, first + len(digests)), list(digests), codes)

    def mark_used(self, ids: Iterable[int], day: int) -> None:
        """Store the day of the last use of the blocks of some vectors."""
        with self._access():
            ranges = self._connection.execute("SELECT first, first + count FROM blocks").fetchall()
        firsts = np.array([first for first, _ in ranges], np.int64)
        positions = np.unique(np.searchsorted(firsts, np.fromiter(ids, np.int64), "right") - 1)
        with self._transaction():
            self._connection.executemany(
                "UPDATE blocks SET used = max(used, ?) WHERE first = ?",
                [(day, int(firsts[position])) for position in positions if position >= 0],
            )

    def remove_unused(self, before: int) -> int:
        """Remove the blocks that were last used before a day; return the number of their vectors."""
        with self._transaction():
            ((count,),) = self._connection.execute(
                "SELECT ifnull(sum(count), 0) FROM blocks WHERE used < ?", [before]
            )
            self._connection.execute("DELETE FROM blocks WHERE used < ?", [before])
            return int(count)

    def _decode_codes(self, ids: range, value: bytes) -> CodeRows:
        """Return the codes of a block, given with the ids of its vectors."""
        width = DIGEST_BYTES + _SCALE.itemsize + self._dimensions
        table = np.frombuffer(_check(value), np.uint8)
        if table.size != len(ids) * width:
            raise IndexDamaged.with_reason("the codes of vectors have a wrong size")
        table = table.reshape(len(ids), width)
        scales = table[:, DIGEST_BYTES : DIGEST_BYTES + _SCALE.itemsize].copy().view(_SCALE)[:, 0]
        numbers = table[:, DIGEST_BYTES + _SCALE.itemsize :].view(np.int8)
        codes = Codes(numbers, scales.astype(np.float32))
        return CodeRows(ids, split_digests(table[:, :DIGEST_BYTES]), codes)

    def _decode_vectors(self, block: _Block) -> NDArray[np.float16]:
        """Return the vectors of a block."""
        size = _HALF.itemsize * self._dimensions
        if len(block.vectors) != block.size * (size + _CRC_BYTES):
            raise IndexDamaged.with_reason("the vectors of a block have a wrong size")
        table = np.frombuffer(block.vectors, np.uint8).reshape(block.size, size + _CRC_BYTES)
        if not np.array_equal(_append_checksums(table[:, :size]), table):
            raise IndexDamaged.with_reason("a vector has a wrong checksum")
        return np.ascontiguousarray(table[:, :size]).view(_HALF)

    def _insert(self, blocks: Sequence[_Block], day: int) -> int:
        """Insert blocks in the current transaction, and return the id of their first vector."""
        first = next_id = self.last_id() + 1
        for block in blocks:
            self._connection.execute(
                "INSERT INTO blocks (first, count, used, codes, vectors) VALUES (?, ?, ?, ?, ?)",
                [next_id, block.size, day, block.codes, block.vectors],
            )
            next_id += block.size
        self._write_fact(_NEXT_ID, next_id.to_bytes(8, "little"))
        return first

    @contextmanager
    def _access(self) -> Iterator[None]:
        """Use the connection alone. Raises the errors of the class."""
        with self._lock, translate_sqlite_errors():
            if self._is_closed:
                raise IndexBusy("the vectors were closed or replaced", fix="Try again in a moment.")
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Change the tables in one transaction, which is rolled back after an error."""
        with self._access():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _read_fact(self, name: str) -> bytes | None:
        with self._access():
            rows = self._connection.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchall()
        return _check(rows[0][0]) if rows else None

    def _write_fact(self, name: str, value: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, _seal(value)])


def _encode_blocks(digests: Sequence[bytes], codes: Codes, vectors: NDArray[np.float16]) -> list[_Block]:
    """Return the blocks of some vectors."""
    code_table = np.hstack(
        [
            np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), DIGEST_BYTES),
            codes.scales.astype(_SCALE)[:, None].view(np.uint8),
            codes.numbers.view(np.uint8),
        ]
    )
    vector_table = _append_checksums(vectors.view(np.uint8))
    return [
        _Block(
            min(MAX_BLOCK_VECTORS, len(digests) - start),
            _seal(code_table[start : start + MAX_BLOCK_VECTORS].tobytes()),
            vector_table[start : start + MAX_BLOCK_VECTORS].tobytes(),
        )
        for start in range(0, len(digests), MAX_BLOCK_VECTORS)
    ]


def get_today() -> int:
    """Return the number of days since 1970-01-01."""
    return int(time.time() // _SECONDS_PER_DAY)


def _append_checksums(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows of bytes, each followed by its CRC-32."""
    checksums = np.fromiter(map(crc32, np.ascontiguousarray(rows)), _CHECKSUM, len(rows))
    return np.hstack([rows, checksums[:, None].view(np.uint8)])


def _seal(value: bytes) -> bytes:
    return value + crc32(value).to_bytes(_CRC_BYTES, "little")


def _check(value: object) -> bytes:
    """Return a value without its checksum. Raises IndexDamaged."""
    if not isinstance(value, bytes):
        raise IndexDamaged.with_reason("a value of the vectors has a wrong type")
    content = value[:-_CRC_BYTES]
    if crc32(content).to_bytes(_CRC_BYTES, "little") != value[-_CRC_BYTES:]:
        raise IndexDamaged.with_reason("a vector has a wrong checksum")
    return content
