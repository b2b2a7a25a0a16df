"""Fixtures: the page of recorded searches of two organizations, for a caller whose rights a test sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from docyard.caller import Caller
from docyard.database.database import Database
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.web.records.records import RecordsAccess
from docyard.web.records.routes import build_records_routes
from tests.docyard.records.conftest import (
    build_recorder,
    create_target,
    database,
    database_url,
    installed_postgres,
    make_search,
    observe,
    postgres,
    target,
)

__all__ = [
    "build_recorder",
    "database",
    "database_url",
    "installed_postgres",
    "open_pages",
    "postgres",
    "recorded_searches",
    "target",
]

CSRF = "a value of this session"
OpenPages = Callable[..., TestClient]


@pytest.fixture
def recorded_searches(
    database: Database, target: RecordTarget, build_recorder: Callable[..., Recorder]
) -> RecordTarget:
    recorder = build_recorder()
    for number in range(12):
        observe(recorder, target, make_search("retry budget", duration_ms=number * 4.0))
    for _ in range(3):
        observe(
            recorder,
            target,
            make_search("how to <b>rotate</b> keys?", result_counts={"guides": 0}, missing_words=("rotate",)),
        )
    observe(
        recorder, create_target(database, "globex"), make_search("of globex alone", result_counts={"api": 0})
    )
    assert recorder._work()
    return target


@pytest.fixture
def open_pages(database: Database) -> OpenPages:
    """Return a function that returns a client of the pages, by default for an administrator of acme."""

    def open_client(
        organization_ids: Any = ("org_acme",), mode: str = "text", extra_routes: Any = (), **access: Any
    ) -> TestClient:
        pages = Starlette(
            routes=[
                *extra_routes,
                *build_records_routes(RecordsAccess(database, mode, lambda _: organization_ids, **access)),
            ]
        )

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("state", {})["caller"] = Caller(None, CSRF, may_write=True, is_session=True)
            await pages(scope, receive, send)

        return TestClient(app, follow_redirects=False)

    return open_client
