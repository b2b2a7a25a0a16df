"""The schema: migrations, the check at start, and upgrades."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from docyard.database.database import Database, open_database
from docyard.database.errors import DatabaseUnavailable, InvalidDatabaseURL
from docyard.database.schema import (
    CONNECTION_ATTRIBUTE,
    SchemaMismatch,
    _build_config,
    check_schema,
    read_schema_state,
    upgrade_schema,
)
from docyard.database.tables import METADATA
from tests.databases import *  # noqa: F403
from tests.postgres_server import PostgresServer


def test_migrations_create_the_tables(database: Database) -> None:
    with database.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_check_creates_the_tables_of_an_empty_database(database_url: str, tmp_path: Path) -> None:
    database = open_database(database_url, tmp_path)
    assert read_schema_state(database).current is None
    check_schema(database)
    assert read_schema_state(database).is_current
    check_schema(database)
    database.close()


def test_older_schema_is_refused_with_the_command(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.begin() as connection:
        connection.execute(text("DELETE FROM alembic_version"))
    with database.begin() as connection:
        connection.execute(text("INSERT INTO alembic_version VALUES ('0000')"))
    with pytest.raises(SchemaMismatch) as raised:
        check_schema(database)
    assert "0000" in raised.value.message
    with pytest.raises(SchemaMismatch):
        upgrade_schema(database)


def test_upgrade_of_the_first_version_keeps_its_rows(database_url: str, tmp_path: Path) -> None:
    database = open_database(database_url, tmp_path)
    with database.begin() as connection:
        config = _build_config()
        config.attributes[CONNECTION_ATTRIBUTE] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO organizations VALUES ('org_1', 'acme', '', 0)"))
    with pytest.raises(SchemaMismatch, match="0001"):
        check_schema(database)
    assert upgrade_schema(database).current == "0001"
    check_schema(database)
    with database.connect() as connection:
        assert connection.execute(text("SELECT slug FROM organizations")).scalar() == "acme"
        assert connection.execute(text("SELECT count(*) FROM notifications")).scalar() == 0
    database.close()


def test_two_processes_that_start_create_the_tables_once(database_url: str, tmp_path: Path) -> None:
    errors: list[Exception] = []

    def start() -> None:
        database = open_database(database_url, tmp_path)
        try:
            check_schema(database)
        except Exception as error:
            errors.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_failed_transaction_changes_nothing(database: Database) -> None:
    def insert_and_fail() -> None:
        with database.begin() as connection:
            connection.execute(text("INSERT INTO organizations VALUES ('org_1', 'acme', '', 0)"))
            raise KeyError

    with pytest.raises(KeyError):
        insert_and_fail()
    with database.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM organizations")).scalar() == 0


@pytest.mark.parametrize(
    "url", ["", "server.sqlite", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "postgresql"]
)
def test_invalid_url_is_refused_without_its_text(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidDatabaseURL) as raised:
        open_database(url, tmp_path)
    assert "secret" not in raised.value.message


def test_password_is_hidden_in_the_description(tmp_path: Path) -> None:
    database = open_database("postgresql://ana:secret@db.example.org/docs", tmp_path)
    assert "secret" not in database.description


def test_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "server.sqlite").write_bytes(b"not a database" * 1_000)
    with pytest.raises(DatabaseUnavailable) as raised:
        check_schema(open_database("sqlite:///server.sqlite", tmp_path))
    assert raised.value.reason == "damaged"


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable) as raised:
        check_schema(open_database("sqlite:///missing/server.sqlite", tmp_path))
    assert raised.value.reason == "down"


@pytest.mark.process
def test_stopped_postgres_is_reported_and_used_again(postgres: PostgresServer, tmp_path: Path) -> None:
    database = open_database(postgres.create_database(), tmp_path)
    check_schema(database)
    postgres.stop()
    try:
        with pytest.raises(DatabaseUnavailable) as raised:
            read_schema_state(database)
        assert raised.value.reason == "down"
    finally:
        postgres.start()
    assert read_schema_state(database).is_current
    database.close()


@pytest.mark.slow
def test_server_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent_server:
        port = silent_server.getsockname()[1]
        database = open_database(f"postgresql://docyard@127.0.0.1:{port}/docs", tmp_path)
        start_time = time.monotonic()
        with pytest.raises(DatabaseUnavailable) as raised:
            read_schema_state(database)
        assert raised.value.reason == "down"
        assert time.monotonic() - start_time < 10
        database.close()


def test_missing_table_is_reported(database_url: str, tmp_path: Path) -> None:
    database = open_database(database_url, tmp_path)
    with pytest.raises(DatabaseUnavailable) as raised, database.connect() as connection:
        connection.execute(text("SELECT * FROM organizations"))
    assert raised.value.reason == "schema"
    database.close()
