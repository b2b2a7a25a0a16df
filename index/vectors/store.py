"""The SQLite tables of the vectors of one embedding id, in a file or in memory.

    facts     the probe's vector, and the values that belong to the id
    codes     for each digest: the vector in eight bits a number, and the day on which it was last used
    vectors   for each digest: the vector in sixteen bits a number

Vectors are stored by the digest of a section's headings and text, so that a commit needs new vectors only for
what it changed. Rows are added in one transaction for each batch, and their ids increase. There is no index
of digests, which would take as long as all the rest: every reader loads the codes. Every value ends with its
CRC-32, because nothing is forced to the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from index.storage.database import connect, remove_database, translate_sqlite_errors
from index.storage.manifest import IndexDamaged
from index.vectors.codes import Codes, encode_vectors
from index.vectors.embedder import Vectors

_CREATE_TABLES = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS codes
        (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB, used INTEGER, code BLOB);
    CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, vector BLOB);
    COMMIT;
"""

_CRC_BYTES = 4
_SCALE = np.dtype("<f4")
_ROWS_PER_FETCH = 10_000


class CodeRows(NamedTuple):
    """Some rows of a store: their ids, which ascend, their digests, and their codes."""

    ids: list[int]
    digests: list[bytes]
    codes: Codes


class VectorStore:
    """The vectors of one embedding id. Safe to use from threads.

    Every method raises IndexDamaged for a value with a wrong checksum, and IndexBusy or IndexUnwritable if
    the system or another process prevents the access.
    """

    def __init__(self, file: Path | None, dimensions: int, *, read_only: bool = False) -> None:
        """Open a file, created if needed; None is memory. Nothing changes a file that is opened read-only."""
        self._file = file
        self._dimensions = dimensions
        self._lock = threading.RLock()
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
            self._connection.close()

    def finish(self) -> None:
        """Write everything to the one file, which can then be opened read-only."""
        with self._lock, translate_sqlite_errors():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("PRAGMA journal_mode=DELETE")

    def discard(self) -> None:
        """Close the file, and remove it."""
        self.close()
        if self._file is not None:
            remove_database(self._file)

    def read_probe(self) -> Vectors | None:
        """Return the vector of the probe text with which the store was begun; None if it is new."""
        for (value,) in self._fetch("SELECT value FROM facts WHERE name = 'probe'"):
            return np.frombuffer(_check(value, 4 * self._dimensions + _CRC_BYTES), "<f4").astype(np.float32)
        return None

    def write_probe(self, vector: Vectors) -> None:
        """Store the vector of the probe text, unless there is one."""
        value = _seal(vector.astype("<f4").tobytes())
        with self._lock, translate_sqlite_errors():
            self._connection.execute("INSERT OR IGNORE INTO facts VALUES ('probe', ?)", [value])

    def last_id(self) -> int:
        """Return the largest id of a row; 0 without rows."""
        ((number,),) = self._fetch("SELECT ifnull(max(id), 0) FROM codes")
        return int(str(number))

    def read_codes(self, after: int = 0) -> Iterator[CodeRows]:
        """Yield the codes of the rows whose ids are above `after`, some thousand at a time."""
        size = _SCALE.itemsize + self._dimensions + _CRC_BYTES
        while True:
            rows = self._fetch(
                "SELECT id, digest, code FROM codes WHERE id > ? ORDER BY id LIMIT ?",
                [after, _ROWS_PER_FETCH],
            )
            if not rows:
                return
            values = b"".join(_check(code, size) for *_, code in rows)
            table = np.frombuffer(values, np.uint8).reshape(len(rows), size - _CRC_BYTES)
            scales = table[:, : _SCALE.itemsize].copy().view(_SCALE)[:, 0].astype(np.float32)
            numbers = table[:, _SCALE.itemsize :].view(np.int8)
            ids = [int(str(id)) for id, *_ in rows]
            yield CodeRows(ids, [_check_bytes(digest) for _, digest, _ in rows], Codes(numbers, scales))
            after = ids[-1]

    def read_vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of rows by id; those that were removed are left out."""
        vectors: dict[int, Vectors] = {}
        size = 2 * self._dimensions + _CRC_BYTES
        with self._lock, translate_sqlite_errors():
            for id in ids:
                for (value,) in self._connection.execute("SELECT vector FROM vectors WHERE id = ?", [id]):
                    vectors[id] = np.frombuffer(_check(value, size), "<f2").astype(np.float32)
        return vectors

    def add(self, digests: Sequence[bytes], vectors: Vectors, day: int) -> CodeRows:
        """Add the vectors of digests in one transaction, and return the new rows.

        `day` is the day of their use, counted from 1970-01-01.
        """
        codes = encode_vectors(vectors)
        scales = codes.scales.astype(_SCALE)
        halves = vectors.astype("<f2")
        with self._transaction():
            ((last_id,),) = self._connection.execute("SELECT ifnull(max(seq), 0) FROM sqlite_sequence")
            ids = range(last_id + 1, last_id + 1 + len(digests))
            self._connection.executemany(
                "INSERT INTO codes VALUES (?, ?, ?, ?)",
                [
                    (id, digest, day, _seal(scale.tobytes() + number_row.tobytes()))
                    for id, digest, scale, number_row in zip(ids, digests, scales, codes.numbers, strict=True)
                ],
            )
            self._connection.executemany(
                "INSERT INTO vectors VALUES (?, ?)",
                [(id, _seal(half.tobytes())) for id, half in zip(ids, halves, strict=True)],
            )
        return CodeRows(list(ids), list(digests), codes)

    def mark_used(self, ids: Iterable[int], day: int) -> None:
        """Store the day of the last use of some rows."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE codes SET used = ? WHERE id = ? AND used < ?", ((day, id, day) for id in ids)
            )

    def remove_unused(self, before: int) -> int:
        """Remove the vectors that were last used before a day; return their number."""
        with self._transaction():
            self._connection.execute(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM codes WHERE used < ?)", [before]
            )
            return self._connection.execute("DELETE FROM codes WHERE used < ?", [before]).rowcount

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Change the tables in one transaction, which is rolled back after an error."""
        with self._lock, translate_sqlite_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _fetch(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with self._lock, translate_sqlite_errors():
            return self._connection.execute(statement, tuple(values)).fetchall()


def _seal(value: bytes) -> bytes:
    return value + crc32(value).to_bytes(_CRC_BYTES, "little")


def _check(value: object, size: int) -> bytes:
    """Return a value without its checksum. Raises IndexDamaged."""
    data = _check_bytes(value)
    content = data[:-_CRC_BYTES]
    if len(data) != size or crc32(content).to_bytes(_CRC_BYTES, "little") != data[-_CRC_BYTES:]:
        raise IndexDamaged.with_reason("a vector has a wrong checksum")
    return content


def _check_bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise IndexDamaged.with_reason("a value of the vectors has a wrong type")
    return value
