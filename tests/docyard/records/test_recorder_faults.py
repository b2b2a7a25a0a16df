"""The recorder while its database is locked, full, down or shared, and after its process was killed."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select

from docyard.database.database import Database, open_database
from docyard.database.schema import check_schema
from docyard.database.tables import SEARCH_QUERIES
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.settings.settings import RecordsSection
from tests.docyard.records.conftest import create_target, make_search, observe, read_searches
from tests.docyard.records.test_counts import check_counts
from tests.postgres_server import PostgresServer

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "records.sqlite"


@pytest.fixture
def open_quick_database(file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Database]:
    """Return a function that opens a database whose writers wait for 50 ms."""
    monkeypatch.setattr("docyard.database.database.BUSY_TIMEOUT_S", 0.05)

    def open_quick() -> Database:
        database = open_database(f"sqlite:///{file}", file.parent)
        check_schema(database)
        return database

    return open_quick


def test_locked_database_is_retried_and_loses_nothing(
    open_quick_database: Callable[[], Database], file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = open_quick_database()
    target = create_target(database, "acme")
    recorder = Recorder(database, RecordsSection(mode="text"))
    other_process = sqlite3.connect(file, isolation_level=None)
    other_process.execute("BEGIN IMMEDIATE")
    observe(recorder, target, make_search("first"))
    with caplog.at_level(logging.WARNING):
        assert [recorder._work(), recorder._work()] == [False, False]
    assert len(caplog.records) == 1
    observe(recorder, target, make_search("second"))
    other_process.execute("COMMIT")
    other_process.close()
    assert recorder._work()
    assert recorder._work()
    assert {row.query_text for row in read_searches(database)} == {"first", "second"}
    check_counts(database)
    database.close()


def test_full_disk_is_reported_and_recovers(
    open_quick_database: Callable[[], Database], caplog: pytest.LogCaptureFixture
) -> None:
    database = open_quick_database()
    target = create_target(database, "acme")
    recorder = Recorder(database, RecordsSection(mode="text"))
    assert recorder._work()  # the first deletion of old records
    with database.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    for number in range(200):
        observe(recorder, target, make_search(f"{number} " + "x" * 900))
    assert not recorder._work()
    assert "the disk of the database is full" in caplog.text
    with database.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    assert recorder._work()
    assert len(read_searches(database)) == 200
    check_counts(database)
    database.close()


def test_several_writers_keep_the_counts_right(file: Path) -> None:
    first = open_database(f"sqlite:///{file}", file.parent)
    check_schema(first)
    target = create_target(first, "acme")
    databases = [first, *(open_database(f"sqlite:///{file}", file.parent) for _ in range(2))]
    recorders = [Recorder(database, RecordsSection(mode="text")) for database in databases]

    def record(recorder: Recorder) -> None:
        for number in range(30):
            observe(recorder, target, make_search(f"question {number % 5}"))
            assert recorder._work()

    threads = [threading.Thread(target=record, args=(recorder,)) for recorder in recorders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_searches(first)) == 90
    check_counts(first)
    for database in databases:
        database.close()


@pytest.mark.process
def test_database_that_was_down_is_used_again(
    postgres: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = open_database(postgres.create_database(), tmp_path)
    check_schema(database)
    target = create_target(database, "acme")
    recorder = Recorder(database, RecordsSection(mode="text"))
    postgres.stop()
    try:
        observe(recorder, target, make_search("while it is down"))
        assert not recorder._work()
        assert "searches are not recorded: the database cannot be reached" in caplog.text
    finally:
        postgres.start()
    assert recorder._work()
    assert len(read_searches(database)) == 1
    database.close()


_ENDLESS_SEARCHES = """
import sys, time
from pathlib import Path
from docyard.database.database import open_database
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.settings.settings import RecordsSection
from tests.docyard.records.conftest import make_search, observe
target = RecordTarget("org_acme", "mcp_acme", {"api": "ns_acme_api", "guides": "ns_acme_guides"})
recorder = Recorder(open_database(sys.argv[1], Path.cwd()), RecordsSection(mode="text"))
recorder.start()
while True:
    observe(recorder, target, make_search())
    print(time.time_ns() // 1_000_000, flush=True)
    time.sleep(0.01)
"""


@pytest.mark.process
def test_killed_process_loses_at_most_half_a_second(
    database: Database, database_url: str, target: RecordTarget
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS_SEARCHES, database_url], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(2.5)
    process.kill()
    last_time = int(process.stdout.read().split()[-1])
    process.wait()
    with database.connect() as connection:
        recorded_time = connection.execute(select(func.max(SEARCH_QUERIES.c.created_at))).scalar_one()
    # Half a second, and the time of a batch on a busy machine.
    assert last_time - recorded_time < 1_000
    check_counts(database)
