"""Disconnects of a client, of every kind and at every moment: each call is complete or not executed.

A started call finishes with all work after its commit. The server then exits without an error, and a retry
with the same key returns the first answer.
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
from tests.acceptance.clients import slow_lock_command, start_slow_lock_server, until
from tests.acceptance.server import user_environment
from tests.repositories import Repo, normal
from tests.soak import inspection
from tests.stdio_client import HANDSHAKE, TIMEOUT_S, Message, RawClient, call_line

pytestmark = pytest.mark.skipif(os.name != "posix", reason="servers and clients are sent signals of POSIX")

TASKS = "# Work\n\n## Tasks\n\n- [ ] Begin\n"
CALLS = 12  # more than the number of workers
KILLED_CLIENT = str(Path(__file__).with_name("killed_client.py"))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", {"tasks.md": TASKS})


@pytest.fixture
def wire(repo: Repo, tmp_path: Path) -> Iterator[RawClient]:
    wire = start_slow_lock_server(repo.path, tmp_path / "home")
    yield wire
    if wire.process.poll() is None:
        wire.process.kill()
        wire.process.wait()


def add_task_call(number: int) -> dict[str, Any]:
    """Return a call that adds one task, which its number identifies."""
    place = {"operation": "add_task", "file": "tasks.md", "slug": "tasks"}
    return {**place, "title": f"Heron {number}.", "idempotency_key": f"key-{number}"}


def commits_by_task(repo: Repo) -> dict[int, str]:
    """Return the commit of each task, after a check that each commit added exactly one."""
    found: dict[int, str] = {}
    for commit in repo.git("rev-list", "--reverse", "HEAD").split()[1:]:
        added = [line for line in repo.git("show", "--format=", commit).splitlines() if line[:2] == "+-"]
        [title] = [line.removeprefix("+- [ ] ") for line in added]
        number = int(title.removeprefix("Heron ").removesuffix("."))
        assert number not in found
        found[number] = commit
    return found


def assert_whole(repo: Repo, home: Path, answers: list[Message], calls: int = CALLS) -> None:
    """Check that every call is complete or not executed, and that retries return the same answers."""
    inspection.assert_sound(repo)
    done = commits_by_task(repo)
    assert len((repo.path / "tasks.md").read_text().splitlines()) == len(TASKS.splitlines()) + len(done)
    log = repo.git("log", "-g", "--format=%H", "main").split()
    assert log == repo.git("rev-list", "HEAD").split()
    for answer in answers:
        if "result" in answer:
            assert answer["result"]["structuredContent"]["commit"] == done[answer["id"]]
    again = start_slow_lock_server(repo.path, home)
    for number in range(calls):
        answer_again = again.call(number, "edit_document", add_task_call(number))["result"][
            "structuredContent"
        ]
        assert "error" not in answer_again, answer_again
        assert answer_again.get("repeated", False) is (number in done)
        assert answer_again["commit"] == done.get(number, answer_again["commit"])
    found = again.call(calls, "search_docs", {"query": f"heron {calls - 1}"})["result"]["structuredContent"]
    assert found["hits"][0]["chunk_id"] == "tasks.md#tasks"
    assert found["commit"] == found["hits"][0]["source_commit"] == repo.head()
    again.close_input()
    assert again.receive_all() == []
    assert again.wait_for_exit() == (0, "")
    assert sorted(commits_by_task(repo)) == list(range(calls))
    assert repo.git("rev-list", "HEAD").split()[-len(done) - 1 :] == log
    inspection.assert_sound(repo)


def is_indexed(repo: Repo, commit: str) -> bool:
    """Return True if the search index is at a commit."""
    [metadata] = (repo.path / ".git" / "docyard").rglob("metadata.json")
    return commit in metadata.read_text()


# Moments


@contextmanager
def wait_for_nothing(repo: Repo, wire: RawClient, send: Callable[[], None]) -> Iterator[None]:
    """Send the calls."""
    send()
    yield


@contextmanager
def wait_in_publication(repo: Repo, wire: RawClient, send: Callable[[], None]) -> Iterator[None]:
    """Wait until one call waits for Git's index lock, and the others for Docyard's lock."""
    lock = repo.path / ".git" / "index.lock"
    lock.touch(exist_ok=False)
    send()
    until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    yield
    lock.unlink()


@contextmanager
def wait_after_commit(repo: Repo, wire: RawClient, send: Callable[[], None]) -> Iterator[None]:
    """Wait until a call has committed and waits for the index lock."""
    before = repo.head()
    assert wire.call(1000, "search_docs", {"query": "work"})["result"]["structuredContent"]["hits"]
    [lock] = (repo.path / ".git" / "docyard" / "index").rglob("lock")
    with hold_lock(lock, TIMEOUT_S):
        send()
        until(lambda: repo.head() != before, "a commit")
        yield


MOMENTS = (wait_for_nothing, wait_in_publication, wait_after_commit)


# Kinds of disconnects


def close_input(wire: RawClient) -> None:
    wire.close_input()


def close_output(wire: RawClient) -> None:
    wire.close_output()


def close_both(wire: RawClient) -> None:
    wire.close_input()
    wire.close_output()


def terminate(wire: RawClient) -> None:
    wire.process.send_signal(signal.SIGTERM)


def interrupt(wire: RawClient) -> None:
    wire.process.send_signal(signal.SIGINT)


def close_and_terminate(wire: RawClient) -> None:
    """Disconnect as hosts do from a slow server."""
    wire.close_input()
    wire.process.send_signal(signal.SIGTERM)


def cancel_and_close(wire: RawClient) -> None:
    for number in range(CALLS):
        wire.notify("notifications/cancelled", requestId=number, reason="changed my mind")
    wire.close_input()


HANG_UPS = (
    close_input,
    close_output,
    close_both,
    terminate,
    interrupt,
    close_and_terminate,
    cancel_and_close,
)

QUICK = {
    (close_input, wait_in_publication),
    (close_both, wait_after_commit),
    (terminate, wait_in_publication),
}
CASES = [
    pytest.param(
        hang_up,
        moment,
        marks=[] if (hang_up, moment) in QUICK else [pytest.mark.slow],
        id=f"{hang_up.__name__}-{moment.__name__}",
    )
    for hang_up in HANG_UPS
    for moment in MOMENTS
]


@pytest.mark.promise
@pytest.mark.process
@pytest.mark.parametrize(("hang_up", "moment"), CASES)
def test_disconnect_leaves_each_call_complete_or_undone(
    repo: Repo, wire: RawClient, tmp_path: Path, hang_up: Callable[[RawClient], None], moment: Any
) -> None:
    def send() -> None:
        for number in range(CALLS):
            wire.write(call_line(number, "edit_document", add_task_call(number), progress=number % 2 == 0))

    with moment(repo, wire, send):
        hang_up(wire)
    listens = hang_up not in (close_output, close_both)
    answers = wire.receive_all() if listens else []
    assert wire.wait_for_exit() == (0, "")
    done = commits_by_task(repo)
    if moment is not wait_for_nothing:
        assert done, "a started call finishes"
    if moment is wait_after_commit:
        assert is_indexed(repo, repo.head())
    if hang_up is close_input:  # a client that still reads gets every answer
        assert sorted(answer["id"] for answer in answers if "result" in answer) == list(range(CALLS))
        assert sorted(done) == list(range(CALLS))
    if hang_up is cancel_and_close:
        # A cancelled request has no answer, unless it was answered before.
        assert all("result" in answer for answer in answers)
    assert_whole(repo, tmp_path / "home", answers)


@pytest.mark.parametrize(
    "place", [0, *(pytest.param(place, marks=pytest.mark.slow) for place in range(1, 5))]
)
@pytest.mark.parametrize("hang_up", [close_input, pytest.param(close_both, marks=pytest.mark.slow)])
def test_disconnect_at_progress_report_leaves_call_complete(
    tmp_path: Path, hang_up: Callable[[RawClient], None], place: int
) -> None:
    part = "## Part {}\n\nAn otter and a badger went by number {}.\n\n"
    page = "".join(part.format(number, number) for number in range(8))
    pages = {f"pages/{number}.md": f"# Page {number}\n\n{page}" for number in range(200)}
    repo = normal(tmp_path / "docs", {"tasks.md": TASKS, **pages})
    wire = start_slow_lock_server(repo.path, tmp_path / "home")
    wire.write(call_line(1000, "search_docs", {"query": "otter"}, progress=True))
    reports, answers = -1, []
    # A fast machine reports less often; then the answer of the search is the last moment.
    while reports < place and not answers:
        message = wire.receive()
        if "id" in message:
            answers.append(message)
        else:
            reports += 1
    assert reports >= 0, "there was no report"
    for number in range(CALLS):
        wire.write(call_line(number, "edit_document", add_task_call(number), progress=True))
    hang_up(wire)
    if hang_up is close_input:
        answers += [message for message in wire.receive_all() if "id" in message]
        found = {answer["id"]: answer["result"]["structuredContent"] for answer in answers}
        assert found.keys() == {1000, *range(CALLS)}
        assert found.pop(1000)["hits"]
        answers = [answer for answer in answers if answer["id"] != 1000]
    else:
        answers = []
    assert wire.wait_for_exit() == (0, "")
    assert_whole(repo, tmp_path / "home", answers)


class KilledClient:
    """A client process that has sent calls to its own server, and waits to be killed."""

    def __init__(self, repo: Repo, folder: Path, numbers: range) -> None:
        folder.mkdir(exist_ok=True)
        self._log, self._exit_code = folder / "log", folder / "exit"
        lines = folder / "lines"
        calls = [call_line(number, "edit_document", add_task_call(number)) for number in numbers]
        lines.write_bytes(b"".join([*HANDSHAKE, *calls]))
        files = [str(file) for file in (lines, self._log, self._exit_code)]
        self._process = subprocess.Popen(
            [sys.executable, KILLED_CLIENT, *files, *slow_lock_command(repo.path)],
            stdout=subprocess.PIPE,
            env=user_environment(folder),
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"sent\n"

    def kill(self) -> None:
        """Kill the client, not its server."""
        self._process.kill()
        self._process.communicate()

    def server_ended(self) -> tuple[int, str]:
        """Wait for the end of the server; return its exit code and its standard error."""
        until(self._exit_code.exists, "the end of the server")
        return int(self._exit_code.read_text()), self._log.read_text()


@pytest.mark.parametrize("is_prepared", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_killed_client_leaves_calls_complete(repo: Repo, tmp_path: Path, is_prepared: bool) -> None:
    lock = repo.path / ".git" / "index.lock"
    if is_prepared:
        lock.touch()
    client = KilledClient(repo, tmp_path / "killed", range(CALLS))
    if is_prepared:
        until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    client.kill()
    lock.unlink(missing_ok=True)
    assert client.server_ended() == (0, "")
    assert not is_prepared or commits_by_task(repo)
    assert_whole(repo, tmp_path / "home", [])


@pytest.mark.slow
def test_killed_client_does_not_affect_other_client(repo: Repo, wire: RawClient, tmp_path: Path) -> None:
    half = CALLS // 2
    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    client = KilledClient(repo, tmp_path / "killed", range(half))
    until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    for number in range(half, CALLS):
        wire.write(call_line(number, "edit_document", add_task_call(number)))
    client.kill()
    lock.unlink()
    answers = [wire.receive() for _ in range(half, CALLS)]
    assert sorted(answer["id"] for answer in answers) == list(range(half, CALLS))
    assert not any(answer["result"]["isError"] for answer in answers)
    assert client.server_ended() == (0, "")
    wire.close_input()
    assert wire.receive_all() == []
    assert wire.wait_for_exit() == (0, "")
    assert set(commits_by_task(repo)) >= set(range(half, CALLS))
    assert_whole(repo, tmp_path / "home", answers)


@pytest.mark.slow
def test_next_server_recovers_after_second_signal(repo: Repo, wire: RawClient, tmp_path: Path) -> None:
    lock = repo.path / ".git" / "index.lock"
    lock.touch()
    for number in range(CALLS):
        wire.write(call_line(number, "edit_document", add_task_call(number)))
    until(lambda: list((repo.path / ".git" / "docyard" / "pending").glob("*/*")), "a publication")
    wire.process.send_signal(signal.SIGTERM)
    until(lambda: wire.process.poll() is not None or wire.process.send_signal(signal.SIGTERM), "the end")
    lock.unlink()
    wire.wait_for_exit()
    again = start_slow_lock_server(repo.path, tmp_path / "home")
    until(lambda: not inspection.find_leftover_files(repo), "the recovery")
    again.close_input()
    assert again.wait_for_exit() == (0, "")
    assert_whole(repo, tmp_path / "home", [])


@pytest.mark.slow
@pytest.mark.parametrize("hang_up", [close_both, close_input])
def test_disconnect_with_two_hundred_open_calls(
    repo: Repo, wire: RawClient, tmp_path: Path, hang_up: Callable[[RawClient], None]
) -> None:
    calls = 200
    for number in range(calls):
        wire.write(call_line(number, "edit_document", add_task_call(number)))
    hang_up(wire)
    answers = wire.receive_all() if hang_up is close_input else []
    assert wire.wait_for_exit() == (0, "")
    assert len(answers) == (calls if hang_up is close_input else 0)
    assert_whole(repo, tmp_path / "home", answers, calls)


def test_incomplete_line_is_not_executed(repo: Repo, wire: RawClient, tmp_path: Path) -> None:
    wire.write(call_line(0, "edit_document", add_task_call(0)))
    wire.write(call_line(1, "edit_document", add_task_call(1))[:-30])
    wire.close_input()
    answers = wire.receive_all()
    assert wire.wait_for_exit() == (0, "")
    assert {answer["id"]: answer.get("error", {}).get("code") for answer in answers} == {0: None, 1: -32700}
    assert commits_by_task(repo).keys() == {0}
    assert_whole(repo, tmp_path / "home", answers, 2)


@pytest.mark.slow
def test_complete_line_without_line_break_is_executed(repo: Repo, wire: RawClient, tmp_path: Path) -> None:
    wire.write(call_line(0, "edit_document", add_task_call(0)).rstrip())
    wire.close_input()
    answers = wire.receive_all()
    assert wire.wait_for_exit() == (0, "")
    assert commits_by_task(repo).keys() == {0}
    assert_whole(repo, tmp_path / "home", answers, 1)


@pytest.mark.slow
def test_endless_line_is_refused(repo: Repo, wire: RawClient, tmp_path: Path) -> None:
    wire.write(call_line(0, "edit_document", add_task_call(0)))
    wire.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"')
    wire.write(b"x" * 40_000_000)
    wire.close_input()
    answers = wire.receive_all()
    assert wire.wait_for_exit() == (0, "")
    assert {answer["id"]: answer.get("error", {}).get("code") for answer in answers} == {0: None, 1: -32600}
    assert_whole(repo, tmp_path / "home", answers, 1)


@pytest.mark.slow
@pytest.mark.parametrize("hang_up", [terminate, close_input])
def test_client_that_stops_reading_is_disconnected(
    repo: Repo, wire: RawClient, tmp_path: Path, hang_up: Callable[[RawClient], None]
) -> None:
    for number in range(100, 130):  # more answers than a pipe holds, fewer requests than may be unanswered
        wire.write(call_line(number, "edit_document", {}))
    wire.write(call_line(0, "edit_document", add_task_call(0)))
    until(lambda: commits_by_task(repo), "the commit")
    hang_up(wire)
    code, log = wire.wait_for_exit()
    assert code == 0
    assert "Traceback" not in log
    assert_whole(repo, tmp_path / "home", [], 1)
