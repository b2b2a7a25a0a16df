"""Fixtures: a database on a real server, and the nodes that share an index in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from index.documents import SectionRecord
from index.whoosh_engine.engine import WhooshEngine
from tests.databases import installed_postgres, postgres  # noqa: F401
from tests.index.engines import open_postgres_storage
from tests.pgbouncer import find_pgbouncer, run_pgbouncer
from tests.postgres_server import PostgresServer

OpenNode = Callable[..., WhooshEngine]


@pytest.fixture(scope="session")
def pooler_port(postgres: PostgresServer) -> Iterator[int]:  # noqa: F811
    """Return the port of PgBouncer in the mode `transaction`, before the server."""
    program = find_pgbouncer()
    if program is None:
        pytest.skip("PgBouncer is not installed")
    with run_pgbouncer(program, postgres) as port:
        yield port


@pytest.fixture(params=["server", pytest.param("pooler", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, postgres: PostgresServer) -> str:  # noqa: F811
    """Return the URL of a new database; in the slow run also through PgBouncer."""
    url = postgres.create_database()
    if request.param == "server":
        return url
    return url.replace(f":{postgres.port}/", f":{request.getfixturevalue('pooler_port')}/")


@pytest.fixture
def open_node(url: str, tmp_path: Path) -> OpenNode:
    """Return a function that opens the engine of a node, which has the segments in a folder of its own."""

    def open_engine(name: str, **options: Any) -> WhooshEngine:
        folder = tmp_path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return WhooshEngine(open_postgres_storage(folder, options.pop("url", url), **options), read_nothing)

    return open_engine


def read_nothing(record: SectionRecord) -> bytes:
    return b""
