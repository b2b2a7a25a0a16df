"""Two workers with one database: a killed one, a graceful stop, shared sessions, and changes under load."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from sqlalchemy import insert, select, update

from docyard.database.tables import GROUP_RULES, NAMESPACES, SEARCH_QUERIES, SESSIONS
from docyard.sessions.storage import CACHE_S
from tests.acceptance.organizations.servers import MCP_PATH, OrganizationsServer, Reply, Site, wait_until
from tests.acceptance.server import build_user_environment
from tests.databases import postgres  # noqa: F401
from tests.docyard.http.test_supervisor import list_workers
from tests.organizations import mark_change

MAX_UNANSWERED_S = 5.0
MAX_STOP_S = 25.0
MAX_CHANGE_S = 2.0
LOST_S = 0.5  # a quarter of a second between two batches, and the time of a busy machine
CLIENT_COUNT = 4


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    url = "sqlite:///server.sqlite"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").create_database()
    return Site(tmp_path, url, workers=2)


class Outcome(NamedTuple):
    """One request: its question, its reply or its error, and the monotonic times of both ends."""

    question: str
    reply: Reply | None
    error: Exception | None
    start_time: float
    end_time: float


class Load:
    """Clients that search all the time, each with questions of its own: `with Load(server) as load: ...`."""

    def __init__(self, server: OrganizationsServer) -> None:
        self._server = server
        self._stop_event = threading.Event()
        self.outcomes: list[Outcome] = []
        self._threads = [
            threading.Thread(target=self._search, args=(number,)) for number in range(CLIENT_COUNT)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._stop_event.set()
        for thread in self._threads:
            thread.join()

    def _search(self, client: int) -> None:
        number = 0
        while not self._stop_event.is_set():
            number += 1
            question = f"herons client{client} number{number}"
            start_time, reply, error = time.monotonic(), None, None
            try:
                reply = self._server.search(question)
            except (OSError, http.client.HTTPException) as caught_error:
                error = caught_error
            self.outcomes.append(Outcome(question, reply, error, start_time, time.monotonic()))
            if error is not None:
                time.sleep(0.05)

    def list_answered(self) -> list[Outcome]:
        """Return the requests that were answered with hits."""
        return [
            outcome for outcome in self.outcomes if outcome.reply is not None and outcome.reply.status == 200
        ]


def read_questions(site: Site) -> set[str]:
    with site.database.connect() as connection:
        return set(connection.scalars(select(SEARCH_QUERIES.c.query_text)))


def test_killed_worker_leaves_no_search_unanswered_and_loses_few_records(site: Site) -> None:
    with site.serve() as server:
        workers = list_workers(server)
        assert len(workers) == 2
        with Load(server) as load:
            time.sleep(2)
            kill_time = time.monotonic()
            os.kill(workers[0], signal.SIGKILL)
            wait_until(lambda: len(set(list_workers(server)) - {workers[0]}) == 2, "the new worker", 30)
            time.sleep(1)
        # A client that repeats a failed search is answered in time.
        clients: dict[str, float] = {}
        for outcome in sorted(load.outcomes, key=lambda outcome: outcome.end_time):
            client = outcome.question.split()[1]
            if outcome.reply is None:
                clients.setdefault(client, outcome.start_time)
                continue
            assert outcome.reply.read_result()["sources"]
            assert outcome.end_time - clients.pop(client, outcome.start_time) < MAX_UNANSWERED_S
        assert clients == {}
        answered = load.list_answered()
        assert server.stop()[0] == 0
        stored = read_questions(site)
        lost = [outcome for outcome in answered if outcome.question not in stored]
        assert all(kill_time - LOST_S <= outcome.end_time <= kill_time + LOST_S for outcome in lost), lost
        assert len(answered) - len(lost) > 20
        assert "Traceback" not in server.read_log()


def test_graceful_stop_breaks_no_response_and_stores_all_records(site: Site) -> None:
    with site.serve() as server:
        with Load(server) as load:
            time.sleep(2)
            stop_time = time.monotonic()
            assert server.stop()[0] == 0
            assert time.monotonic() - stop_time < MAX_STOP_S
        for outcome in load.outcomes:
            if outcome.reply is not None:
                assert outcome.reply.status in (200, 503), outcome
            else:  # no byte of a response was sent
                assert isinstance(outcome.error, ConnectionError | http.client.RemoteDisconnected), outcome
        answered = {outcome.question for outcome in load.list_answered()}
        assert len(answered) > 20
        assert answered <= read_questions(site)
        assert "Traceback" not in server.read_log()


def compute_csrf_token(site: Site, cookie: str) -> str:
    """Return the CSRF token of a session, as a new process of the server's user computes it."""
    program = (
        "import sys; from pathlib import Path; from docyard.database.database import open_database; "
        "from docyard.sessions.database import DatabaseSessions; "
        "from docyard.sessions.sessions import digest_value; "
        "sessions = DatabaseSessions(open_database(sys.argv[1], Path(sys.argv[2]))); "
        "print(sessions.compute_csrf_token(digest_value(sys.argv[3])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, site.database_url, str(site.folder), cookie],
        env=build_user_environment(site.folder / "home"),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_session_is_valid_in_all_workers_until_it_ends(site: Site) -> None:
    with site.serve() as server:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = server.request("POST", "/login", urlencode({"token": site.token}), form)
        assert reply.status == 303
        cookie = reply.headers["set-cookie"].partition(";")[0]
        token = compute_csrf_token(site, cookie.partition("=")[2])

        def sign_out(csrf: str) -> str:
            """Return the target of the redirect: `/login` if a session has ended."""
            headers = {**form, "Cookie": cookie}
            return server.request("POST", "/logout", urlencode({"csrf": csrf}), headers).headers["location"]

        assert {sign_out("wrong") for _ in range(30)} == {"/"}  # both workers know the session now
        assert sign_out(token) == "/login"
        end_time = time.monotonic()
        # A worker that has the session in its cache ends it again: each worker does this at most once.
        wait_until(lambda: {sign_out(token) for _ in range(30)} == {"/"}, "the end", CACHE_S + 5)
        assert time.monotonic() - end_time < CACHE_S + 5
        with site.database.connect() as connection:
            assert connection.execute(select(SESSIONS)).all() == []


def change_rule(site: Site, role: str) -> None:
    with site.database.begin() as connection:
        connection.execute(update(GROUP_RULES).values(role=role))
    mark_change(site.database)


def test_changed_rule_ends_streams_and_applies_to_the_next_request(site: Site) -> None:
    with site.serve() as server:
        assert server.search().status == 200
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        connection.request(
            "POST",
            MCP_PATH,
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}),
            headers={
                "Accept": "text/event-stream, application/json",
                "Content-Type": "application/json",
                "Authorization": f"Bearer {site.token}",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": "subscriptions/listen",
            },
        )
        response = connection.getresponse()
        assert response.status == 200, response.read()
        change_rule(site, "none")
        change_time = time.monotonic()
        response.read()
        assert time.monotonic() - change_time < MAX_CHANGE_S
        connection.close()
        # Both workers follow the database.
        wait_until(
            lambda: {server.search().status for _ in range(10)} == {404},
            "the change",
            MAX_CHANGE_S - (time.monotonic() - change_time) + 1,
        )
        change_rule(site, "reader")
        wait_until(
            lambda: {server.search().status for _ in range(10)} == {200}, "the change back", MAX_CHANGE_S + 1
        )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda site, number: change_rule(site, "none" if number % 2 else "reader"), id="rules"),
        pytest.param(
            lambda site, number: change_namespace(site, number), id="namespaces", marks=pytest.mark.slow
        ),
    ],
)
def test_changes_under_load_cause_no_error(site: Site, change: Callable[[Site, int], None]) -> None:
    with site.serve() as server, Load(server) as load:
        for number in range(20):
            change(site, number)
            time.sleep(0.3)
        change_rule(site, "reader")
    statuses = {None if outcome.reply is None else outcome.reply.status for outcome in load.outcomes}
    assert statuses <= {200, 404}
    assert 200 in statuses
    assert "Traceback" not in server.read_log()


def change_namespace(site: Site, number: int) -> None:
    """Add a namespace and change another: both replace the sources of the organization."""
    with site.database.begin() as connection:
        connection.execute(
            insert(NAMESPACES).values(
                name=f"extra-{number}", settings={"repo": "acme"}, organization_id="org_acme"
            )
        )
        settings = {"repo": "acme", "description": f"Change {number}"}
        connection.execute(update(NAMESPACES).where(NAMESPACES.c.name == "docs").values(settings=settings))
    mark_change(site.database)
