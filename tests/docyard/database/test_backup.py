"""Backups of SQLite while others write, and their refusals."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from docyard.database.database import Database, open_database
from docyard.database.errors import CannotCopyDatabase
from docyard.database.schema import check_schema, upgrade_schema
from docyard.database.tables import ORGANIZATIONS
from tests.databases import database, database_url, installed_postgres, postgres  # noqa: F401
from tests.postgres_server import PostgresServer, find_wheel_binaries
from tests.stdio_client import ROOT


def add_organization(target: Database, name: str) -> None:
    with target.begin() as connection:
        connection.execute(insert(ORGANIZATIONS).values(id=f"org_{name}", slug=name))


def count_organizations(target: Database) -> int:
    with target.connect() as connection:
        return connection.execute(select(func.count()).select_from(ORGANIZATIONS)).scalar_one()


def test_copy_is_a_whole_database_also_during_writes(database: Database, tmp_path: Path) -> None:  # noqa: F811
    if not database.is_sqlite:
        with pytest.raises(CannotCopyDatabase, match="PostgreSQL"):
            database.copy_to(tmp_path / "copy.sqlite")
        return
    add_organization(database, "acme")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            add_organization(database, f"other-{(number := number + 1)}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            database.copy_to(tmp_path / f"copy-{number}.sqlite")
    finally:
        stop.set()
        writer.join()
    counts = []
    for number in range(3):
        copy = open_database(f"sqlite:///copy-{number}.sqlite", tmp_path)
        check_schema(copy)
        counts.append(count_organizations(copy))
        copy.close()
    assert 1 <= counts[0] <= counts[1] <= counts[2] <= count_organizations(database)
    assert stat.S_IMODE((tmp_path / "copy-0.sqlite").stat().st_mode) == 0o600
    add_organization(database, "later")


def test_copy_never_replaces_a_file(database: Database, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "copy.sqlite").write_text("precious")
    with pytest.raises(CannotCopyDatabase):
        database.copy_to(tmp_path / "copy.sqlite")
    assert (tmp_path / "copy.sqlite").read_text() == "precious"
    with pytest.raises(CannotCopyDatabase):
        database.copy_to(tmp_path / "missing" / "copy.sqlite")


@pytest.mark.process
def test_commands_of_the_page_back_up_and_restore_postgresql(
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    page = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
    [dump] = re.findall(r"`(pg_dump [^`]*\$URL\")`", page)
    [restore] = re.findall(r"`(pg_restore [^`]*)`", page)

    def run(command: str, url: str) -> None:
        variables = {
            "PATH": f"{find_wheel_binaries()}{os.pathsep}{os.environ['PATH']}",
            "BACKUPS": str(tmp_path),
            "URL": url,
        }
        process = subprocess.run(["sh", "-euc", command], env=variables, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr

    old_url, new_url = postgres.create_database(), postgres.create_database()
    old = open_database(old_url, tmp_path)
    upgrade_schema(old)
    add_organization(old, "acme")
    old.close()
    run(dump, old_url)
    for _ in range(2):  # into an empty database, and over an existing one
        run(restore, new_url)
        restored = open_database(new_url, tmp_path)
        check_schema(restored)
        assert count_organizations(restored) == 1
        add_organization(restored, "later")
        restored.close()


def test_files_of_sqlite_are_private(tmp_path: Path) -> None:
    opened = open_database("sqlite:///server.sqlite", tmp_path)
    assert not (tmp_path / "server.sqlite").exists()
    upgrade_schema(opened)
    with opened.connect():
        add_organization(opened, "acme")
        files = sorted(tmp_path.glob("server.sqlite*"))
        assert len(files) == 3  # with the log and its index
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    opened.close()
