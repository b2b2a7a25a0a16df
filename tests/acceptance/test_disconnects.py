"""A client disconnects in different ways and at different moments: each call is complete or not executed.

A started call finishes, including the steps after its commit. The server then exits without an error, and a
retry with the same idempotency key returns the first response.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from index.storage.locking import hold_lock
from tests.acceptance.clients import build_long_lock_wait_command, start_long_lock_wait_server, wait_until
from tests.acceptance.server import build_user_environment
from tests.repositories import Repo, create_repository
from tests.soak import inspection
from tests.stdio_client import HANDSHAKE, TIMEOUT_S, Message, RawClient, encode_call

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the tests send POSIX signals")

TASKS_TEXT = "# Work\n\n## Tasks\n\n- [ ] Begin\n"
CALL_COUNT = 12  # more than the number of workers
KILLED_CLIENT = str(Path(__file__).with_name("killed_client.py"))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {"tasks.md": TASKS_TEXT})


@pytest.fixture
def client(repo: Repo, tmp_path: Path) -> Iterator[RawClient]:
    client = start_long_lock_wait_server(repo.path, tmp_path / "home")
    yield client
    if client.process.poll() is None:
        client.process.kill()
        client.process.wait()


def build_task_call(number: int) -> dict[str, Any]:
    """Return a call that adds one task, identified by its number."""
    task = {"operation": "add_task", "file": "tasks.md", "slug": "tasks"}
    return {**task, "title": f"Heron {number}.", "idempotency_key": f"key-{number}"}


def find_commits_by_task(repo: Repo) -> dict[int, str]:
    """Return the commit of each task, after a check that each commit added exactly one task."""
    commits: dict[int, str] = {}
    for commit in repo.git("rev-list", "--reverse", "HEAD").split()[1:]:
        added_lines = [
            line for line in repo.git("show", "--format=", commit).splitlines() if line[:2] == "+-"
        ]
        [title] = [line.removeprefix("+- [ ] ") for line in added_lines]
        number = int(title.removeprefix("Heron ").removesuffix("."))
        assert number not in commits
        commits[number] = commit
    return commits


def check_calls_complete(
    repo: Repo, home: Path, responses: list[Message], call_count: int = CALL_COUNT
) -> None:
    """Check that every call is complete or not executed, and that retries return the same answers."""
    inspection.assert_valid(repo)
    commits_by_task = find_commits_by_task(repo)
    assert len((repo.path / "tasks.md").read_text().splitlines()) == len(TASKS_TEXT.splitlines()) + len(
        commits_by_task
    )
    log = repo.git("log", "-g", "--format=%H", "main").split()
    assert log == repo.git("rev-list", "HEAD").split()
    for response in responses:
        if "result" in response:
            assert response["result"]["structuredContent"]["commit"] == commits_by_task[response["id"]]
    new_client = start_long_lock_wait_server(repo.path, home)
    for number in range(call_count):
        retry = new_client.call(number, "edit_document", build_task_call(number))["result"][
            "structuredContent"
        ]
        assert "error" not in retry, retry
        assert retry.get("repeated", False) is (number in commits_by_task)
        assert retry["commit"] == commits_by_task.get(number, retry["commit"])
    search = new_client.call(call_count, "search_docs", {"query": f"heron {call_count - 1}"})["result"][
        "structuredContent"
    ]
    assert search["hits"][0]["chunk_id"] == "tasks.md#tasks"
    assert search["commit"] == repo.head()
    assert search["blobs"]["tasks.md"] == repo.git("rev-parse", "HEAD:tasks.md").strip()
    new_client.close_input()
    assert new_client.receive_all() == []
    assert new_client.wait_for_exit() == (0, "")
    assert sorted(find_commits_by_task(repo)) == list(range(call_count))
    assert repo.git("rev-list", "HEAD").split()[-len(commits_by_task) - 1 :] == log
    inspection.assert_valid(repo)


def is_indexed(repo: Repo, commit: str) -> bool:
    """Return True if the search index is at a commit."""
    [metadata] = (repo.path / ".git" / "docyard").rglob("metadata.json")
    return commit in metadata.read_text()


# Moments of a disconnect


@contextmanager
def disconnect_immediately(repo: Repo, client: RawClient, send: Callable[[], None]) -> Iterator[None]:
    """Send the calls, and disconnect immediately."""
    send()
    yield


@contextmanager
def disconnect_in_publication(repo: Repo, client: RawClient, send: Callable[[], None]) -> Iterator[None]:
    """Disconnect while one call waits for the lock of Git's index, and the others for Docyard's lock."""
    lock = repo.path / ".git" / "index.lock"
    lock.touch(exist_ok=False)
    send()
    wait_until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    yield
    lock.unlink()


@contextmanager
def disconnect_after_commit(repo: Repo, client: RawClient, send: Callable[[], None]) -> Iterator[None]:
    """Disconnect while a call has committed and waits for the lock of the search index."""
    head_before = repo.head()
    assert client.call(1000, "search_docs", {"query": "work"})["result"]["structuredContent"]["hits"]
    [lock] = (repo.path / ".git" / "docyard" / "index").rglob("lock")
    with hold_lock(lock, TIMEOUT_S):
        send()
        wait_until(lambda: repo.head() != head_before, "a commit")
        yield


MOMENTS = (disconnect_immediately, disconnect_in_publication, disconnect_after_commit)


# Ways to disconnect


def close_input(client: RawClient) -> None:
    client.close_input()


def close_output(client: RawClient) -> None:
    client.close_output()


def close_both(client: RawClient) -> None:
    client.close_input()
    client.close_output()


def terminate(client: RawClient) -> None:
    client.process.send_signal(signal.SIGTERM)


def interrupt(client: RawClient) -> None:
    client.process.send_signal(signal.SIGINT)


def close_and_terminate(client: RawClient) -> None:
    """Close the input and send SIGTERM, as hosts do for a slow server."""
    client.close_input()
    client.process.send_signal(signal.SIGTERM)


def cancel_and_close(client: RawClient) -> None:
    for number in range(CALL_COUNT):
        client.notify("notifications/cancelled", requestId=number, reason="not needed")
    client.close_input()


DISCONNECTS = (
    close_input,
    close_output,
    close_both,
    terminate,
    interrupt,
    close_and_terminate,
    cancel_and_close,
)

QUICK_CASES = {
    (close_input, disconnect_in_publication),
    (close_both, disconnect_after_commit),
    (terminate, disconnect_in_publication),
}
DISCONNECT_CASES = [
    pytest.param(
        disconnect,
        moment,
        marks=[] if (disconnect, moment) in QUICK_CASES else [pytest.mark.slow],
        id=f"{disconnect.__name__}-{moment.__name__}",
    )
    for disconnect in DISCONNECTS
    for moment in MOMENTS
]


@pytest.mark.guarantee
@pytest.mark.process
@pytest.mark.parametrize(("disconnect", "moment"), DISCONNECT_CASES)
def test_disconnect_leaves_each_call_complete_or_not_executed(
    repo: Repo, client: RawClient, tmp_path: Path, disconnect: Callable[[RawClient], None], moment: Any
) -> None:
    def send() -> None:
        for number in range(CALL_COUNT):
            client.write(
                encode_call(number, "edit_document", build_task_call(number), progress=number % 2 == 0)
            )

    with moment(repo, client, send):
        disconnect(client)
    can_receive = disconnect not in (close_output, close_both)
    responses = client.receive_all() if can_receive else []
    assert client.wait_for_exit() == (0, "")
    commits_by_task = find_commits_by_task(repo)
    if moment is not disconnect_immediately:
        assert commits_by_task, "a started call finishes"
    if moment is disconnect_after_commit:
        assert is_indexed(repo, repo.head())
    if disconnect is close_input:  # a client that still reads receives every response
        assert sorted(response["id"] for response in responses if "result" in response) == list(
            range(CALL_COUNT)
        )
        assert sorted(commits_by_task) == list(range(CALL_COUNT))
    if disconnect is cancel_and_close:
        # A cancelled request has no response, unless its response was sent before the cancellation.
        assert all("result" in response for response in responses)
    check_calls_complete(repo, tmp_path / "home", responses)


@pytest.mark.parametrize(
    "last_report_index", [0, *(pytest.param(index, marks=pytest.mark.slow) for index in range(1, 5))]
)
@pytest.mark.parametrize("disconnect", [close_input, pytest.param(close_both, marks=pytest.mark.slow)])
def test_disconnect_at_progress_report_leaves_call_complete(
    tmp_path: Path, disconnect: Callable[[RawClient], None], last_report_index: int
) -> None:
    section_format = "## Part {}\n\nAn otter and a badger went by number {}.\n\n"
    sections = "".join(section_format.format(number, number) for number in range(8))
    pages = {f"pages/{number}.md": f"# Page {number}\n\n{sections}" for number in range(200)}
    repo = create_repository(tmp_path / "docs", {"tasks.md": TASKS_TEXT, **pages})
    client = start_long_lock_wait_server(repo.path, tmp_path / "home")
    client.write(encode_call(1000, "search_docs", {"query": "otter"}, progress=True))
    report_index, responses = -1, []
    # A fast machine sends fewer reports; then the client disconnects after the response of the search.
    while report_index < last_report_index and not responses:
        message = client.receive()
        if "id" in message:
            responses.append(message)
        else:
            report_index += 1
    assert report_index >= 0, "there was no report"
    for number in range(CALL_COUNT):
        client.write(encode_call(number, "edit_document", build_task_call(number), progress=True))
    disconnect(client)
    if disconnect is close_input:
        responses += [message for message in client.receive_all() if "id" in message]
        results = {response["id"]: response["result"]["structuredContent"] for response in responses}
        assert results.keys() == {1000, *range(CALL_COUNT)}
        assert results.pop(1000)["hits"]
        responses = [response for response in responses if response["id"] != 1000]
    else:
        responses = []
    assert client.wait_for_exit() == (0, "")
    check_calls_complete(repo, tmp_path / "home", responses)


class KilledClient:
    """A client process that has sent calls to its own server and then sleeps."""

    def __init__(self, repo: Repo, folder: Path, numbers: range) -> None:
        folder.mkdir(exist_ok=True)
        self._log, self._exit_code = folder / "log", folder / "exit"
        lines = folder / "lines"
        calls = [encode_call(number, "edit_document", build_task_call(number)) for number in numbers]
        lines.write_bytes(b"".join([*HANDSHAKE, *calls]))
        files = [str(file) for file in (lines, self._log, self._exit_code)]
        self._process = subprocess.Popen(
            [sys.executable, KILLED_CLIENT, *files, *build_long_lock_wait_command(repo.path)],
            stdout=subprocess.PIPE,
            env=build_user_environment(folder),
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"sent\n"

    def kill(self) -> None:
        """Kill the client, but not its server."""
        self._process.kill()
        self._process.communicate()

    def wait_for_server(self) -> tuple[int, str]:
        """Wait for the server to exit; return its exit code and its standard error."""
        wait_until(self._exit_code.exists, "the exit of the server")
        return int(self._exit_code.read_text()), self._log.read_text()


@pytest.mark.parametrize("is_git_locked", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_killed_client_leaves_calls_complete(repo: Repo, tmp_path: Path, is_git_locked: bool) -> None:
    lock = repo.path / ".git" / "index.lock"
    if is_git_locked:
        lock.touch()
    client = KilledClient(repo, tmp_path / "killed", range(CALL_COUNT))
    if is_git_locked:
        wait_until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    client.kill()
    lock.unlink(missing_ok=True)
    assert client.wait_for_server() == (0, "")
    assert not is_git_locked or find_commits_by_task(repo)
    check_calls_complete(repo, tmp_path / "home", [])


@pytest.mark.slow
def test_killed_client_does_not_affect_other_client(repo: Repo, client: RawClient, tmp_path: Path) -> None:
    first_count = CALL_COUNT // 2
    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    killed_client = KilledClient(repo, tmp_path / "killed", range(first_count))
    wait_until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    for number in range(first_count, CALL_COUNT):
        client.write(encode_call(number, "edit_document", build_task_call(number)))
    killed_client.kill()
    lock.unlink()
    responses = [client.receive() for _ in range(first_count, CALL_COUNT)]
    assert sorted(response["id"] for response in responses) == list(range(first_count, CALL_COUNT))
    assert not any(response["result"]["isError"] for response in responses)
    assert killed_client.wait_for_server() == (0, "")
    client.close_input()
    assert client.receive_all() == []
    assert client.wait_for_exit() == (0, "")
    assert set(find_commits_by_task(repo)) >= set(range(first_count, CALL_COUNT))
    check_calls_complete(repo, tmp_path / "home", responses)


@pytest.mark.slow
def test_next_server_recovers_after_second_signal(repo: Repo, client: RawClient, tmp_path: Path) -> None:
    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    for number in range(CALL_COUNT):
        client.write(encode_call(number, "edit_document", build_task_call(number)))
    wait_until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    client.process.send_signal(signal.SIGTERM)
    wait_until(
        lambda: client.process.poll() is not None or client.process.send_signal(signal.SIGTERM), "the exit"
    )
    lock.unlink()
    client.wait_for_exit()
    new_client = start_long_lock_wait_server(repo.path, tmp_path / "home")
    wait_until(lambda: not inspection.find_leftover_files(repo), "the recovery")
    new_client.close_input()
    assert new_client.wait_for_exit() == (0, "")
    check_calls_complete(repo, tmp_path / "home", [])


@pytest.mark.slow
@pytest.mark.parametrize("disconnect", [close_both, close_input])
def test_disconnect_with_two_hundred_open_calls_leaves_each_complete_or_not_executed(
    repo: Repo, client: RawClient, tmp_path: Path, disconnect: Callable[[RawClient], None]
) -> None:
    call_count = 200
    for number in range(call_count):
        client.write(encode_call(number, "edit_document", build_task_call(number)))
    disconnect(client)
    responses = client.receive_all() if disconnect is close_input else []
    assert client.wait_for_exit() == (0, "")
    assert len(responses) == (call_count if disconnect is close_input else 0)
    check_calls_complete(repo, tmp_path / "home", responses, call_count)


def test_incomplete_line_is_not_executed(repo: Repo, client: RawClient, tmp_path: Path) -> None:
    client.write(encode_call(0, "edit_document", build_task_call(0)))
    client.write(encode_call(1, "edit_document", build_task_call(1))[:-30])
    client.close_input()
    responses = client.receive_all()
    assert client.wait_for_exit() == (0, "")
    assert {response["id"]: response.get("error", {}).get("code") for response in responses} == {
        0: None,
        1: -32700,
    }
    assert find_commits_by_task(repo).keys() == {0}
    check_calls_complete(repo, tmp_path / "home", responses, 2)


@pytest.mark.slow
def test_complete_line_without_line_break_is_executed(repo: Repo, client: RawClient, tmp_path: Path) -> None:
    client.write(encode_call(0, "edit_document", build_task_call(0)).rstrip())
    client.close_input()
    responses = client.receive_all()
    assert client.wait_for_exit() == (0, "")
    assert find_commits_by_task(repo).keys() == {0}
    check_calls_complete(repo, tmp_path / "home", responses, 1)


@pytest.mark.slow
def test_endless_line_is_refused(repo: Repo, client: RawClient, tmp_path: Path) -> None:
    client.write(encode_call(0, "edit_document", build_task_call(0)))
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"')
    client.write(b"x" * 40_000_000)
    client.close_input()
    responses = client.receive_all()
    assert client.wait_for_exit() == (0, "")
    assert {response["id"]: response.get("error", {}).get("code") for response in responses} == {
        0: None,
        1: -32600,
    }
    check_calls_complete(repo, tmp_path / "home", responses, 1)


@pytest.mark.slow
@pytest.mark.parametrize("disconnect", [terminate, close_input])
def test_server_exits_after_disconnect_of_client_that_does_not_read(
    repo: Repo, client: RawClient, tmp_path: Path, disconnect: Callable[[RawClient], None]
) -> None:
    for number in range(
        100, 130
    ):  # more responses than a pipe buffers, but fewer than the limit of open requests
        client.write(encode_call(number, "edit_document", {}))
    client.write(encode_call(0, "edit_document", build_task_call(0)))
    wait_until(lambda: find_commits_by_task(repo), "the commit")
    disconnect(client)
    exit_code, log = client.wait_for_exit()
    assert exit_code == 0
    assert "Traceback" not in log
    check_calls_complete(repo, tmp_path / "home", [], 1)
