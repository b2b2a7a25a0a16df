"""Real servers that write one repository: forwarded calls, stopped and killed writers, keys on two nodes."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from docyard.nodes.calls import NODE_CALL_PATH, SIGNATURE_HEADER
from tests import repositories
from tests.acceptance.server import ToolResponse
from tests.databases import postgres  # noqa: F401
from tests.nodes import NodeProcess, find_writer, read_lease, run_nodes, stop_process
from tests.postgres_server import PostgresServer
from tests.repositories import Repo

pytestmark = pytest.mark.process

PAGE = "# Page\n\n## Tasks {#tasks}\n\n- [ ] Begin\n"
FILES = {
    **{f"{name}.md": PAGE for name in ("calls", "keys", "stopped", "killed", "forms")},
    "docyard.toml": '[[protect]]\npaths = ["rules/**"]\n',
    "rules/one.md": "# One\n\nText.\n",
}


@dataclass(frozen=True)
class Cluster:
    """Two nodes, the repository that they write, and the database of their lease."""

    nodes: list[NodeProcess]
    remote_repo: Repo
    url: str

    def find_both(self) -> tuple[NodeProcess, NodeProcess]:
        """Return the node that writes, and the other one."""
        writer = find_writer(self.url, self.nodes)
        return writer, next(node for node in self.nodes if node is not writer)

    def read_titles(self, file: str) -> list[str]:
        """Return the titles of the open tasks of a document in the shared repository."""
        page = self.remote_repo.git("show", f"main:{file}")
        return [line.removeprefix("- [ ] ") for line in page.splitlines() if line.startswith("- [")]


@pytest.fixture(scope="module")
def running_cluster(
    tmp_path_factory: pytest.TempPathFactory,
    postgres: PostgresServer,  # noqa: F811
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    remote_repo = repositories.create_bare_repository(folder / "docs.git", FILES)
    url = postgres.create_database()
    with run_nodes(folder, remote_repo, url, 2) as nodes:
        yield Cluster(nodes, remote_repo, url)


@pytest.fixture
def cluster(running_cluster: Cluster) -> Cluster:
    """Return the nodes, of which a test may have ended one; the first node is the last writer."""
    for node in running_cluster.nodes:
        if node.process.poll() is not None:
            node.restart()
    response = add_task(running_cluster.nodes[0], "calls.md", "A first write")
    assert not response.is_error, response.text
    return running_cluster


def add_task(node: NodeProcess, file: str, title: str, **arguments: Any) -> ToolResponse:
    fields = {"operation": "add_task", "file": file, "slug": "tasks", "title": title}
    return node.call("edit_document", **fields, **arguments)


class BackgroundCall(threading.Thread):
    """A call in another thread, whose response `wait` returns."""

    def __init__(self, node: NodeProcess, file: str, title: str, **arguments: Any) -> None:
        super().__init__(daemon=True)
        self._arguments = (node, file, title, arguments)
        self._response: ToolResponse | None = None
        self.start()

    def run(self) -> None:
        node, file, title, arguments = self._arguments
        self._response = add_task(node, file, title, **arguments)

    def wait(self) -> ToolResponse:
        self.join(90)
        assert self._response is not None
        return self._response


def test_calls_on_both_nodes_are_executed_by_the_writer(cluster: Cluster) -> None:
    (writer, other), remote_repo = cluster.find_both(), cluster.remote_repo
    commits = []
    for number, node in enumerate((writer, other, other, writer)):
        response = add_task(node, "calls.md", f"Task {number}")
        assert not response.is_error, response.text
        commits.append(response.data["commit"])
        # A client finds what it has written on the node to which it is connected.
        assert response.data["commit"] == node.clone.git("rev-parse", "main").strip()
        view = node.call("view_document", file="calls.md", slug="tasks")
        assert f"Task {number}" in view.data["content"]
        found = node.call("search_docs", query=f"Task {number}")
        assert found.data["commit"] == response.data["commit"], found.text
    assert remote_repo.git("log", "-4", "--reverse", "--format=%H", "main").split() == commits
    assert cluster.read_titles("calls.md")[-4:] == [f"Task {number}" for number in range(4)]
    assert cluster.find_both() == (writer, other)
    # An error of the writer is the answer of the other node.
    error = other.call("edit_document", operation="add_task", file="missing.md", slug="x", title="T")
    assert (error.is_error, error.data["code"]) == (True, "DOCUMENT_NOT_FOUND"), error.text
    # A proposal that one node opens is visible and writable on both.
    created = other.call("create_document", title="Two", doc_type="document", path="rules/two.md")
    assert not created.is_error, created.text
    proposal = created.data["proposal"]
    for node in cluster.nodes:
        edit = node.call(
            "edit_document",
            operation="append_content",
            file="rules/two.md",
            slug="_preamble",
            content="More.",
            proposal=proposal,
        )
        assert not edit.is_error, edit.text
        assert not node.call("view_proposal", proposal=proposal).is_error
    # A node gives the lease back at its end, so that the other one need not wait for its expiry.
    writer.send_signal(signal.SIGTERM)
    assert writer.process.wait(60) == 0
    assert read_lease(cluster.url)[0] is None
    assert not add_task(other, "calls.md", "Last").is_error
    assert remote_repo.fsck() == ""


def test_call_of_another_program_is_refused(cluster: Cluster) -> None:
    writer, _ = cluster.find_both()
    tip = cluster.remote_repo.head()
    arguments = {"operation": "add_task", "file": "calls.md", "slug": "tasks", "title": "Forged"}
    fields = {"id": "x", "branch": "main", "tool": "edit_document", "arguments": arguments}
    body = json.dumps({**fields, "client": "", "person": None, "may_review": True, "max_tokens": None})
    for signature in ("", "0" * 64):
        headers = {SIGNATURE_HEADER: signature}
        response = httpx2.post(writer.url + NODE_CALL_PATH, content=body.encode(), headers=headers)
        assert response.status_code == 403
    assert httpx2.get(writer.url + NODE_CALL_PATH).status_code == 405
    assert cluster.remote_repo.head() == tip


def test_call_without_a_signature_is_refused_before_its_body_arrives(cluster: Cluster) -> None:
    """The body never arrives, so a node that waits for it would not answer."""
    writer, _ = cluster.find_both()
    address = urlsplit(writer.url)
    assert address.hostname is not None
    assert address.port is not None
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        head = f"POST {NODE_CALL_PATH} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 32000000\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 403 ")


def test_one_key_on_two_nodes_at_once_is_one_commit(cluster: Cluster) -> None:
    for number in range(3):
        calls = [
            BackgroundCall(node, "keys.md", f"Task {number}", idempotency_key=f"key-{number}")
            for node in cluster.nodes
        ]
        responses = [call.wait() for call in calls]
        assert not any(response.is_error for response in responses), [each.text for each in responses]
        assert len({response.data["commit"] for response in responses}) == 1
        assert sorted(bool(response.data.get("repeated")) for response in responses) == [False, True]
    assert cluster.read_titles("keys.md") == ["Begin", "Task 0", "Task 1", "Task 2"]


def test_form_on_a_node_that_does_not_write_waits_for_the_lease(cluster: Cluster) -> None:
    _, other = cluster.find_both()
    with httpx2.Client(base_url=other.url, timeout=60) as browser:
        page = browser.get("/edit/forms.md")
        hidden = dict(re.findall(r'type="hidden" name="(csrf|base|key)" value="([^"]*)"', page.text))
        fields = {**hidden, "text": PAGE + "\nMore.\n", "title": "More words", "act": "propose"}
        response = browser.post("/edit/forms.md", data=fields, headers={"Origin": other.url})
        assert response.status_code == 303, response.text
    assert cluster.find_both()[0] is other
    id = response.headers["location"].rpartition("/")[2].partition("?")[0]
    assert not other.call("view_proposal", proposal=id).is_error
    assert f"proposals/{id}" in cluster.remote_repo.git("branch", "--list", "proposals/*")


def test_writer_that_is_stopped_past_its_lease_writes_nothing_when_it_wakes(cluster: Cluster) -> None:
    (writer, other), remote_repo, file = cluster.find_both(), cluster.remote_repo, "stopped.md"
    _, token = read_lease(cluster.url)
    with stop_process(writer):
        # It has these calls when it wakes.
        late_calls = [
            BackgroundCall(writer, file, "Late", idempotency_key="late"),
            BackgroundCall(writer, file, "Late without a key"),
        ]
        unknown = BackgroundCall(other, file, "Without a key")
        assert unknown.wait().data["code"] == "RESULT_UNKNOWN"
        repeated = add_task(other, file, "With a key", idempotency_key="stopped")
        assert not repeated.is_error, repeated.text
        assert not add_task(other, file, "Late", idempotency_key="late").is_error
        assert read_lease(cluster.url) == (other.url, token + 1)
        titles = cluster.read_titles(file)
        assert titles == ["Begin", "With a key", "Late"]
        tip = remote_repo.head()
    responses = [call.wait() for call in late_calls]
    assert responses[0].data["repeated"], responses[0].text
    assert not add_task(writer, file, "Awake").is_error
    final_titles = cluster.read_titles(file)
    # A call without a key that the stopped node had received may be executed after it wakes: in its turn.
    assert final_titles[:3] == titles
    assert set(final_titles[3:]) <= {"Late without a key", "Without a key", "Awake"}
    assert len(set(final_titles)) == len(final_titles)
    assert ("Late without a key" in final_titles) == (not responses[1].is_error)
    remote_repo.git("merge-base", "--is-ancestor", tip, "main")
    assert remote_repo.fsck() == ""


def test_killed_writer_is_replaced_when_its_lease_ends(cluster: Cluster) -> None:
    writer, other = cluster.find_both()
    writer.send_signal(signal.SIGKILL)
    response = add_task(other, "killed.md", "First", idempotency_key="killed")
    assert not response.is_error, response.text
    writer.restart()
    assert not add_task(writer, "killed.md", "Second").is_error
    assert cluster.read_titles("killed.md") == ["Begin", "First", "Second"]
