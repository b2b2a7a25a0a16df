"""Connections to PostgreSQL: URLs, a missing driver, and errors without hosts, users and passwords."""

from __future__ import annotations

import sys
import time

import pytest

from index.port import EngineUnavailable
from index.postgres.database import Database, InvalidEngine
from tests.loops import loop_over

URL = "postgresql://anna:secret@127.0.0.1:1/docs"


@loop_over(
    "url",
    [
        "",
        "sqlite:///secret.sqlite",
        "mysql://anna:secret@host/docs",
        "postgresql+psycopg://anna:secret@host/docs",
        "postgresql://anna:secret@host/docs?no_such_option=1",
        "host=secret dbname=docs",
    ],
)
def test_invalid_url_is_refused_without_its_text(url: str) -> None:
    with pytest.raises(InvalidEngine) as error:
        Database(url)
    assert "secret" not in f"{error.value} {error.value.fix}"


def test_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidEngine) as error:
        Database(URL)
    assert "docyard[postgres]" in error.value.fix


def test_server_that_is_down_is_an_error_without_host_user_and_password() -> None:
    database = Database(URL)
    for _ in range(2):
        with pytest.raises(EngineUnavailable) as error:
            database.run(lambda connection: connection.execute("SELECT 1"))
        for text in ("anna", "secret", "127.0.0.1"):
            assert text not in f"{error.value} {error.value.fix} {error.value.details}"


def test_failed_connection_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    attempts: list[float] = []

    def refuse(*arguments: object, **options: object) -> None:
        attempts.append(time.monotonic())
        raise psycopg.OperationalError("refused")

    monkeypatch.setattr(psycopg, "connect", refuse)
    database = Database(URL)
    for _ in range(3):
        with pytest.raises(EngineUnavailable):
            database.run(lambda connection: None)
    assert len(attempts) == 1
    monkeypatch.setattr("index.postgres.database.RETRY_AFTER_S", 0)
    database = Database(URL)
    for _ in range(3):
        with pytest.raises(EngineUnavailable):
            database.run(lambda connection: None)
    assert len(attempts) == 4
