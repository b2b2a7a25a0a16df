"""A server is killed during a burst of calls: acknowledged writes are present after a restart."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from tests.acceptance.server import build_user_environment
from tests.repositories import Repo, create_repository
from tests.soak import inspection
from tests.soak.ledger import MARK
from tests.soak.writer import make_shared_documents
from tests.stdio_client import connect

SEED = 20_240_301
BURST_SIZE = 24
DOCUMENTS = make_shared_documents()
RECOVERY_TIMEOUT_S = 30.0
SESSION_TIMEOUT_S = 120.0

KILL_COUNTS = [
    pytest.param(1, id="1"),
    pytest.param(10, id="10", marks=[pytest.mark.slow]),
    pytest.param(50, id="50", marks=pytest.mark.soak),
]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a burst, with the mark in its text; the mark is also its idempotency key."""

    mark: str
    tool: str
    arguments: dict[str, Any]


class CallLog:
    """The calls to all servers so far, and their responses."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)
        self.commits_by_mark: dict[str, str] = {}
        self.unanswered_calls: list[Call] = []
        self._count = 0

    def make_burst(self) -> list[Call]:
        """Return the next `BURST_SIZE` calls."""
        return [self._make_next_call() for _ in range(BURST_SIZE)]

    def _make_next_call(self) -> Call:
        self._count += 1
        mark = f"w0n{self._count}"
        path = self.random.choice([*DOCUMENTS])
        choice = self.random.randrange(4)
        if choice == 0:
            arguments = {
                "doc_type": "document",
                "title": f"Page {mark}",
                "initial_content": f"Text «{mark}».",
            }
            tool, arguments = "create_document", {**arguments, "folder": "pages"}
        elif choice == 1:
            arguments = {
                "operation": "append_content",
                "file": path,
                "slug": "log",
                "content": f"Entry «{mark}».",
            }
            tool = "edit_document"
        elif choice == 2:
            tool = "edit_document"
            arguments = {
                "operation": "add_section",
                "file": path,
                "title": f"Part {mark}",
                "parent_slug": "parts",
                "content": f"Text «{mark}».",
            }
        else:
            arguments = {"operation": "add_task", "file": path, "slug": "tasks", "title": f"Do «{mark}»"}
            tool = "edit_document"
        return Call(mark, tool, {**arguments, "idempotency_key": mark})


@pytest.mark.guarantee
@pytest.mark.process
@pytest.mark.parametrize("kill_count", KILL_COUNTS)
def test_acknowledged_writes_survive_a_killed_server(
    tmp_path: Path, kill_count: int, report_line: Callable[[str], None]
) -> None:
    repo = create_repository(tmp_path / "repo", {"README.md": "# Example\n", **DOCUMENTS})
    log = CallLog()
    retry_counts: list[int] = []
    committed_counts: list[int] = []
    for number in range(kill_count + 1):
        anyio.run(_serve_once, repo, tmp_path, log, number < kill_count, retry_counts)
        marks = Counter(
            mark for text in inspection.read_markdown_files(repo).values() for mark in MARK.findall(text)
        )
        assert [mark for mark in log.commits_by_mark if marks[mark] != 1] == []
        assert [call.mark for call in log.unanswered_calls if marks[call.mark] > 1] == []
        assert marks.keys() <= log.commits_by_mark.keys() | {call.mark for call in log.unanswered_calls}
        history = inspection.read_commits(repo)
        assert set(log.commits_by_mark.values()) <= history.keys()
        committed_counts.append(sum(marks[call.mark] for call in log.unanswered_calls))
    inspection.assert_valid(repo)
    assert not log.unanswered_calls
    assert len(set(log.commits_by_mark.values())) == len(log.commits_by_mark)
    docyard_commits = {commit for commit, (tool, _) in history.items() if tool}
    assert docyard_commits == set(log.commits_by_mark.values())
    report_line(
        f"seed {SEED}: {kill_count} kills in bursts of {BURST_SIZE} calls, "
        f"{len(log.commits_by_mark)} calls acknowledged in total; {sum(retry_counts)} repeated after a kill, "
        f"{sum(committed_counts)} of them already committed"
    )


async def _serve_once(
    repo: Repo, folder: Path, log: CallLog, is_killed: bool, retry_counts: list[int]
) -> None:
    """Run a server: wait for recovery, retry the unanswered calls, and make a burst of calls.

    If `is_killed`, kill the server during the burst.
    """
    pid_file = folder / "pid"
    with anyio.fail_after(SESSION_TIMEOUT_S):
        async with _connect_client(repo, folder / "home", pid_file) as client:
            await client.list_tools()
            await _wait_for_recovery(repo)
            retries, log.unanswered_calls = log.unanswered_calls, []
            retry_counts.append(len(retries))
            for call in retries:
                await _make_call(client, call, log)
            assert not log.unanswered_calls
            calls = log.make_burst()
            if is_killed:
                await _burst_and_kill(client, calls, log, int(pid_file.read_text()))
            else:
                for call in calls:
                    await _make_call(client, call, log)


@asynccontextmanager
async def _connect_client(repo: Repo, home: Path, pid_file: Path) -> AsyncIterator[Client]:
    """Yield the SDK's own client of a server whose process id is in `pid_file`."""
    server = [sys.executable, "-m", "docyard", "serve", "-C", str(repo.path), "--no-fsync"]
    command = ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *server]
    with open(os.devnull, "w") as log:
        async with connect(command, name="soak", variables=build_user_environment(home), log=log) as client:
            yield client


async def _wait_for_recovery(repo: Repo) -> None:
    """Wait until the server has removed the files of the crash; only the list of tools was called before."""
    deadline = time.monotonic() + RECOVERY_TIMEOUT_S
    while inspection.find_leftover_files(repo) or repo.status():
        assert time.monotonic() < deadline, (inspection.find_leftover_files(repo), repo.status())
        await anyio.sleep(0.05)
    assert repo.fsck() == ""


async def _make_call(client: Client, call: Call, log: CallLog) -> bool:
    """Make a call; return False if the connection broke before the response."""
    try:
        result = await client.call_tool(call.tool, call.arguments)
    except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        log.unanswered_calls.append(call)
        return False
    assert isinstance(result.structured_content, dict)
    assert not result.is_error, result.structured_content
    log.commits_by_mark[call.mark] = result.structured_content["commit"]
    return True


async def _burst_and_kill(client: Client, calls: Sequence[Call], log: CallLog, pid: int) -> None:
    """Make all calls concurrently, and kill the server shortly after a random number of responses."""
    kill_after = log.random.randrange(len(calls) // 2)
    delay_s = log.random.uniform(0.0, 0.004)
    answer_count = 0

    async def call_server(call: Call) -> None:
        nonlocal answer_count
        if not await _make_call(client, call, log):
            return
        answer_count += 1
        if answer_count == kill_after:
            kill_event.set()

    kill_event = anyio.Event()
    if kill_after == 0:
        kill_event.set()
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(call_server, call)
        await kill_event.wait()
        await anyio.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
    assert log.unanswered_calls, "the server was killed too late: all calls have a response"
