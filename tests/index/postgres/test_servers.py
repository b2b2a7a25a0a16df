"""Servers of a URL that do not answer, and requests to a server that stops answering."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from index.port import EngineUnavailable
from index.postgres import servers
from index.postgres.database import Database
from tests.postgres_server import PostgresServer, run_postgres

pytestmark = pytest.mark.process


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Return the port of a server that accepts connections, and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """Return a server that a test may freeze."""
    with run_postgres() as server:
        yield server
        server.send_signal(signal.SIGCONT)


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_silent_servers", set())
    monkeypatch.setitem(servers._CONNECT_OPTIONS, "connect_timeout", 2)  # the least that the driver accepts


def read_one(database: Database) -> float:
    """Run a statement over a new connection; return the seconds that it took."""
    start = time.monotonic()
    database.close()
    assert database.run(lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)
    return time.monotonic() - start


@pytest.mark.guarantee
def test_server_that_does_not_answer_delays_only_one_connection(
    postgres: PostgresServer, silent_port: int
) -> None:
    url = postgres.build_url("postgres").replace("127.0.0.1:", f"127.0.0.1:{silent_port},127.0.0.1:")
    database = Database(url)
    assert read_one(database) >= 1.9
    assert max(read_one(database) for _ in range(5)) < 1


def test_server_that_answers_again_is_used_again(own_server: PostgresServer) -> None:
    database = Database(own_server.build_url("postgres"))
    read_one(database)
    own_server.send_signal(signal.SIGSTOP)
    with pytest.raises(EngineUnavailable):
        read_one(database)
    own_server.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 10
    while True:
        try:
            read_one(database)
            break
        except EngineUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_replica_is_preferred_wherever_the_url_names_it(postgres: PostgresServer) -> None:
    with run_postgres(primary=postgres) as replica:
        ports = [postgres.port, replica.port]
        for first, second in (ports, ports[::-1]):
            database = Database(
                f"postgresql://docyard@127.0.0.1:{first},127.0.0.1:{second}/postgres"
                "?target_session_attrs=prefer-standby"
            )
            is_replica = database.run(
                lambda connection: connection.execute("SELECT pg_is_in_recovery()").fetchone()
            )
            assert is_replica == (True,)
            database.close()


@pytest.mark.guarantee
def test_request_to_a_server_that_stops_answering_ends(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "SILENCE_S", 0.2)
    database, other_database = (Database(own_server.build_url("postgres")) for _ in range(2))
    read_one(other_database)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(database.run, [lambda connection: connection.execute("SELECT pg_sleep(0.5)")] * 3))
    own_server.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    thaw = threading.Timer(20, own_server.send_signal, (signal.SIGCONT,))
    thaw.start()
    try:
        with pytest.raises(EngineUnavailable):
            database.run(lambda connection: connection.execute("SELECT 1"))
        with pytest.raises(EngineUnavailable):
            other_database.run(lambda connection: connection.execute("SELECT 1"))
    finally:
        thaw.cancel()
    assert time.monotonic() - start < 9  # one of the four idle connections was waited for


def test_long_request_to_a_server_that_answers_is_finished(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "SILENCE_S", 0.1)
    database = Database(postgres.build_url("postgres"))
    assert database.run(lambda connection: connection.execute("SELECT pg_sleep(1), 5").fetchone()) == ("", 5)


def test_connection_that_became_read_only_is_replaced(postgres: PostgresServer) -> None:
    database = Database(postgres.create_database())
    database.run(lambda connection: connection.execute("CREATE TABLE facts (name text)"))
    database.run(lambda connection: connection.execute("SET default_transaction_read_only = on"))
    database.run(lambda connection: connection.execute("INSERT INTO facts VALUES ('okapi')"))
    rows = database.run(lambda connection: connection.execute("SELECT name FROM facts").fetchall())
    assert rows == [("okapi",)]
