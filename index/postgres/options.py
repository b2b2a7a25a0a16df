"""The choice of the storage of indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from index.postgres.database import Database


class EngineOptions(NamedTuple):
    """The database that stores the indexes, which several indexes share; None for files.

    With `replica`, heads and segments are read from that server. Every write goes to `database`. `repository`
    identifies the repository or source of an index on all nodes; if it is empty, the URL of the remote
    `origin` does, or the path without a remote.
    """

    database: Database | None = None
    replica: Database | None = None
    repository: str = ""


FILE_ENGINE = EngineOptions()


def create_engine_options(url: str | None, read_url: str | None) -> EngineOptions:
    """Return the options for the URLs of a database and its replica. Raises InvalidEngine."""
    if url is None:
        return FILE_ENGINE
    from index.postgres.database import Database

    return EngineOptions(Database(url), Database(read_url) if read_url is not None else None)
