"""A retry with an idempotency key after a lost response returns the first response."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from index.storage.locking import hold_lock
from tests.acceptance.server import (
    CLIENT_NAME,
    Server,
    ToolResponse,
    build_user_environment,
    serve_repository,
)
from tests.repositories import Repo, create_repository
from tests.stdio_client import connect

pytestmark = [
    pytest.mark.guarantee,
    pytest.mark.process,
    pytest.mark.skipif(os.name != "posix", reason="the tests send POSIX signals"),
]

FILES = {"tasks.md": "# Work\n\n## Tasks\n\n- [ ] One\n"}
TASK = {
    "operation": "add_task",
    "file": "tasks.md",
    "slug": "tasks",
    "title": "Two",
    "idempotency_key": "key-1",
}
TIMEOUT_S = 60.0


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@contextmanager
def serve_with_pid_file(repo: Path, home: Path, pid_file: Path) -> Iterator[Server]:
    """Start a server that writes its process id to a file."""
    serve = [sys.executable, "-m", "docyard", "serve", "-C", str(repo), "--no-fsync"]
    script = 'echo $$ > "$0"; exec "$@"'
    command = ["/bin/sh", "-c", script, str(pid_file), *serve]
    connection = connect(command, name=CLIENT_NAME, variables=build_user_environment(home))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connection) as client:
        yield Server(portal, client)


def wait_for_commit(repo: Repo, head_before: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while repo.head() == head_before:
        assert time.monotonic() < deadline, "timed out waiting for a commit"


def test_retry_after_killed_server_returns_first_answer(repo: Repo, tmp_path: Path, home: Path) -> None:
    head_before = repo.head()
    pid_file = tmp_path / "pid"
    with ThreadPoolExecutor(1) as pool, serve_with_pid_file(repo.path, home, pid_file) as server:
        assert server.call("search_docs", query="work").data["hits"]
        [lock] = (repo.path / ".git" / "docyard").rglob("lock")
        # The response waits for the index, because this test holds the lock of the index.
        with hold_lock(lock, TIMEOUT_S):
            lost_response: Future[ToolResponse] = pool.submit(server.call, "edit_document", **TASK)
            wait_for_commit(repo, head_before)
            os.kill(int(pid_file.read_text()), signal.SIGKILL)
            assert lost_response.exception(TIMEOUT_S) is not None
    first_commit = repo.head()
    assert repo.git("rev-parse", "HEAD^").strip() == head_before
    with serve_repository(repo.path, home) as server:
        for _ in range(2):
            response = server.call("edit_document", **TASK).data
            assert (response["commit"], response["repeated"], response["task_index"]) == (
                first_commit,
                True,
                1,
            )
        other_response = server.call("edit_document", **{**TASK, "title": "Three"})
        assert (other_response.is_error, other_response.data["code"]) == (True, "IDEMPOTENCY_KEY_REUSED")
    assert repo.head() == first_commit
    assert (repo.path / "tasks.md").read_text().count("Two") == 1
    assert repo.status() == repo.fsck() == ""


def test_retry_after_disconnect_returns_first_answer(repo: Repo, home: Path) -> None:
    head_before = repo.head()
    with ThreadPoolExecutor(1) as pool:
        with serve_repository(repo.path, home) as server:
            assert server.call("search_docs", query="work").data["hits"]
            lost_response: Future[ToolResponse] = pool.submit(server.call, "edit_document", **TASK)
            wait_for_commit(repo, head_before)
        lost_response.exception(TIMEOUT_S)
    first_commit = repo.head()
    with serve_repository(repo.path, home) as server:
        response = server.call("edit_document", **TASK).data
        assert (response["commit"], response["repeated"], response["task_index"]) == (first_commit, True, 1)
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2"
    assert repo.status() == repo.fsck() == ""


def test_same_idempotency_key_on_two_servers_commits_once(repo: Repo, home: Path) -> None:
    with (
        serve_repository(repo.path, home) as first_server,
        serve_repository(repo.path, home) as second_server,
        ThreadPoolExecutor(2) as pool,
    ):
        for number in range(5):
            call = {**TASK, "title": f"Task {number}", "idempotency_key": f"key-{number}"}
            futures = [
                pool.submit(server.call, "edit_document", **call) for server in (first_server, second_server)
            ]
            first_response, second_response = (future.result(TIMEOUT_S) for future in futures)
            assert not first_response.is_error
            assert not second_response.is_error
            assert sorted("repeated" in response.data for response in (first_response, second_response)) == [
                False,
                True,
            ]
            for field in ("commit", "task_index", "slug", "task"):
                assert first_response.data.get(field) == second_response.data.get(field)
    assert repo.git("rev-list", "--count", "HEAD").strip() == "6"
    assert repo.status() == repo.fsck() == ""
