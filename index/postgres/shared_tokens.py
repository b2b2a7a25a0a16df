"""The tokens of people in PostgreSQL, which the nodes of a repository share.

    docyard_tokens    repository → version, content

The content is that of the file of tokens, `docyard/tokens.json`: names, addresses and digests, but no
secrets. The digests are the keys of seals. Unlike the tables of indexes, this one cannot be made again from
Git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from index.postgres.heads import create_missing_tables
from index.postgres.options import hash_remote_url
from workspace.policy.shared_tokens import SharedTokens, StoredTokens

if TYPE_CHECKING:
    from index.postgres.database import Connection, Database
    from index.postgres.options import EngineOptions
    from workspace.workspace import Workspace

_TABLE = """
    CREATE TABLE IF NOT EXISTS docyard_tokens (
        repository text PRIMARY KEY,
        version bigint NOT NULL,
        content bytea NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT now()
    )
"""


def open_shared_tokens(workspace: Workspace, engine: EngineOptions) -> SharedTokens | None:
    """Return the tokens of a repository in the database of an engine; None if nodes do not share them.

    The remote `origin` identifies the repository. Without one, it may be another repository on each node, so
    its tokens stay in its file.
    """
    repository = hash_remote_url(workspace.git)
    if engine.database is None or repository is None:
        return None
    return SharedTokens(workspace.git.common_dir, PostgresTokenStorage(engine.database, repository))


def share_tokens(workspace: Workspace, engine: EngineOptions) -> None:
    """Let a workspace use the tokens that nodes share, if they do."""
    if (shared_tokens := open_shared_tokens(workspace, engine)) is not None:
        workspace.share_tokens(shared_tokens)


class PostgresTokenStorage:
    """The tokens of a repository at the primary server. Each method raises EngineUnavailable."""

    def __init__(self, database: Database, repository: str) -> None:
        self._database = database
        self._repository = repository

    def read(self, known_version: int | None) -> StoredTokens | None:
        return self._database.run(lambda connection: self._read(connection, known_version))

    def create(self, data: bytes) -> None:
        def insert(connection: Connection) -> None:
            create_missing_tables(connection, (_TABLE,))
            connection.execute(
                """
                INSERT INTO docyard_tokens (repository, version, content)
                VALUES (%s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %s)
                ON CONFLICT DO NOTHING
                """,
                (self._repository, data),
            )

        self._database.run(insert)

    def replace(self, data: bytes, version: int) -> bool:
        def update(connection: Connection) -> bool:
            # With the time in it, a version has one content, even after a backup was restored.
            cursor = connection.execute(
                """
                UPDATE docyard_tokens SET content = %(data)s, changed_at = now(), version =
                    greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                WHERE repository = %(repository)s AND version = %(version)s
                """,
                {"data": data, "repository": self._repository, "version": version},
            )
            return cursor.rowcount == 1

        return self._database.run(update)

    def _read(self, connection: Connection, known_version: int | None) -> StoredTokens | None:
        from psycopg.errors import UndefinedTable

        try:
            row = connection.execute(
                """
                SELECT version, CASE WHEN version IS DISTINCT FROM %s THEN content END
                FROM docyard_tokens WHERE repository = %s
                """,
                (known_version, self._repository),
            ).fetchone()
        except UndefinedTable:
            return None
        if row is None:
            return None
        return StoredTokens(int(row[0]), None if row[1] is None else bytes(row[1]))
