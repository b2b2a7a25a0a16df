"""The lease of a repository's writer, in a real database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from docyard.nodes import lease as lease_module
from docyard.nodes.lease import WriterLease, build_repository_key
from index.port import EngineUnavailable
from index.postgres.database import Database
from tests.databases import postgres  # noqa: F401
from tests.loops import loop_over
from tests.postgres_server import PostgresServer, run_postgres
from workspace.publishing.locks import Busy

pytestmark = pytest.mark.process

LEASE_S = 2.0
OpenLease = Callable[..., WriterLease]


@pytest.fixture
def url(postgres: PostgresServer) -> str:  # noqa: F811
    return postgres.create_database()


@pytest.fixture
def open_lease(url: str) -> Iterator[OpenLease]:
    """Return a function that opens the lease of a node, and gives it back at the end."""
    leases: list[WriterLease] = []

    def open_one(name: str = "", lease_s: float = LEASE_S) -> WriterLease:
        leases.append(WriterLease(Database(url), "docs", f"http://{name}:1", lease_s=lease_s))
        return leases[-1]

    yield open_one
    for lease in leases:
        lease.close()


def stop_renewal(lease: WriterLease, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a lease act like one of a process that is stopped from now on: it is not renewed any more."""
    monkeypatch.setattr(lease, "_renew", lambda token: True)


@pytest.mark.guarantee
def test_one_node_has_the_lease_and_others_find_it(open_lease: OpenLease) -> None:
    first, second = open_lease("first"), open_lease("second")
    assert second.find_holder() is None
    with first.use() as token:
        assert (first.is_held, first.is_used_here, first.check()) == (True, True, True)
        assert (second.acquire_if_free(), second.is_held, second.check()) == (False, False, False)
        holder = second.find_holder()
        assert holder is not None
        assert (holder.url, holder.secret, holder.token) == ("http://first:1", first.secret, token)
        with first.use() as nested:
            assert nested == token
    assert first.find_holder() is None
    assert first.is_held  # it is given back when it is idle
    first.close()
    with second.use() as next_token:
        assert next_token == token + 1


def test_lease_lasts_while_it_is_renewed(open_lease: OpenLease) -> None:
    first, second = open_lease(), open_lease()
    with first.use():
        time.sleep(1.5 * LEASE_S)
        assert (first.check(), second.acquire_if_free()) == (True, False)


def test_other_node_gets_the_lease_when_no_write_runs(open_lease: OpenLease) -> None:
    first, second = open_lease(), open_lease()
    tokens: list[int] = []

    def write() -> None:
        with second.use() as token:
            tokens.append(token)

    with first.use() as token:
        waiter = threading.Thread(target=write)
        waiter.start()
        time.sleep(1.5)
        assert (tokens, first.check()) == ([], True)
        with first.use() as nested:  # a part of the running write does not wait for the other node
            assert nested == token
        assert not first.is_held
    waiter.join(10)
    assert tokens == [token + 1]
    assert not first.check()


@pytest.mark.guarantee
def test_node_that_was_stopped_past_its_lease_fails_the_check(
    open_lease: OpenLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_lease(), open_lease()
    with first.use():
        with monkeypatch.context() as patch:
            stop_renewal(first, patch)
            time.sleep(1.2 * LEASE_S)
        assert not first.check()
        with second.use():
            assert (first.check(), second.check()) == (False, True)


@pytest.mark.guarantee
def test_check_reads_the_database_even_if_the_own_clock_did_not_advance(
    open_lease: OpenLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_lease(), open_lease()
    with first.use():
        now = time.monotonic()
        with monkeypatch.context() as patch:
            stop_renewal(first, patch)
            time.sleep(1.2 * LEASE_S)
        with second.use():
            # The clock of a machine that was suspended does not count that time.
            monkeypatch.setattr(lease_module.time, "monotonic", lambda: now)
            assert not first.check()


def test_answer_of_the_database_that_arrives_late_does_not_count(
    open_lease: OpenLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_module, "_RENEWAL_INTERVAL_S", 60.0)
    lease = open_lease()
    renew = lease._renew

    def renew_slowly(token: int) -> bool:
        is_renewed = renew(token)
        time.sleep(LEASE_S / 2)
        return is_renewed

    with lease.use():
        assert lease.check()
        monkeypatch.setattr(lease, "_renew", renew_slowly)
        assert not lease.check()


def test_two_nodes_at_once_get_one_lease(open_lease: OpenLease) -> None:
    leases = [open_lease() for _ in range(6)]
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda lease=lease: results.append(lease.acquire_if_free()))
        for lease in leases
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False] * 5 + [True]


def test_write_is_busy_while_another_node_does_not_give_the_lease_back(
    open_lease: OpenLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_lease(), open_lease()
    monkeypatch.setattr(lease_module, "_WAIT_S", 0.5)
    with first.use(), pytest.raises(Busy, match="another node"), second.use():
        pass


def test_idle_lease_is_given_back(open_lease: OpenLease, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = open_lease(), open_lease()
    monkeypatch.setattr(lease_module, "_IDLE_S", 0.3)
    with first.use():
        pass
    deadline = time.monotonic() + 10
    while not second.acquire_if_free():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not first.is_held


def test_table_is_created_again_if_it_is_dropped(open_lease: OpenLease, url: str) -> None:
    lease = open_lease()
    with lease.use():
        pass
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE docyard_writer_leases")
    assert not lease.check()
    with lease.use() as token:
        assert (token, lease.check()) == (1, True)


def test_no_write_without_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_postgres() as server:
        lease = WriterLease(Database(server.create_database()), "docs", lease_s=LEASE_S)
        with lease.use():
            server.stop()
            with pytest.raises(EngineUnavailable):
                lease.check()
        time.sleep(1.2 * LEASE_S)
        with pytest.raises(EngineUnavailable), lease.use():
            pass
        server.start()
        time.sleep(2.0)  # after a failure, no connection is tried for two seconds
        with lease.use():
            assert lease.check()
        lease.close()


@loop_over(
    ("url", "other", "is_same"),
    [
        ("https://git.example.org/docs.git", "https://ana:secret@git.example.org/docs", True),
        ("https://git.example.org/docs.git", "https://git.example.org/docs/", True),
        ("https://git.example.org/docs.git", "https://git.example.org/other.git", False),
        ("/srv/git/docs.git", "/srv/git/docs", True),
    ],
)
def test_key_of_a_repository_is_that_of_its_url_without_a_password(
    url: str, other: str, is_same: bool
) -> None:
    assert (build_repository_key(url) == build_repository_key(other)) is is_same
