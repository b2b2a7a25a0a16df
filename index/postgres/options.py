"""The choice of the storage of indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from index.postgres.database import Database


class EngineOptions(NamedTuple):
    """The database that stores the indexes, which several indexes share; None for files.

    With `replica`, heads and segments are read from that server. Every write goes to `database`.
    """

    database: Database | None = None
    replica: Database | None = None


FILE_ENGINE = EngineOptions()
