"""The tables of indexes in PostgreSQL. They are derived data: dropped, they are created and filled again.

    docyard_index_heads                (namespace_id, schema_version) → generation, commit, state, segments
    docyard_index_segments             (namespace_id, segment_id, part) → at most 1 MiB of the file
    docyard_index_released_segments    (namespace_id, segment_id) → the time since which no head names it

A namespace is one branch of one repository or source. `schema_version` is that of the index, so that nodes of
two versions can run side by side. A commit is one transaction: it inserts the parts of new segments, which
never change, and sets the head if its generation is the expected one. So a reader sees a head only with its
segments.

`namespace_id` comes first in each key, so that the tables can be partitioned or distributed by it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, LiteralString, NamedTuple, TypeVar

from index.port import State
from index.segments.store import make_state
from index.storage.location import SCHEMA_VERSION
from index.storage.manifest import IndexDamaged

if TYPE_CHECKING:
    from index.postgres.database import Connection

T = TypeVar("T")

PART_BYTES = 1 << 20
"""The largest number of bytes of a part of a segment."""

SEGMENT_GRACE_S = 600.0
"""Seconds for which a segment that no head names stays, so that a slow node can finish its download."""

DELETED_BRANCH_S = 7 * 86_400.0
"""Seconds without a change after which the index of a deleted branch is deleted."""

OLD_VERSION_S = 7 * 86_400.0
"""Seconds without a change after which the head of an earlier version of the index is deleted."""

_CREATION_LOCK = 0x646F6379617264
"""The key of the advisory lock under which the tables are created."""

_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS docyard_index_heads (
        namespace_id text NOT NULL,
        schema_version integer NOT NULL,
        generation bigint NOT NULL,
        source_commit text,
        state text NOT NULL,
        segments text NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (namespace_id, schema_version)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS docyard_index_segments (
        namespace_id text NOT NULL,
        segment_id text NOT NULL,
        part integer NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (namespace_id, segment_id, part)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS docyard_index_released_segments (
        namespace_id text NOT NULL,
        segment_id text NOT NULL,
        released_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (namespace_id, segment_id)
    )
    """,
)


_NAMESPACE_DELETIONS = (
    """
    DELETE FROM docyard_index_segments AS segments WHERE namespace_id = ANY(%(namespaces)s)
        AND NOT EXISTS (SELECT FROM docyard_index_heads WHERE namespace_id = segments.namespace_id)
    """,
    """
    DELETE FROM docyard_index_released_segments AS segments WHERE namespace_id = ANY(%(namespaces)s)
        AND NOT EXISTS (SELECT FROM docyard_index_heads WHERE namespace_id = segments.namespace_id)
    """,
)


class SegmentEntry(NamedTuple):
    """A segment of a head: the size and the SHA-256 of its file, and its dead documents, encoded."""

    id: str
    size: int
    sha256: str
    dead_documents: str


@dataclass(frozen=True, slots=True)
class Head:
    """The current generation of an index: its state, and its segments in order."""

    generation: int
    state: State
    segments: Sequence[SegmentEntry]

    @property
    def segment_ids(self) -> frozenset[str]:
        """The ids of its segments."""
        return frozenset(entry.id for entry in self.segments)


def choose_generation(previous: Head | None) -> int:
    """Return the number of the generation after `previous`: the time in nanoseconds, unless it is too small.

    So a number has one content only, and numbers grow, even if the database is restored from a backup or its
    tables are dropped, and other changes follow.
    """
    return max(time.time_ns(), previous.generation + 1 if previous else 0)


def create_tables(connection: Connection) -> None:
    """Create the tables of this module that are missing."""
    create_missing_tables(connection, _TABLES)


def create_missing_tables(connection: Connection, statements: Iterable[LiteralString]) -> None:
    """Execute statements that create tables unless they exist."""
    with connection.transaction():
        # Two nodes that create a table at the same time would fail.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION_LOCK,))
        for statement in statements:
            connection.execute(statement)


def run_with_tables(
    connection: Connection, statements: Sequence[LiteralString], work: Callable[[Connection], T]
) -> T:
    """Call `work`; if a table is missing, create the tables of `statements`, and call it again."""
    from psycopg.errors import UndefinedTable

    try:
        return work(connection)
    except UndefinedTable:
        create_missing_tables(connection, statements)
        return work(connection)


def has_tables(connection: Connection) -> bool:
    """Return True if the tables exist."""
    [(table,)] = connection.execute("SELECT to_regclass('docyard_index_released_segments')").fetchall()
    return table is not None


def follows_primary(connection: Connection) -> bool:
    """Return False if the server is a replica whose heads may be old.

    It receives no changes now, or has not applied what the primary server had at its last message. The second
    needs a right of the user (`pg_read_all_stats`); without it, the position is NULL.
    """
    [(follows,)] = connection.execute(
        """
        SELECT NOT pg_is_in_recovery() OR EXISTS (
            SELECT FROM pg_stat_wal_receiver
            WHERE latest_end_lsn <= pg_last_wal_replay_lsn() OR latest_end_lsn IS NULL
        )
        """
    ).fetchall()
    return bool(follows)


def read_head(connection: Connection, namespace_id: str) -> Head | None:
    """Return the head of a namespace; None if there is none. Raises IndexDamaged."""
    from psycopg.errors import UndefinedTable

    try:
        row = connection.execute(
            """
            SELECT generation, source_commit, state, segments FROM docyard_index_heads
            WHERE namespace_id = %s AND schema_version = %s
            """,
            (namespace_id, SCHEMA_VERSION),
        ).fetchone()
    except UndefinedTable:
        return None
    return _parse_head(*row) if row is not None else None


def delete_head(connection: Connection, namespace_id: str) -> None:
    """Delete the head of a namespace that cannot be read."""
    connection.execute(
        "DELETE FROM docyard_index_heads WHERE namespace_id = %s AND schema_version = %s",
        (namespace_id, SCHEMA_VERSION),
    )


def _parse_head(generation: int, commit: str | None, state: str, segments: str) -> Head:
    try:
        values = json.loads(state)
        entries = tuple(
            SegmentEntry(str(id), int(size), str(sha256), str(dead_documents))
            for id, size, sha256, dead_documents in json.loads(segments)
        )
        return Head(generation, make_state({**values, "commit": commit}), entries)
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexDamaged.with_reason(type(error).__name__) from error


def set_head(connection: Connection, namespace_id: str, head: Head, previous: Head | None) -> bool:
    """Set the head of a namespace in place of `previous`; return False if another node has changed it.

    Segments that only `previous` names are released.
    """
    state = asdict(head.state)
    values = {
        "namespace": namespace_id,
        "schema": SCHEMA_VERSION,
        "generation": head.generation,
        "expected": previous.generation if previous else None,
        "commit": state.pop("commit"),
        "state": json.dumps(state),
        "segments": json.dumps(head.segments),
        "released": sorted(previous.segment_ids - head.segment_ids) if previous else [],
    }
    if previous is None:
        cursor = connection.execute(
            """
            INSERT INTO docyard_index_heads
                (namespace_id, schema_version, generation, source_commit, state, segments)
            VALUES (%(namespace)s, %(schema)s, %(generation)s, %(commit)s, %(state)s, %(segments)s)
            ON CONFLICT DO NOTHING
            """,
            values,
        )
        return cursor.rowcount == 1
    cursor = connection.execute(
        """
        UPDATE docyard_index_heads
        SET generation = %(generation)s, source_commit = %(commit)s, state = %(state)s,
            segments = %(segments)s, changed_at = now()
        WHERE namespace_id = %(namespace)s AND schema_version = %(schema)s AND generation = %(expected)s
        """,
        values,
    )
    if cursor.rowcount == 1 and values["released"]:
        connection.execute(
            """
            INSERT INTO docyard_index_released_segments (namespace_id, segment_id)
            SELECT %(namespace)s, unnest(%(released)s::text[])
            ON CONFLICT DO NOTHING
            """,
            values,
        )
    return cursor.rowcount == 1


def write_segment(
    connection: Connection, namespace_id: str, id: str, chunks: Iterable[bytes | memoryview]
) -> tuple[int, str]:
    """Insert the parts of a new segment; return the size and the SHA-256 of its bytes."""
    size, digest = 0, hashlib.sha256()
    with connection.cursor().copy(
        "COPY docyard_index_segments (namespace_id, segment_id, part, data) FROM STDIN (FORMAT BINARY)"
    ) as copy:
        copy.set_types(["text", "text", "int4", "bytea"])
        for number, part in enumerate(_split(chunks)):
            copy.write_row((namespace_id, id, number, part))
            size += len(part)
            digest.update(part)
    return size, digest.hexdigest()


def _split(chunks: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Yield the bytes of chunks in parts of PART_BYTES."""
    buffer = bytearray()
    for chunk in chunks:
        for start in range(0, len(chunk), PART_BYTES):
            buffer += chunk[start : start + PART_BYTES]
            if len(buffer) >= PART_BYTES:
                yield bytes(buffer[:PART_BYTES])
                del buffer[:PART_BYTES]
    if buffer:
        yield bytes(buffer)


def read_segments(
    connection: Connection, namespace_id: str, ids: Sequence[str]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the id of each stored segment with its parts in order; missing ones are left out."""
    from psycopg.errors import UndefinedTable

    statement = """
        SELECT segment_id, data FROM docyard_index_segments
        WHERE namespace_id = %s AND segment_id = ANY(%s)
        ORDER BY segment_id, part
    """
    # One row at a time is in memory.
    rows = connection.cursor(binary=True).stream(statement, (namespace_id, list(ids)))
    with suppress(UndefinedTable):
        for id, parts in groupby(rows, key=lambda row: str(row[0])):
            yield id, (bytes(data) for _, data in parts)


def measure_segments(connection: Connection, namespace_id: str, ids: Iterable[str]) -> Mapping[str, int]:
    """Return the number of stored bytes of each segment that has parts."""
    rows = connection.execute(
        """
        SELECT segment_id, sum(octet_length(data)) FROM docyard_index_segments
        WHERE namespace_id = %s AND segment_id = ANY(%s) GROUP BY segment_id
        """,
        (namespace_id, list(ids)),
    )
    return {str(id): int(size) for id, size in rows}


def release_old_versions(connection: Connection, namespace_id: str, age_s: float) -> None:
    """Delete the heads of earlier versions that no node has changed lately, and release their segments."""
    connection.execute(
        """
        WITH old_heads AS (
            DELETE FROM docyard_index_heads
            WHERE namespace_id = %(namespace)s AND schema_version < %(schema)s
                AND changed_at <= now() - make_interval(secs => %(age)s)
            RETURNING segments
        )
        INSERT INTO docyard_index_released_segments (namespace_id, segment_id)
        SELECT %(namespace)s, json_array_elements(segments::json) ->> 0 FROM old_heads
        ON CONFLICT DO NOTHING
        """,
        {"namespace": namespace_id, "schema": SCHEMA_VERSION, "age": age_s},
    )


def list_idle_namespaces(connection: Connection, prefix: str, age_s: float) -> tuple[str, ...]:
    """Return the namespaces with this prefix whose index no node has changed lately, the oldest first.

    At most 100 are returned.
    """
    rows = connection.execute(
        """
        SELECT namespace_id FROM docyard_index_heads
        WHERE starts_with(namespace_id, %s)
        GROUP BY namespace_id
        HAVING max(changed_at) <= now() - make_interval(secs => %s)
        ORDER BY max(changed_at) LIMIT 100
        """,
        (prefix, age_s),
    )
    return tuple(str(namespace_id) for (namespace_id,) in rows)


def delete_idle_namespaces(connection: Connection, namespace_ids: Sequence[str], age_s: float) -> int:
    """Delete the heads and the segments of namespaces, except of those that were changed since.

    Returns the number of deleted heads.
    """
    values = {"namespaces": list(namespace_ids), "age": age_s}
    with connection.transaction():
        cursor = connection.execute(
            """
            DELETE FROM docyard_index_heads
            WHERE namespace_id = ANY(%(namespaces)s)
                AND changed_at <= now() - make_interval(secs => %(age)s)
            """,
            values,
        )
        for statement in _NAMESPACE_DELETIONS:
            connection.execute(statement, values)
    return cursor.rowcount


def delete_released_segments(connection: Connection, namespace_id: str, grace_s: float) -> int:
    """Delete the segments that no head has named for a time; return the number of their parts."""
    cursor = connection.execute(
        """
        WITH expired AS (
            DELETE FROM docyard_index_released_segments
            WHERE namespace_id = %(namespace)s AND released_at <= now() - make_interval(secs => %(grace)s)
            RETURNING segment_id
        )
        DELETE FROM docyard_index_segments
        WHERE namespace_id = %(namespace)s AND segment_id IN (SELECT segment_id FROM expired)
        """,
        {"namespace": namespace_id, "grace": grace_s},
    )
    return cursor.rowcount
