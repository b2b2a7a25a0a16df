"""The store of the link graph: tables in one SQLite file, or in the memory of one process.

    state       the graph's commit, tree and rules, the number of documents, and the sum of their checksums
    documents   each document's path, blob, record of links and keys, with a CRC-32 over all of them
    inbound     for each key of a link (`index.link_graph.records`), the documents with such a link

One transaction changes the rows and their commit, starting from the commit that the writer read. If another
writer has changed the state meanwhile, BaseMoved is raised. Nothing is forced to the disk. When the file is
opened, SQLite's check of its pages and the checksums of all rows detect damage by a power loss. A file that
is damaged while it is open may give wrong results until it is opened again.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from index.port import BaseMoved
from index.storage.database import connect, translate_sqlite_errors
from index.storage.manifest import IndexDamaged

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot


class GraphState(NamedTuple):
    """The state of a graph: its commit (None for a tree without one), its tree, and the link rules."""

    commit: str | None
    tree: str | None
    rules: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> GraphState:
        """Return the state of a snapshot's graph."""
        config = snapshot.config
        rules = f"{config.limits.document_bytes} {config.links.model_dump_json()}"
        return cls(snapshot.commit, snapshot.tree, rules)

    def is_same(self, other: GraphState | None) -> bool:
        """Return True if another state has the same documents and rules; two commits may have equal trees."""
        return other is not None and self[1:] == other[1:]


_CREATE_TABLES = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS state (only INTEGER PRIMARY KEY CHECK (only = 1), value BLOB, crc INTEGER);
    CREATE TABLE IF NOT EXISTS documents
        (id INTEGER PRIMARY KEY, path BLOB UNIQUE, blob TEXT, record BLOB, keys BLOB, crc INTEGER);
    CREATE TABLE IF NOT EXISTS inbound
        (key INTEGER, document INTEGER, PRIMARY KEY (key, document)) WITHOUT ROWID;
    COMMIT;
    CREATE TEMP TABLE new_documents AS SELECT * FROM documents WHERE 0;
    CREATE TEMP TABLE new_inbound AS SELECT * FROM inbound WHERE 0;
"""

# These sums differ if a key is missing, is there twice, or belongs to another document. The two halves of a
# key are summed separately, because the sum of whole keys would exceed 64 bits.
_SUM_INBOUND = """
    SELECT count(*), ifnull(sum(key >> 31), 0), ifnull(sum(key & 2147483647), 0),
        ifnull(sum((key & 65535) * document), 0)
    FROM inbound
"""

_COLUMNS = "id, path, blob, record, keys, crc"


class DocumentRow(NamedTuple):
    """A document of the graph: the bytes of its record, and the keys of its links."""

    path: str
    blob: str
    record: bytes
    keys: frozenset[int]


class LinkingDocument(NamedTuple):
    """A document in the result of a query, with its links. `record` is None if the caller has the record."""

    path: str
    blob: str
    record: bytes | None


class _StateRow(NamedTuple):
    """The row of the table `state`."""

    graph_state: GraphState
    document_count: int
    checksum_sum: int


class LinkStore:
    """The tables of the graph. Safe to use from several threads: a transaction blocks other threads.

    Every method raises IndexDamaged for data that differs from its checksum, and IndexBusy or IndexUnwritable
    if the system or another process prevents the access.
    """

    def __init__(self, file: Path | None) -> None:
        """Open a file, created if needed, and check its content; None is memory."""
        self._lock = threading.RLock()
        self._connection = connect(file)
        try:
            with translate_sqlite_errors():
                if file is not None and self._connection.execute("PRAGMA integrity_check(1)").fetchone() != (
                    "ok",
                ):
                    raise IndexDamaged.with_reason("SQLite's integrity check failed")
                self._connection.executescript(_CREATE_TABLES)
                if file is not None:
                    self._verify_rows()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def read_state(self) -> GraphState | None:
        """Return the state of the graph; None if it is empty."""
        with self._lock, translate_sqlite_errors():
            state = self._read_state()
        return state.graph_state if state else None

    def replace(self, graph_state: GraphState, rows: Iterable[DocumentRow], base: GraphState | None) -> None:
        """Replace all documents. Raises BaseMoved if the graph is not at `base`.

        The rows are collected in a temporary table first, so that other connections wait only briefly.
        """
        document_count = checksum_sum = 0
        with translate_sqlite_errors():
            self._delete_collected_rows()
            for document_count, row in enumerate(rows, start=1):
                with self._lock:
                    checksum_sum += self._insert(
                        document_count, row, "temp.new_documents", "temp.new_inbound"
                    )
            with self._write_transaction(base):
                self._execute("DELETE FROM documents")
                self._execute("DELETE FROM inbound")
                self._execute(f"INSERT INTO documents ({_COLUMNS}) SELECT {_COLUMNS} FROM temp.new_documents")
                self._execute("INSERT INTO inbound SELECT key, document FROM temp.new_inbound ORDER BY 1, 2")
                self._write_state(_StateRow(graph_state, document_count, checksum_sum))
            self._delete_collected_rows()
            # Without a checkpoint the log would stay as large as this change.
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def apply(
        self,
        base: GraphState,
        graph_state: GraphState,
        rows: Iterable[DocumentRow],
        deleted_paths: Iterable[str],
    ) -> None:
        """Add or replace some documents, and remove others. Raises BaseMoved."""
        with translate_sqlite_errors(), self._write_transaction(base) as state:
            if state is None:
                raise IndexDamaged.with_reason("the graph is empty")
            document_count, checksum_sum = state.document_count, state.checksum_sum
            rows = list(rows)
            for path in (*deleted_paths, *(row.path for row in rows)):
                checksum = self._delete(path)
                document_count, checksum_sum = (
                    document_count - (checksum is not None),
                    checksum_sum - (checksum or 0),
                )
            for row in rows:
                document_count, checksum_sum = (
                    document_count + 1,
                    checksum_sum + self._insert(None, row, "documents", "inbound"),
                )
            self._write_state(_StateRow(graph_state, document_count, checksum_sum))

    def find_linking(
        self, keys: Collection[int], has_record: Callable[[str, str], bool] | None = None
    ) -> tuple[GraphState | None, list[LinkingDocument]]:
        """Return the state of the graph, and the documents with a link of one of these keys, by path.

        `has_record` returns True for a path and a blob whose record need not be fetched.
        """
        placeholders = ",".join("?" * len(keys))
        matching_ids = f"SELECT document FROM inbound WHERE key IN ({placeholders})"
        with self._lock, translate_sqlite_errors(), self._read_transaction():
            state = self._read_state()
            if has_record is None:
                rows = self._execute(f"SELECT {_COLUMNS} FROM documents WHERE id IN ({matching_ids})", keys)
                documents = [
                    LinkingDocument(_decode_path(path), blob, record)
                    for _, path, blob, record, *_ in _check_rows(rows)
                ]
            else:
                matches = list(
                    self._execute(f"SELECT id, path, blob FROM documents WHERE id IN ({matching_ids})", keys)
                )
                documents = [self._fetch_document(id, path, blob, has_record) for id, path, blob in matches]
        return (state.graph_state if state else None), sorted(documents, key=lambda item: item.path)

    def _fetch_document(
        self, id: object, path: object, blob: object, has_record: Callable[[str, str], bool]
    ) -> LinkingDocument:
        if isinstance(path, bytes) and isinstance(blob, str) and has_record(_decode_path(path), blob):
            return LinkingDocument(_decode_path(path), blob, None)
        rows = self._execute(f"SELECT {_COLUMNS} FROM documents WHERE id = ?", [id])
        _, encoded_path, stored_blob, record, *_ = next(_check_rows(rows))
        return LinkingDocument(_decode_path(encoded_path), stored_blob, record)

    @contextmanager
    def _read_transaction(self) -> Iterator[None]:
        """Read all tables in one transaction, which ends with the block."""
        self._execute("BEGIN")
        try:
            yield
        finally:
            self._execute("ROLLBACK")

    @contextmanager
    def _write_transaction(self, base: GraphState | None) -> Iterator[_StateRow | None]:
        with self._lock:
            self._execute("BEGIN IMMEDIATE")
            try:
                state = self._read_state()
                if (state.graph_state if state else None) != base:
                    raise BaseMoved(
                        "another process has updated the link graph to another commit",
                        fix="Read its state again.",
                        commit=state.graph_state.commit if state else None,
                    )
                yield state
                self._execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")
                raise

    def _execute(self, statement: str, values: Collection[object] = ()) -> Iterator[tuple[object, ...]]:
        return self._connection.execute(statement, tuple(values))

    def _delete_collected_rows(self) -> None:
        """Delete the rows that were collected for a replacement."""
        with self._lock:
            self._execute("DELETE FROM temp.new_documents")
            self._execute("DELETE FROM temp.new_inbound")

    def _insert(self, id: int | None, row: DocumentRow, document_table: str, inbound_table: str) -> int:
        """Add a document; return its checksum."""
        path, keys = row.path.encode("utf-8", "surrogatepass"), array("q", sorted(row.keys)).tobytes()
        crc = _compute_checksum(path, row.blob, row.record, keys)
        values = (id, path, row.blob, row.record, keys, crc)
        cursor = self._connection.execute(
            f"INSERT INTO {document_table} ({_COLUMNS}) VALUES (?,?,?,?,?,?)", values
        )
        document_id = cursor.lastrowid if id is None else id
        self._connection.executemany(
            f"INSERT INTO {inbound_table} (key, document) VALUES (?, ?)",
            ((key, document_id) for key in row.keys),
        )
        return crc

    def _delete(self, path: str) -> int | None:
        """Remove a document; return its checksum, or None if the graph does not have the document."""
        rows = self._execute(
            f"SELECT {_COLUMNS} FROM documents WHERE path = ?", [path.encode("utf-8", "surrogatepass")]
        )
        for id, _, _, _, keys, crc in list(_check_rows(rows)):
            self._connection.executemany(
                "DELETE FROM inbound WHERE key = ? AND document = ?",
                ((key, id) for key in _decode_keys(keys)),
            )
            self._execute("DELETE FROM documents WHERE id = ?", [id])
            return crc
        return None

    def _read_state(self) -> _StateRow | None:
        for value, crc in self._execute("SELECT value, crc FROM state"):
            if not isinstance(value, bytes) or crc32(value) != crc:
                raise IndexDamaged.with_reason("the state of the link graph has a wrong checksum")
            graph_state, document_count, checksum_sum = json.loads(value)
            return _StateRow(GraphState(*graph_state), document_count, checksum_sum)
        return None

    def _write_state(self, state: _StateRow) -> None:
        value = json.dumps(state).encode()
        self._execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", [value, crc32(value)])

    def _verify_rows(self) -> None:
        """Verify the checksum of every document, and the totals of both tables. Raises IndexDamaged."""
        with self._lock, self._read_transaction():
            state = self._read_state()
            document_count = checksum_sum = 0
            sums = [0, 0, 0, 0]
            for id, *_, keys, crc in _check_rows(self._execute(f"SELECT {_COLUMNS} FROM documents")):
                document_count, checksum_sum, row_keys = (
                    document_count + 1,
                    checksum_sum + crc,
                    _decode_keys(keys),
                )
                sums[0] += len(row_keys)
                sums[1] += sum(key >> 31 for key in row_keys)
                sums[2] += sum(key & 0x7FFFFFFF for key in row_keys)
                sums[3] += id * sum(key & 0xFFFF for key in row_keys)
            (stored_sums,) = self._execute(_SUM_INBOUND)
            if (document_count, checksum_sum) != (
                (state.document_count, state.checksum_sum) if state else (0, 0)
            ):
                raise IndexDamaged.with_reason("a document is missing or duplicated")
            if tuple(sums) != stored_sums:
                raise IndexDamaged.with_reason("a key is missing or duplicated")


_CheckedRow = tuple[int, bytes, str, bytes, bytes, int]


def _check_rows(rows: Iterable[tuple[object, ...]]) -> Iterator[_CheckedRow]:
    """Yield the rows of documents after verifying their checksums. Raises IndexDamaged."""
    for id, path, blob, record, keys, crc in rows:
        if not (
            isinstance(id, int)
            and isinstance(path, bytes)
            and isinstance(blob, str)
            and isinstance(record, bytes)
            and isinstance(keys, bytes)
            and isinstance(crc, int)
            and _compute_checksum(path, blob, record, keys) == crc
        ):
            raise IndexDamaged.with_reason("a document of the link graph has a wrong checksum")
        yield id, path, blob, record, keys, crc


def _compute_checksum(path: bytes, blob: str, record: bytes, keys: bytes) -> int:
    return crc32(b"%s\0%s\0" % (blob.encode(), path), crc32(keys, crc32(record)))


def _decode_keys(data: bytes) -> array[int]:
    if len(data) % 8:
        raise IndexDamaged.with_reason("the keys of a document are truncated")
    keys = array("q")
    keys.frombytes(data)
    return keys


def _decode_path(path: bytes) -> str:
    return path.decode("utf-8", "surrogatepass")
