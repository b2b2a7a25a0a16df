"""The vectors of sections in PostgreSQL: one node embeds a text, and the others read its vector.

    docyard_index_vector_sets    (set_id) → the vector of the probe text
    docyard_index_vectors        (set_id, digest) → the vector in 16 bits a number, the day of its last use

Each node copies the vectors that it needs, and finds the nearest ones with its own codes, so that all
nodes return the same lists. A type for vectors, such as that of pgvector, would not be used by any query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from index.postgres.heads import run_with_tables
from index.vectors.embedder import EmbeddingUnavailable, is_same_probe

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from index.postgres.database import Connection, Database
    from index.vectors.embedder import Vectors

UNUSED_DAYS = 30
"""Days after which a vector that no node uses is deleted."""

_MAX_VARIANTS = 100
_BATCH_SIZE = 1_000
_HALF, _SINGLE = np.dtype("<f2"), np.dtype("<f4")

_TABLES = (
    "CREATE TABLE IF NOT EXISTS docyard_index_vector_sets (set_id text PRIMARY KEY, probe bytea NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS docyard_index_vectors (
        set_id text NOT NULL,
        digest bytea NOT NULL,
        vector bytea NOT NULL,
        used_on date NOT NULL DEFAULT current_date,
        PRIMARY KEY (set_id, digest)
    )
    """,
)

T = TypeVar("T")


class PostgresVectors:
    """The vectors of one model in a database. Tables that were dropped are created again."""

    def __init__(self, database: Database, embedding_id: str, probe: Vectors) -> None:
        self._database = database
        self._embedding_id = embedding_id
        self._probe = probe

    def read(self, digests: Sequence[bytes]) -> Iterator[tuple[list[bytes], NDArray[np.float16]]]:
        size = _HALF.itemsize * len(self._probe)
        for batch in _split(digests):
            rows = self._run(
                lambda connection, set_id: connection.execute(
                    """
                    SELECT digest, vector FROM docyard_index_vectors
                    WHERE set_id = %s AND digest = ANY(%s) AND octet_length(vector) = %s
                    """,
                    (set_id, batch, size),  # noqa: B023
                ).fetchall()
            )
            if rows:
                table = np.frombuffer(b"".join(vector for _, vector in rows), _HALF)
                yield [bytes(digest) for digest, _ in rows], table.reshape(len(rows), -1).astype(np.float16)

    def add(self, digests: Sequence[bytes], vectors: NDArray[np.float16]) -> None:
        values = [vector.astype(_HALF).tobytes() for vector in vectors]
        self._run(
            lambda connection, set_id: connection.execute(
                """
                INSERT INTO docyard_index_vectors (set_id, digest, vector)
                SELECT %s, unnest(%s::bytea[]), unnest(%s::bytea[]) ON CONFLICT DO NOTHING
                """,
                (set_id, list(digests), values),
            )
        )

    def mark_used(self, digests: Sequence[bytes]) -> list[bytes]:
        known: set[bytes] = set()
        for batch in _split(digests):
            rows = self._run(lambda connection, set_id: _mark_used(connection, set_id, batch))  # noqa: B023
            known.update(rows)
        self._run(
            lambda connection, set_id: connection.execute(
                """
                DELETE FROM docyard_index_vectors
                WHERE set_id = %s AND used_on < current_date - %s::integer
                """,
                (set_id, UNUSED_DAYS),
            )
        )
        return [digest for digest in digests if digest not in known]

    def _run(self, work: Callable[[Connection, str], T]) -> T:
        """Call `work` with a connection and the id of the set; create missing tables first."""

        def use_set(connection: Connection) -> T:
            return work(connection, self._find_set(connection))

        return self._database.run(lambda connection: run_with_tables(connection, _TABLES, use_set))

    def _find_set(self, connection: Connection) -> str:
        """Return the set of this model. A model that changed under the same name has another one."""
        probe = self._probe.astype(_SINGLE).tobytes()
        for number in range(_MAX_VARIANTS):
            set_id = f"{self._embedding_id}-{number}"
            connection.execute(
                "INSERT INTO docyard_index_vector_sets VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (set_id, probe),
            )
            [(first_probe,)] = connection.execute(
                "SELECT probe FROM docyard_index_vector_sets WHERE set_id = %s", (set_id,)
            ).fetchall()
            first_vector = np.frombuffer(first_probe, _SINGLE)
            if len(first_vector) == len(self._probe) and is_same_probe(first_vector, self._probe):
                return set_id
        raise EmbeddingUnavailable(
            "returns another vector for the same text each time", fix="Check the provider's model."
        )


def delete_vectors(database: Database) -> None:
    """Delete the vectors of all models. Each node shares those of its sections again the next day."""
    database.run(
        lambda connection: run_with_tables(
            connection, _TABLES, lambda connection: connection.execute("DELETE FROM docyard_index_vectors")
        )
    )


def _mark_used(connection: Connection, set_id: str, digests: Sequence[bytes]) -> list[bytes]:
    """Store that digests are used today; return those that have a vector."""
    connection.execute(
        """
        UPDATE docyard_index_vectors SET used_on = current_date
        WHERE set_id = %s AND digest = ANY(%s) AND used_on < current_date
        """,
        (set_id, digests),
    )
    rows = connection.execute(
        "SELECT digest FROM docyard_index_vectors WHERE set_id = %s AND digest = ANY(%s)", (set_id, digests)
    )
    return [bytes(digest) for (digest,) in rows]


def _split(digests: Sequence[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(digests), _BATCH_SIZE):
        yield list(digests[start : start + _BATCH_SIZE])
