"""The report of `docyard doctor` on the database of indexes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from docyard import environment
from docyard.cli.main import main
from docyard.doctor.engine import check_engine
from docyard.doctor.finding import Finding, Severity
from docyard.terminal.exits import Exit
from index.postgres import server_state
from index.postgres.options import create_engine_options
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer, run_postgres

DOWN_URL = "postgresql://docyard@127.0.0.1:1/docs"

process = pytest.mark.process


@pytest.fixture
def replica(postgres: PostgresServer) -> Iterator[PostgresServer]:  # noqa: F811
    with run_postgres(primary=postgres) as server:
        yield server


def list_findings(url: str | None, read_url: str | None = None) -> list[Finding]:
    return list(check_engine(create_engine_options(url, read_url)))


def test_files_have_no_findings() -> None:
    assert list_findings(None) == []


def test_database_that_is_down_is_one_error_of_the_command(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(environment.ENGINE_URL, DOWN_URL)
    assert main(["doctor", "--json", "-C", str(repo)]) == Exit.PROBLEMS
    findings = json.loads(capsys.readouterr().out)["findings"]
    messages = [entry["message"] for entry in findings if entry["area"] == "index"]
    assert messages == ["the engine's database cannot be reached"]


@process
def test_database_without_a_replica_is_a_note(
    postgres: PostgresServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = postgres.build_url("postgres")
    [note] = list_findings(url)
    assert note.severity is Severity.NOTE
    assert "synchronous_commit = on, without synchronous replicas" in note.message
    monkeypatch.setattr(server_state, "MIN_VERSION", 99)
    assert [finding.severity for finding in list_findings(url)] == [Severity.NOTE, Severity.WARNING]


@process
def test_user_who_may_not_create_or_change_tables_is_an_error(postgres: PostgresServer) -> None:  # noqa: F811
    url = postgres.create_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
    try:
        _, error = list_findings(url.replace("docyard@", "reader@"))
        assert error.severity is Severity.ERROR
        assert "may not create" in error.message
        assert "GRANT CREATE" in error.fix
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("GRANT CREATE ON SCHEMA public TO reader")
        assert [finding.severity for finding in list_findings(url.replace("docyard@", "reader@"))] == [
            Severity.NOTE
        ]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE docyard_sessions (digest bytea); CREATE TABLE other (id int)")
            connection.execute("GRANT SELECT, INSERT, UPDATE ON docyard_sessions TO reader")
        _, error = list_findings(url.replace("docyard@", "reader@"))
        assert error.message.endswith("may not read or change docyard_sessions")
        assert "GRANT SELECT, INSERT, UPDATE, DELETE ON docyard_sessions" in error.fix
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("GRANT DELETE ON docyard_sessions TO reader")
        assert len(list_findings(url.replace("docyard@", "reader@"))) == 1
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


@process
def test_replica_is_reported_with_its_lag(
    postgres: PostgresServer,  # noqa: F811
    replica: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, read_url = postgres.build_url("postgres"), replica.build_url("postgres")
    _, lag, wait = list_findings(url, read_url)
    assert (lag.severity, wait.severity) == (Severity.NOTE, Severity.NOTE)
    assert "commits do not wait" in wait.message
    with psycopg.connect(read_url, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS facts AS SELECT 'okapi' AS name")
    monkeypatch.setattr("docyard.doctor.engine.MAX_LAG_BYTES", 0)
    _, lag, _ = list_findings(url, read_url)
    assert lag.severity is Severity.WARNING
    assert "pg_stat_replication" in lag.fix


@process
def test_urls_of_the_wrong_servers_are_reported(
    postgres: PostgresServer,  # noqa: F811
    replica: PostgresServer,
) -> None:
    url, read_url = postgres.build_url("postgres"), replica.build_url("postgres")
    _, error = list_findings(read_url)
    assert (error.severity, "names a replica" in error.message) == (Severity.ERROR, True)
    _, note = list_findings(url, url)
    assert "no replica is used" in note.message
    _, warning = list_findings(url, DOWN_URL)
    assert warning.severity is Severity.WARNING
