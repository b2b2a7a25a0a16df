"""A server killed with -9 in a burst of calls: what it acknowledged is there when it is back."""

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

from tests.acceptance.server import surroundings
from tests.repositories import Repo, normal
from tests.soak import inspection
from tests.soak.ledger import MARK
from tests.soak.writer import shared_documents
from tests.stdio_client import connect

SEED = 20_240_301
BURST = 24
PAGES = shared_documents()
# A server that has not mended a crash so many seconds after its start does not mend it.
MENDED_WITHIN = 30.0
LIMIT = 120.0

KILLS = [
    pytest.param(1, id="1"),
    pytest.param(10, id="10", marks=[pytest.mark.slow]),
    pytest.param(50, id="50", marks=pytest.mark.soak),
]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a burst, with the mark that its text holds and the key by which it can be repeated."""

    mark: str
    tool: str
    arguments: dict[str, Any]


class Story:
    """What was asked of all the servers so far, and what they answered."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)
        self.commits: dict[str, str] = {}
        self.unanswered: list[Call] = []
        self._count = 0

    def burst(self) -> list[Call]:
        """The next calls."""
        return [self._call() for _ in range(BURST)]

    def _call(self) -> Call:
        self._count += 1
        mark = f"w0n{self._count}"
        path = self.random.choice([*PAGES])
        way = self.random.randrange(4)
        if way == 0:
            given = {"doc_type": "document", "title": f"Page {mark}", "initial_content": f"Text «{mark}»."}
            tool, given = "create_document", {**given, "folder": "pages"}
        elif way == 1:
            given = {
                "operation": "append_content",
                "file": path,
                "slug": "log",
                "content": f"Entry «{mark}».",
            }
            tool = "edit_document"
        elif way == 2:
            tool = "edit_document"
            given = {
                "operation": "add_section",
                "file": path,
                "title": f"Part {mark}",
                "parent_slug": "parts",
                "content": f"Text «{mark}».",
            }
        else:
            given = {"operation": "add_task", "file": path, "slug": "tasks", "title": f"Do «{mark}»"}
            tool = "edit_document"
        return Call(mark, tool, {**given, "idempotency_key": mark})


@pytest.mark.promise
@pytest.mark.process
@pytest.mark.parametrize("kills", KILLS)
def test_what_was_acknowledged_is_there_when_the_server_is_back(
    tmp_path: Path, kills: int, report: Callable[[str], None]
) -> None:
    repo = normal(tmp_path / "repo", {"README.md": "# Example\n", **PAGES})
    story = Story()
    in_doubt: list[int] = []
    done: list[int] = []
    for number in range(kills + 1):
        anyio.run(_serve_once, repo, tmp_path, story, number < kills, in_doubt)
        marks = Counter(mark for text in inspection.texts(repo).values() for mark in MARK.findall(text))
        assert [mark for mark in story.commits if marks[mark] != 1] == []
        assert [call.mark for call in story.unanswered if marks[call.mark] > 1] == []
        assert marks.keys() <= story.commits.keys() | {call.mark for call in story.unanswered}
        history = inspection.commits(repo)
        assert set(story.commits.values()) <= history.keys()
        done.append(sum(marks[call.mark] for call in story.unanswered))
    inspection.assert_sound(repo)
    assert not story.unanswered
    assert len(set(story.commits.values())) == len(story.commits)
    ours = {commit for commit, (tool, _) in history.items() if tool}
    assert ours == set(story.commits.values())
    report(
        f"seed {SEED}: {kills} kills in bursts of {BURST} calls, {len(story.commits)} calls acknowledged in "
        f"the end; {sum(in_doubt)} were repeated after a kill, of which {sum(done)} had been committed"
    )


async def _serve_once(repo: Repo, folder: Path, story: Story, is_killed: bool, in_doubt: list[int]) -> None:
    """One life of a server: it mends what the one before left, repeats what was in doubt, and dies."""
    pid_file = folder / "pid"
    with anyio.fail_after(LIMIT):
        async with _serving(repo, folder / "home", pid_file) as client:
            await client.list_tools()
            await _until_mended(repo)
            again, story.unanswered = story.unanswered, []
            in_doubt.append(len(again))
            for call in again:
                await _ask(client, call, story)
            assert not story.unanswered
            calls = story.burst()
            if is_killed:
                await _burst_and_kill(client, calls, story, int(pid_file.read_text()))
            else:
                for call in calls:
                    await _ask(client, call, story)


@asynccontextmanager
async def _serving(repo: Repo, home: Path, pid_file: Path) -> AsyncIterator[Client]:
    """A server whose process id is in `pid_file`, with the SDK's own client."""
    server = [sys.executable, "-m", "docyard", "serve", "-C", str(repo.path), "--no-fsync"]
    command = ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *server]
    with open(os.devnull, "w") as log:
        async with connect(command, name="soak", variables=surroundings(home), log=log) as client:
            yield client


async def _until_mended(repo: Repo) -> None:
    """Wait until what the crash left is gone, with no call but the list of tools."""
    until = time.monotonic() + MENDED_WITHIN
    while inspection.left_behind(repo) or repo.status():
        assert time.monotonic() < until, (inspection.left_behind(repo), repo.status())
        await anyio.sleep(0.05)
    assert repo.fsck() == ""


async def _ask(client: Client, call: Call, story: Story) -> bool:
    """Make one call; whether it was answered. Only a broken connection leaves it without an answer."""
    try:
        result = await client.call_tool(call.tool, call.arguments)
    except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        story.unanswered.append(call)
        return False
    assert isinstance(result.structured_content, dict)
    assert not result.is_error, result.structured_content
    story.commits[call.mark] = result.structured_content["commit"]
    return True


async def _burst_and_kill(client: Client, calls: Sequence[Call], story: Story, pid: int) -> None:
    """Make all calls at once; when some were answered, kill the server in the middle of the next."""
    enough = story.random.randrange(len(calls) // 2)
    moment = story.random.uniform(0.0, 0.004)
    answered = 0

    async def ask(call: Call) -> None:
        nonlocal answered
        if not await _ask(client, call, story):
            return
        answered += 1
        if answered == enough:
            kill.set()

    kill = anyio.Event()
    if enough == 0:
        kill.set()
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(ask, call)
        await kill.wait()
        await anyio.sleep(moment)
        os.kill(pid, signal.SIGKILL)
    assert story.unanswered, "the server was killed too late: all was answered"
