"""Fixtures: a database on a real server, and the nodes that share an index in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.documents import SectionRecord
from index.whoosh_engine.engine import WhooshEngine
from tests.databases import installed_postgres, postgres  # noqa: F401
from tests.index.engines import open_postgres_storage
from tests.postgres_server import PostgresServer

OpenNode = Callable[..., WhooshEngine]


@pytest.fixture
def url(postgres: PostgresServer) -> str:  # noqa: F811
    return postgres.create_database()


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
