"""The fixtures `database_url` and `database`: for SQLite, and in the slow run for PostgreSQL.

There it is the newest release, and the one that Debian has installed, if there is one.
A module uses them by `from tests.databases import *  # noqa: F403`, or names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.database.database import Database, open_database
from docyard.database.schema import upgrade_schema
from tests.postgres_server import PostgresServer, find_installed_binaries, run_postgres

__all__ = ["database", "database_url", "installed_postgres", "postgres"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def installed_postgres() -> Iterator[PostgresServer]:
    binaries = find_installed_binaries()
    if binaries is None:
        pytest.skip("Debian's PostgreSQL is not installed")
    with run_postgres(binaries) as server:
        yield server


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.process),
        pytest.param("installed_postgres", marks=pytest.mark.slow),
    ]
)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a new database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/server.sqlite"
    url: str = request.getfixturevalue(request.param).create_database()
    return url


@pytest.fixture
def database(database_url: str, tmp_path: Path) -> Iterator[Database]:
    """Return a new database with all tables."""
    opened_database = open_database(database_url, tmp_path)
    upgrade_schema(opened_database)
    yield opened_database
    opened_database.close()
