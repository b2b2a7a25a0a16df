"""Browsers and two real nodes: a session of one is valid on the other, and ends on both."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import psycopg
import pytest

from index.postgres.options import create_engine_options
from index.postgres.shared_tokens import share_tokens
from tests import repositories
from tests.databases import postgres  # noqa: F401
from tests.nodes import START_TIMEOUT_S, NodeProcess, call_node, run_nodes
from tests.postgres_server import PostgresServer, run_postgres
from tests.repositories import Repo
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

pytestmark = pytest.mark.process

SERVER_TOKEN = "a token of the server".replace(" ", "-") * 2
FILES = {
    "docyard.toml": '[[protect]]\npaths = ["rules/**"]\napprovals = 1\n',
    "rules/one.md": "# One\n\nText.\n",
}
HTML_HEADERS = {"Accept": "text/html"}


@dataclass(frozen=True)
class Nodes:
    """Two nodes that need a token, the people whom they share, and their repository and database."""

    first: NodeProcess
    second: NodeProcess
    tokens: Tokens
    remote_repo: Repo
    database_url: str

    def read_sessions(self) -> list[bytes]:
        """Return all values in the table of sessions as bytes."""
        with psycopg.connect(self.database_url) as connection:
            rows = connection.execute("SELECT * FROM docyard_sessions").fetchall()
        return [value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row]


def start_nodes(folder: Path, database_url: str) -> Iterator[Nodes]:
    remote_repo = repositories.create_bare_repository(folder / "docs.git", FILES)
    token_file = folder / "token"
    token_file.write_text(SERVER_TOKEN)
    token_file.chmod(0o600)
    with run_nodes(folder, remote_repo, database_url, 2, "--token-file", str(token_file)) as nodes:
        workspace = Workspace.open(nodes[0].clone.path)
        share_tokens(workspace, create_engine_options(database_url))
        yield Nodes(nodes[0], nodes[1], workspace.tokens, remote_repo, database_url)


@pytest.fixture(scope="module")
def nodes(
    tmp_path_factory: pytest.TempPathFactory,
    postgres: PostgresServer,  # noqa: F811
) -> Iterator[Nodes]:
    yield from start_nodes(tmp_path_factory.mktemp("nodes"), postgres.create_database())


class Browser:
    """A browser whose cookies are sent to all nodes, as behind a load balancer."""

    def __init__(self) -> None:
        self._client = httpx2.Client(headers=HTML_HEADERS, timeout=90)

    def submit_login(self, node: NodeProcess, token: str, redirect_path: str = "/") -> httpx2.Response:
        return self._client.post(f"{node.url}/login", data={"token": token, "after": redirect_path})

    def sign_in(self, node: NodeProcess, token: str) -> None:
        response = self.submit_login(node, token)
        assert response.status_code == 303, response.text

    def open(self, node: NodeProcess, path: str = "/") -> httpx2.Response:
        return self._client.get(node.url + path)

    def send(self, node: NodeProcess, path: str, csrf: str, **fields: str) -> httpx2.Response:
        headers = {"Origin": node.url}
        return self._client.post(node.url + path, data={"csrf": csrf, **fields}, headers=headers)

    @property
    def cookie(self) -> tuple[str, str]:
        """The name and the value of the cookie of the session."""
        [cookie] = [
            entry for entry in self._client.cookies.items() if entry[0].startswith("docyard_session_")
        ]
        return cookie

    def copy(self) -> Browser:
        """Return a browser that keeps the cookie of this one, whatever nodes answer."""
        browser = Browser()
        browser._client.headers["Cookie"] = "=".join(self.cookie)
        return browser


def find_csrf(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    match = re.search(r'name="csrf" value="([^"]+)"', response.text)
    assert match is not None, response.text
    return match[1]


def wait_for_response(
    request: Callable[[], httpx2.Response], is_expected: Callable[[httpx2.Response], bool]
) -> httpx2.Response:
    """Repeat a request until its response is the expected one."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not is_expected(response := request()):
        assert time.monotonic() < deadline, response.text
        time.sleep(0.1)
    return response


@pytest.mark.guarantee
def test_person_signs_in_approves_merges_and_signs_out_at_different_nodes(nodes: Nodes) -> None:
    first, second = nodes.first, nodes.second
    author_token = nodes.tokens.add("ana", "Ana Li", "ana@example.org")
    reviewer_token = nodes.tokens.add("ben", "Ben Ode", "ben@example.org")
    created = call_node(
        first.url,
        "create_document",
        token=author_token,
        title="Two",
        doc_type="document",
        path="rules/two.md",
    )
    assert not created.is_error, created.text
    id = created.data["proposal"]
    submitted = call_node(first.url, "update_proposal", token=author_token, proposal=id, action="submit")
    assert not submitted.is_error, submitted.text
    browser, page_path = Browser(), f"/proposals/{id}"
    browser.sign_in(first, reviewer_token)
    # The second node has the proposal after its next fetch.
    page = wait_for_response(
        lambda: browser.open(second, page_path),
        lambda response: response.status_code == 200 and 'name="commit"' in response.text,
    )
    commit = re.search(r'name="commit" value="([0-9a-f]{40})"', page.text)
    assert commit is not None, page.text
    csrf = find_csrf(page)
    assert csrf == find_csrf(browser.open(first))
    approved = browser.send(second, f"{page_path}/approve", csrf, commit=commit[1], text="Good.")
    assert approved.status_code == 303, approved.text
    merged = browser.send(first, f"{page_path}/merge", csrf, commit=commit[1])
    assert merged.status_code == 303, merged.text
    log = nodes.remote_repo.git("log", "-1", "--format=%an %s", "main")
    assert log.startswith(f"Ben Ode Merge proposal {id}"), log
    _, cookie = browser.cookie
    key = nodes.tokens.key("ben")
    assert key is not None
    stored = nodes.read_sessions()
    assert any(b"ben@example.org" in value for value in stored)
    for secret in (cookie.encode(), reviewer_token.encode(), reviewer_token[-48:].encode(), key):
        assert not any(secret in value or secret.hex().encode() in value for value in stored)
    old_cookie = browser.copy()
    assert old_cookie.open(second).status_code == 200
    assert browser.send(first, "/logout", csrf).headers["location"] == "/login"
    assert old_cookie.open(first).status_code == 401
    # The second node has just read the session, which is valid there for the time of its cache, to read.
    for action in ("approve", "merge", "comment"):
        assert old_cookie.send(second, f"{page_path}/{action}", csrf, commit=commit[1]).status_code == 401
    page = wait_for_response(lambda: old_cookie.open(second), lambda response: response.status_code == 401)
    assert 'action="/login"' in page.text
    assert nodes.read_sessions() == []


@pytest.mark.guarantee
@pytest.mark.parametrize("change", ["revoke", "rotate"])
def test_changed_token_ends_its_sessions_on_all_nodes_at_the_next_request(nodes: Nodes, change: str) -> None:
    token = nodes.tokens.add(change, "Cat Roe", "cat@example.org")
    browsers = [Browser(), Browser()]
    for browser, node in zip(browsers, (nodes.first, nodes.second), strict=True):
        browser.sign_in(node, token)
        assert {browser.open(each).status_code for each in (nodes.first, nodes.second)} == {200}
    getattr(nodes.tokens, change)(change)
    for browser in browsers:
        assert {browser.open(each).status_code for each in (nodes.second, nodes.first)} == {401}
    assert nodes.read_sessions() == []


def test_sessions_survive_the_restart_of_a_node(nodes: Nodes) -> None:
    person, server = Browser(), Browser()
    person.sign_in(nodes.first, nodes.tokens.add("dan", "Dan Fox", "dan@example.org"))
    server.sign_in(nodes.first, SERVER_TOKEN)
    csrf = find_csrf(person.open(nodes.first))
    nodes.first.send_signal(signal.SIGTERM)
    nodes.first.restart()
    assert find_csrf(person.open(nodes.first)) == csrf
    assert server.open(nodes.first).status_code == server.open(nodes.second).status_code == 200


@pytest.mark.guarantee
def test_sessions_are_answered_with_503_while_the_database_is_down(tmp_path: Path) -> None:
    with run_postgres() as postgres_server:
        for nodes in start_nodes(tmp_path, postgres_server.create_database()):
            person, server = Browser(), Browser()
            person_token = nodes.tokens.add("ana", "Ana Li", "ana@example.org")
            person.sign_in(nodes.first, person_token)
            server.sign_in(nodes.first, SERVER_TOKEN)
            csrf = find_csrf(person.open(nodes.first))
            postgres_server.stop()
            page = person.open(nodes.first)  # also with a session in the cache, whose token cannot be read
            assert page.status_code == 503, page.text
            assert "Sessions cannot be read or changed now" in page.text
            assert server.open(nodes.second).status_code == 503
            assert person.send(nodes.first, "/logout", csrf).status_code == 503
            for token, message in (
                (SERVER_TOKEN, "Sessions cannot be read or changed now"),
                (person_token, "Tokens cannot be checked now"),
            ):
                page = Browser().submit_login(nodes.second, token, "/history")
                assert page.status_code == 503, page.text
                assert message in page.text
                assert 'name="after" value="/history"' in page.text
            answer = call_node(nodes.first.url, "list_documents", token=SERVER_TOKEN)
            assert not answer.is_error, answer.text
            postgres_server.start()
            wait_for_response(partial(person.open, nodes.first), lambda page: page.status_code == 200)
            wait_for_response(partial(server.open, nodes.second), lambda page: page.status_code == 200)
