"""The fixtures `database_url` and `database`: for SQLite, and in the slow run for PostgreSQL.

A module uses them by `from tests.databases import *  # noqa: F403`, or names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.database.database import Database, open_database
from docyard.database.schema import upgrade_schema
from tests.postgres_server import PostgresServer, run_postgres

__all__ = ["database", "database_url", "postgres"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.process)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a new database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/server.sqlite"
    url: str = request.getfixturevalue("postgres").create_database()
    return url


@pytest.fixture
def database(database_url: str, tmp_path: Path) -> Iterator[Database]:
    """Return a new database with all tables."""
    opened_database = open_database(database_url, tmp_path)
    upgrade_schema(opened_database)
    yield opened_database
    opened_database.close()
