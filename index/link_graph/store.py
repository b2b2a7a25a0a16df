"""Where the link graph is kept: the tables of one SQLite file, or of the memory of one process.

    state       what the rest stands for, and a sum of the documents
    documents   each document's path, blob, record of links and their keys, with a CRC-32 over all of that
    inbound     for each key of a link (`index.links.spelled`), the documents that have one

One transaction moves the rows together with the commit that they stand for, from the commit that the writer
saw; another writer's change in between is BaseMoved. Nothing is forced to the disk: what a power loss tears
is found like any other damage when the file is opened, by SQLite's own check of its pages and by sums over
every row. A file that is damaged while it is open may answer wrongly until it is opened again.

SQLite as the link graph uses it: the one door to `sqlite3`, opened so that nothing in a file is run.

What the link graph stands for, and what it would have to stand for to know a snapshot.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from index.port import BaseMoved
from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot

_PATIENCE = 5.0


"""Seconds to wait for another process's transaction."""


_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
    | {sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM}
)


def connect(file: Path | None) -> sqlite3.Connection:
    """Open a file, made if need be, or memory. Each statement outside a transaction is one by itself."""
    with noticing():
        connection = sqlite3.connect(
            ":memory:" if file is None else file,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for pragma in ("trusted_schema=OFF", "journal_mode=WAL", "synchronous=OFF", "mmap_size=0"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def noticing() -> Iterator[None]:
    """Turn SQLite's errors into IndexBusy, IndexUnwritable and IndexDamaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _BUSY:
            raise IndexBusy(
                "the link graph is being brought up to date", fix="Try again in a moment."
            ) from error
        if code in _UNWRITABLE:
            raise IndexUnwritable.because(OSError(0, error.sqlite_errorname)) from error
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise IndexDamaged.because(type(error).__name__) from error


class Standing(NamedTuple):
    """What the graph stands for: a commit (None: of a tree without one), its tree, and how links are read."""

    commit: str | None
    tree: str | None
    rules: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Standing:
        """Return what the graph of a snapshot stands for."""
        config = snapshot.config
        rules = f"{config.limits.document_bytes} {config.links.model_dump_json()}"
        return cls(snapshot.commit, snapshot.tree, rules)

    def is_same(self, other: Standing | None) -> bool:
        """Return True if another stands for the same documents: two commits may have one tree."""
        return other is not None and self[1:] == other[1:]


_TABLES = """
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS state (only INTEGER PRIMARY KEY CHECK (only = 1), value BLOB, crc INTEGER);
    CREATE TABLE IF NOT EXISTS documents
        (id INTEGER PRIMARY KEY, path BLOB UNIQUE, blob TEXT, record BLOB, keys BLOB, crc INTEGER);
    CREATE TABLE IF NOT EXISTS inbound
        (key INTEGER, document INTEGER, PRIMARY KEY (key, document)) WITHOUT ROWID;
    COMMIT;
    CREATE TEMP TABLE coming AS SELECT * FROM documents WHERE 0;
    CREATE TEMP TABLE pairs AS SELECT * FROM inbound WHERE 0;
"""


_PAIRS = """
    SELECT count(*), ifnull(sum(key >> 31), 0), ifnull(sum(key & 2147483647), 0),
        ifnull(sum((key & 65535) * document), 0)
    FROM inbound
"""


_COLUMNS = "id, path, blob, record, keys, crc"


class Row(NamedTuple):
    """A document of the graph: the bytes of its record, and the keys of its links."""

    path: str
    blob: str
    record: bytes
    keys: frozenset[int]


class Found(NamedTuple):
    """A document that was asked for. Its record holds all its links, not only those that were asked for.

    The record is None where the caller has it.
    """

    path: str
    blob: str
    record: bytes | None


class _State(NamedTuple):
    standing: Standing
    documents: int
    total: int  # of the documents' checksums


class LinkStore:
    """The tables. Safe to use from several threads; a transaction of one keeps the others waiting.

    Every method raises IndexDamaged for what is not as it was written, and IndexBusy or IndexUnwritable where
    the system or another process does not let it work.
    """

    def __init__(self, file: Path | None) -> None:
        """Open a file, made if need be, and check all that it holds; None is memory."""
        self._lock = threading.RLock()
        self._connection = connect(file)
        try:
            with noticing():
                if file is not None and self._connection.execute("PRAGMA integrity_check(1)").fetchone() != (
                    "ok",
                ):
                    raise IndexDamaged.because("SQLite's check of its pages")
                self._connection.executescript(_TABLES)
                if file is not None:
                    self._check()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def standing(self) -> Standing | None:
        """Return what the graph stands for; None where it is empty."""
        with self._lock, noticing():
            state = self._state()
        return state.standing if state else None

    def replace(self, standing: Standing, rows: Iterable[Row], base: Standing | None) -> None:
        """Put these documents in place of all others. Raises BaseMoved unless the graph stands for `base`.

        They are gathered in a place of their own first, so that others wait for a moment only.
        """
        documents = total = 0
        with noticing():
            self._empty()
            for documents, row in enumerate(rows, start=1):
                with self._lock:
                    total += self._insert(documents, row, "temp.coming", "temp.pairs")
            with self._transaction(base):
                self._ask("DELETE FROM documents")
                self._ask("DELETE FROM inbound")
                self._ask(f"INSERT INTO documents ({_COLUMNS}) SELECT {_COLUMNS} FROM temp.coming")
                self._ask("INSERT INTO inbound SELECT key, document FROM temp.pairs ORDER BY 1, 2")
                self._write(_State(standing, documents, total))
            self._empty()
            # The log of so large a change would else stay as large as it.
            self._ask("PRAGMA wal_checkpoint(TRUNCATE)")

    def apply(self, base: Standing, standing: Standing, rows: Iterable[Row], gone: Iterable[str]) -> None:
        """Take in some documents and drop others. Raises BaseMoved."""
        with noticing(), self._transaction(base) as state:
            if state is None:
                raise IndexDamaged.because("there is nothing to go on from")
            documents, total = state.documents, state.total
            rows = list(rows)
            for path in (*gone, *(row.path for row in rows)):
                dropped = self._drop(path)
                documents, total = documents - (dropped is not None), total - (dropped or 0)
            for row in rows:
                documents, total = documents + 1, total + self._insert(None, row, "documents", "inbound")
            self._write(_State(standing, documents, total))

    def linking(
        self, keys: Collection[int], has: Callable[[str, str], bool] | None = None
    ) -> tuple[Standing | None, list[Found]]:
        """Return what the graph stands for, and each document with a link of one of these keys, by paths.

        `has` tells of a path and a blob that their record need not be fetched.
        """
        marks = ",".join("?" * len(keys))
        chosen = f"SELECT document FROM inbound WHERE key IN ({marks})"
        with self._lock, noticing(), self._reading():
            state = self._state()
            if has is None:
                rows = self._ask(f"SELECT {_COLUMNS} FROM documents WHERE id IN ({chosen})", keys)
                found = [Found(_text(path), blob, record) for _, path, blob, record, *_ in _checked(rows)]
            else:
                named = list(self._ask(f"SELECT id, path, blob FROM documents WHERE id IN ({chosen})", keys))
                found = [self._found(id, path, blob, has) for id, path, blob in named]
        return (state.standing if state else None), sorted(found, key=lambda item: item.path)

    def _found(self, id: object, path: object, blob: object, has: Callable[[str, str], bool]) -> Found:
        if isinstance(path, bytes) and isinstance(blob, str) and has(_text(path), blob):
            return Found(_text(path), blob, None)
        rows = self._ask(f"SELECT {_COLUMNS} FROM documents WHERE id = ?", [id])
        _, data, held, record, *_ = next(_checked(rows))
        return Found(_text(data), held, record)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """See the tables as they are at one moment."""
        self._ask("BEGIN")
        try:
            yield
        finally:
            self._ask("ROLLBACK")

    @contextmanager
    def _transaction(self, base: Standing | None) -> Iterator[_State | None]:
        with self._lock:
            self._ask("BEGIN IMMEDIATE")
            try:
                state = self._state()
                if (state.standing if state else None) != base:
                    raise BaseMoved(
                        "the link graph was brought to another commit meanwhile",
                        fix="Look at it again.",
                        commit=state.standing.commit if state else None,
                    )
                yield state
                self._ask("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._ask("ROLLBACK")
                raise

    def _ask(self, statement: str, values: Collection[object] = ()) -> Iterator[tuple[object, ...]]:
        return self._connection.execute(statement, tuple(values))

    def _empty(self) -> None:
        """Let go of what was gathered for a replacement."""
        with self._lock:
            self._ask("DELETE FROM temp.coming")
            self._ask("DELETE FROM temp.pairs")

    def _insert(self, id: int | None, row: Row, documents: str, pairs: str) -> int:
        """Add a document; return its checksum."""
        path, keys = row.path.encode("utf-8", "surrogatepass"), array("q", sorted(row.keys)).tobytes()
        crc = _sum(path, row.blob, row.record, keys)
        values = (id, path, row.blob, row.record, keys, crc)
        cursor = self._connection.execute(
            f"INSERT INTO {documents} ({_COLUMNS}) VALUES (?,?,?,?,?,?)", values
        )
        given = cursor.lastrowid if id is None else id
        self._connection.executemany(
            f"INSERT INTO {pairs} (key, document) VALUES (?, ?)", ((key, given) for key in row.keys)
        )
        return crc

    def _drop(self, path: str) -> int | None:
        """Remove a document; return its checksum, or None if there was none."""
        found = self._ask(
            f"SELECT {_COLUMNS} FROM documents WHERE path = ?", [path.encode("utf-8", "surrogatepass")]
        )
        for id, _, _, _, keys, crc in list(_checked(found)):
            self._connection.executemany(
                "DELETE FROM inbound WHERE key = ? AND document = ?", ((key, id) for key in _keys(keys))
            )
            self._ask("DELETE FROM documents WHERE id = ?", [id])
            return crc
        return None

    def _state(self) -> _State | None:
        for value, crc in self._ask("SELECT value, crc FROM state"):
            if not isinstance(value, bytes) or crc32(value) != crc:
                raise IndexDamaged.because("a checksum is wrong")
            standing, documents, total = json.loads(value)
            return _State(Standing(*standing), documents, total)
        return None

    def _write(self, state: _State) -> None:
        value = json.dumps(state).encode()
        self._ask("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", [value, crc32(value)])

    def _check(self) -> None:
        """Hold every row against its sum, and the sums against the state's. Raises IndexDamaged."""
        with self._lock, self._reading():
            state = self._state()
            documents = total = 0
            pairs = [0, 0, 0, 0]
            for id, *_, keys, crc in _checked(self._ask(f"SELECT {_COLUMNS} FROM documents")):
                documents, total, held = documents + 1, total + crc, _keys(keys)
                pairs[0] += len(held)
                pairs[1] += sum(key >> 31 for key in held)
                pairs[2] += sum(key & 0x7FFFFFFF for key in held)
                pairs[3] += id * sum(key & 0xFFFF for key in held)
            (held_pairs,) = self._ask(_PAIRS)
            if (documents, total) != ((state.documents, state.total) if state else (0, 0)):
                raise IndexDamaged.because("a document is missing, or stands there twice")
            if tuple(pairs) != held_pairs:
                raise IndexDamaged.because("a key is missing, or stands there twice")


_Held = tuple[int, bytes, str, bytes, bytes, int]


def _checked(rows: Iterable[tuple[object, ...]]) -> Iterator[_Held]:
    """Yield the rows of documents, each held against its sum. Raises IndexDamaged."""
    for id, path, blob, record, keys, crc in rows:
        if not (
            isinstance(id, int)
            and isinstance(path, bytes)
            and isinstance(blob, str)
            and isinstance(record, bytes)
            and isinstance(keys, bytes)
            and isinstance(crc, int)
            and _sum(path, blob, record, keys) == crc
        ):
            raise IndexDamaged.because("a checksum is wrong")
        yield id, path, blob, record, keys, crc


def _sum(path: bytes, blob: str, record: bytes, keys: bytes) -> int:
    return crc32(b"%s\0%s\0" % (blob.encode(), path), crc32(keys, crc32(record)))


def _keys(data: bytes) -> array[int]:
    if len(data) % 8:
        raise IndexDamaged.because("the keys of a document are cut")
    keys = array("q")
    keys.frombytes(data)
    return keys


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogatepass")
