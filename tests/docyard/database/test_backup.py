"""Backups of SQLite while others write, and their refusals."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from docyard.database.database import Database, open_database
from docyard.database.errors import CannotCopyDatabase
from docyard.database.schema import check_schema
from docyard.database.tables import ORGANIZATIONS
from tests.databases import database, database_url, postgres  # noqa: F401


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
