"""A database that is down, goes away, comes back, is full, locked, or of another version."""

from __future__ import annotations

import resource
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from sqlalchemy import func, select, text

from docyard.database.tables import SEARCH_QUERIES
from tests.acceptance.organizations.servers import Site, wait_until
from tests.acceptance.server import run_docyard
from tests.databases import postgres  # noqa: F401
from tests.docyard.http.test_supervisor import list_workers
from tests.postgres_server import PostgresServer

UNKNOWN_TOKEN = "docyard_at_" + "0" * 48
RECOVERY_S = 15.0


class Outage(Protocol):
    """The database of a site, which can be stopped and started."""

    site: Site

    def begin(self) -> None: ...

    def end(self) -> None: ...


class SqliteOutage:
    """A database in a file that another file replaces, which is no database."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._folder = site.folder / "database"

    def begin(self) -> None:
        self.site.database.close()
        self._folder.rename(self.site.folder / "moved")
        # A connection that is open still has the old files. An empty folder has no database.

    def end(self) -> None:
        (self.site.folder / "moved").rename(self._folder)


class PostgresOutage:
    """A PostgreSQL server that is stopped."""

    def __init__(self, site: Site, server: PostgresServer) -> None:
        self.site = site
        self._server = server

    def begin(self) -> None:
        self._server.stop()

    def end(self) -> None:
        self._server.start()


@pytest.fixture(params=["sqlite", "postgresql"])
def outage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Outage]:
    if request.param == "sqlite":
        (tmp_path / "database").mkdir()
        yield SqliteOutage(Site(tmp_path, "sqlite:///database/server.sqlite"))
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    yield PostgresOutage(Site(tmp_path, server.create_database()), server)


def count_recorded_searches(site: Site) -> int:
    with site.database.connect() as connection:
        return connection.scalar(select(func.count()).select_from(SEARCH_QUERIES)) or 0


def test_database_that_is_down_at_start_is_waited_for(outage: Outage) -> None:
    outage.begin()
    try:
        with outage.site.serve() as server:
            assert server.read_state() == (503, "unavailable")
            for token in (outage.site.token, UNKNOWN_TOKEN):
                reply = server.search(token=token)
                assert reply.status == 503
                assert int(reply.headers["retry-after"]) > 0
            anonymous_reply = server.request("POST", "/o/acme/docs/mcp", "{}")
            assert (anonymous_reply.status, "retry-after" in anonymous_reply.headers) == (503, True)
            assert server.request("GET", "/healthz").status == 200
            outage.end()
            wait_until(lambda: server.read_state() == (200, "ok"), "recovery", RECOVERY_S)
            assert server.search().read_result()["sources"]
            log = server.read_log()
            assert log.count("cannot be read") == log.count("can be read again") == 1
            assert "Traceback" not in log
            outage.begin()
    finally:
        outage.end()


def test_server_without_its_database_serves_what_it_knows(
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, postgres.create_database())
    outage = PostgresOutage(site, postgres)
    with site.serve() as server:
        assert server.search().read_result()["sources"]
        wait_until(lambda: count_recorded_searches(site) == 1, "the record of the search")
        outage.begin()
        try:
            assert server.search().read_result()["sources"]  # the token is in the cache
            wait_until(lambda: server.read_state() == (200, "degraded"), "the degraded state")
            reply = server.search(token=UNKNOWN_TOKEN)
            assert reply.status == 503
            assert int(reply.headers["retry-after"]) > 0
            headers = {"Cookie": f"docyard_session_{server.port}=x", "Accept": "text/html"}
            login_page = server.request("GET", "/login", headers=headers)
            assert (login_page.status, "Traceback" in login_page.body) == (503, False)
            assert "Try again in a moment" in login_page.body
            log = server.read_log()
            assert log.count("the organizations cannot be read") == 1
            assert log.count("searches are not recorded") == 1
        finally:
            outage.end()
        wait_until(lambda: server.read_state() == (200, "ok"), "recovery", RECOVERY_S)
        assert server.search(token=UNKNOWN_TOKEN).status == 401
        assert server.search().read_result()["sources"]
        # No search was lost: those of the outage waited.
        wait_until(lambda: count_recorded_searches(site) == 3, "the records of the searches")
        assert server.read_metric("docyard_dropped_records_total") == 0
        log = server.read_log()
        assert log.count("searches are recorded again") == log.count("can be read again") == 1
        assert "Traceback" not in log


def test_full_database_stops_only_records(tmp_path: Path) -> None:
    site = Site(tmp_path, "sqlite:///server.sqlite")
    with site.serve() as server:
        assert server.search().read_result()["sources"]
        wait_until(lambda: count_recorded_searches(site) == 1, "the first record")
        # The write-ahead log can grow no more, as on a full disk.
        size = (tmp_path / "server.sqlite-wal").stat().st_size
        [process] = list_workers(server)
        old_limits = resource.prlimit(process, resource.RLIMIT_FSIZE)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, old_limits[1]))
        count = 1
        while "searches are not recorded" not in server.read_log():
            assert count < 200
            assert server.search().read_result()["sources"]
            count += 1
            time.sleep(0.1)
        assert server.read_state() == (200, "ok")  # reading works
        login = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
        reply = server.request("POST", "/login", f"token={site.token}", login)
        assert (reply.status, "retry-after" in reply.headers) == (503, True)
        assert server.search().read_result()["sources"]
        resource.prlimit(process, resource.RLIMIT_FSIZE, old_limits)
        wait_until(lambda: count_recorded_searches(site) == count + 1, "all records")
        assert server.request("POST", "/login", f"token={site.token}", login).status == 303
        log = server.read_log()
        assert log.count("searches are not recorded") == log.count("searches are recorded again") == 1
        assert "Traceback" not in log


@pytest.mark.slow
def test_locked_database_delays_only_records(tmp_path: Path) -> None:
    site = Site(tmp_path, "sqlite:///server.sqlite")
    with site.serve() as server:
        assert server.search().read_result()["sources"]
        wait_until(lambda: count_recorded_searches(site) == 1, "the first record")
        lock = sqlite3.connect(tmp_path / "server.sqlite", isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        end_time = time.monotonic() + 10
        count = 0
        while time.monotonic() < end_time:
            start_time = time.monotonic()
            assert server.search(f"herons {count}").read_result()
            assert time.monotonic() - start_time < 5
            count += 1
            time.sleep(0.1)
        assert server.read_state() == (200, "ok")
        lock.execute("ROLLBACK")
        lock.close()
        wait_until(lambda: count_recorded_searches(site) == count + 1, "all records")
        log = server.read_log()
        assert log.count("\n") <= 2, log  # one line for the failure, and one for its end


def test_schema_of_a_newer_version_is_refused_at_start(tmp_path: Path) -> None:
    site = Site(tmp_path, "sqlite:///server.sqlite", workers=2)
    with site.database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    done = run_docyard(["serve", "--config", str(site.config_file)], tmp_path / "home")
    assert done.returncode != 0
    assert "9999" in done.stderr
    assert "Install the newer version of Docyard" in done.stderr
    assert "Traceback" not in done.stderr


def test_schema_of_another_version_after_the_start_is_reported(outage: Outage) -> None:
    site = outage.site
    with site.database.begin() as connection:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    outage.begin()
    try:
        with site.serve() as server:
            assert server.read_state() == (503, "unavailable")
            outage.end()
            wait_until(lambda: "9999" in server.read_log(), "the report", RECOVERY_S)
            time.sleep(2.5)
            assert server.read_state() == (503, "unavailable")
            assert server.search().status == 503
            log = server.read_log()
            assert log.count("9999") == 1
            assert "Traceback" not in log
            with site.database.begin() as connection:
                connection.execute(
                    text("UPDATE alembic_version SET version_num = :version"), {"version": version}
                )
            wait_until(lambda: server.read_state() == (200, "ok"), "recovery", RECOVERY_S)
            outage.begin()
    finally:
        outage.end()
