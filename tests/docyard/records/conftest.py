"""Fixtures: an organization with a server and two namespaces, and a recorder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select

from docyard.caller import Caller, Principal
from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, ORGANIZATIONS, SEARCH_QUERIES, SERVERS
from docyard.mcp_server.calls import CallOutcome, ToolCall
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.settings.settings import RecordsSection
from tests.databases import database, database_url, installed_postgres, postgres
from tools.records.searches import SearchRecord

__all__ = ["database", "database_url", "installed_postgres", "postgres"]


def create_target(database: Database, slug: str) -> RecordTarget:
    with database.begin() as connection:
        connection.execute(insert(ORGANIZATIONS).values(id=f"org_{slug}", slug=slug))
        connection.execute(
            insert(SERVERS).values(id=f"mcp_{slug}", organization_id=f"org_{slug}", slug="docs")
        )
        for name in ("api", "guides"):
            connection.execute(
                insert(NAMESPACES).values(
                    id=f"ns_{slug}_{name}", organization_id=f"org_{slug}", name=name, settings={}
                )
            )
    return RecordTarget(
        f"org_{slug}", f"mcp_{slug}", {name: f"ns_{slug}_{name}" for name in ("api", "guides")}
    )


@pytest.fixture
def target(database: Database) -> RecordTarget:
    return create_target(database, "acme")


@pytest.fixture
def build_recorder(database: Database) -> Iterator[Callable[..., Recorder]]:
    """Yield a function that returns a recorder, by default of the words of questions."""
    recorders: list[Recorder] = []

    def build(*, queue_limit: int = 1_000, **settings: Any) -> Recorder:
        section = RecordsSection(**{"mode": "text", **settings})
        recorders.append(Recorder(database, section, queue_limit))
        return recorders[-1]

    yield build
    for recorder in recorders:
        recorder.close()


def make_caller(key: str) -> Caller:
    return Caller(None, "", may_write=False, is_session=False, principal=Principal(key, key))


def make_search(query: str = "retry budget", **fields: Any) -> SearchRecord:
    values: dict[str, Any] = {
        "query": query,
        "search_type": "bm25",
        "result_counts": {"api": 1},
        "commits": {"api": "a" * 40},
        "addresses": (("api", "errors.md#retries"),),
        "missing_words": (),
        "duration_ms": 4.2,
    }
    return SearchRecord(**(values | fields))


def observe(
    recorder: Recorder,
    target: RecordTarget,
    *searches: SearchRecord,
    tool: str = "search_documentation",
    arguments: dict[str, Any] | None = None,
    client: str = "editor",
    principal: str | None = "user:issuer#ana",
    code: str = "ok",
) -> None:
    call = ToolCall(tool, arguments or {}, client, None if principal is None else make_caller(principal))
    recorder.observe_server(lambda: target).observe(call, CallOutcome(code, 5.0, None, searches))


def read_searches(database: Database) -> list[Any]:
    with database.connect() as connection:
        return list(connection.execute(select(SEARCH_QUERIES).order_by(SEARCH_QUERIES.c.created_at)))
