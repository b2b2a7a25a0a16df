"""The choice of the storage of indexes."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from index.storage.keys import USER_KEYS, SigningKeys

if TYPE_CHECKING:
    from index.postgres.database import Database
    from workspace.git.reader import GitReader


MAX_LAG_S = 600.0
"""The seconds for which an index may lag, unless `engine.max_lag` is set."""


class EngineOptions(NamedTuple):
    """The database that stores the indexes, which several indexes share; None for files.

    With `replica`, heads and segments are read from that server. Every write goes to `database`. `repository`
    identifies the repository or source of an index on all nodes; if it is empty, the URL of the remote
    `origin` does, or the path without a remote. `signing_keys` sign cursors, handles and claims. A node that
    lags for more than `max_lag_s` seconds is not ready, and replaces the index of a commit that it lacks.
    """

    database: Database | None = None
    replica: Database | None = None
    repository: str = ""
    signing_keys: SigningKeys = USER_KEYS
    max_lag_s: float = MAX_LAG_S


FILE_ENGINE = EngineOptions()


def create_engine_options(
    url: str | None, read_url: str | None = None, max_lag_s: float = MAX_LAG_S
) -> EngineOptions:
    """Return the options for the URLs of a database and its replica. Raises InvalidEngine."""
    if url is None:
        return FILE_ENGINE
    from index.postgres.database import Database
    from index.postgres.shared_keys import SharedSigningKeys

    database, replica = Database(url), Database(read_url) if read_url is not None else None
    return EngineOptions(
        database, replica, signing_keys=SharedSigningKeys(database, replica), max_lag_s=max_lag_s
    )


def hash_remote_url(git: GitReader) -> str | None:
    """Return a digest of the URL of the remote `origin`, which identifies a repository on all nodes.

    Returns None without a remote.
    """
    # A login in the URL differs between nodes.
    url = re.sub(r"//[^/@]*@", "//", git.config("remote.origin.url") or "")
    return hash_repository(url) if url else None


def hash_repository(name: str) -> str:
    """Return the digest of a URL or of a path that identifies a repository."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
