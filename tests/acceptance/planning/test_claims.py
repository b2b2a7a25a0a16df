"""Sixteen agents of four servers do 200 tasks: each once, in an order that the dependencies allow."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serve_repository
from tests.repositories import Repo, create_bare_repository, create_repository
from tests.stdio_client import RawClient, build_serve_command
from workspace.edits.text import ReplaceText
from workspace.task_graph import TaskGraphs
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

TASK_COUNT = 200
DOCUMENT_COUNT = 10
DISTANCE = 20
"""Task n depends on the task n - DISTANCE."""

KILLED_COUNT = 2
TOOLSETS = ("--toolsets", "planning,tasks")

pytestmark = [pytest.mark.process, pytest.mark.slow]


def make_documents() -> dict[str, str]:
    texts = {f"plans/{number}.md": "# Plan\n\n## Tasks {#tasks}\n\n" for number in range(DOCUMENT_COUNT)}
    for number in range(TASK_COUNT):
        path = f"plans/{number % DOCUMENT_COUNT}.md"
        texts[path] += f"- [ ] Task {number} {{#t{number}}}\n"
        if number >= DISTANCE:
            earlier = number - DISTANCE
            texts[path] += f"  - Depends on: plans/{earlier % DOCUMENT_COUNT}.md#t{earlier}\n"
    return texts


class Agents:
    """Agents that do tasks until none is ready. `done` has the ids of the tasks, in order."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.done: list[str] = []
        self.failures: list[object] = []
        self._servers = servers
        self._lock = threading.Lock()

    def run(self) -> None:
        """Do tasks until none is ready, and none is being done."""
        threads = [
            threading.Thread(target=self._work, args=(server, f"agent-{number}"))
            for number, server in enumerate(self._servers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, server: Server, name: str) -> None:
        while not self.failures:
            tasks = server.call("list_tasks", limit=200).data["tasks"]
            ready_tasks = [task for task in tasks if task["state"] == "ready"]
            own_claims = [task for task in tasks if task.get("claimed_by", "").startswith("agent-")]
            if not ready_tasks and not own_claims:
                return
            next((task for task in ready_tasks if self._do(server, name, task)), None)

    def _do(self, server: Server, name: str, task: dict[str, str]) -> bool:
        """Claim and complete a task; return False if another agent was faster."""
        target = {"file": task["file"], "slug": task["id"]}
        claim = server.call("claim_task", **target, name=name).data
        if "secret" not in claim:
            if claim.get("code") not in ("TASK_CLAIMED", "TASK_NOT_READY"):
                self.failures.append(claim)
            return False
        with self._lock:
            # Before the task is done: a task that depends on it can only be claimed afterwards.
            self.done.append(task["id"])
        answer = server.call("complete_task", **target).data
        if answer.get("completed") is not True or "already_completed" in answer:
            self.failures.append(answer)
        return True


def claim_and_die(repo: Repo, number: int) -> None:
    client = RawClient(build_serve_command(repo.path, *TOOLSETS))
    arguments = {"file": f"plans/{number}.md", "slug": f"t{number}", "name": f"killed-{number}"}
    assert "secret" in client.call(2, "claim_task", arguments)["result"]["structuredContent"]
    client.process.kill()
    client.wait_for_exit()


def expire_claims(repo: Repo) -> None:
    """Change the times of all claims to one in the past, as a person could do in an editor."""
    workspace = Workspace.open(repo.path, durable=False)
    for path in workspace.snapshot().documents:
        text = workspace.snapshot().read(path).decode()
        for time in set(re.findall(r"Claimed by: killed-\d until (\S+)", text)):
            workspace.write(
                [ReplaceText(file=path, old=time, new="2020-01-01T00:00Z")],
                mode=BatchMode.ALL,
                tool="test",
                client="person",
                base_commit=workspace.tip(),
            )


@pytest.mark.parametrize("create", [create_repository, create_bare_repository])
def test_each_task_is_done_once_although_two_agents_are_killed(
    tmp_path: Path, home: Path, create: Callable[..., Repo]
) -> None:
    repo = create(tmp_path / "docs", make_documents())
    for number in range(KILLED_COUNT):
        claim_and_die(repo, number)
    with ExitStack() as stack:
        servers = [stack.enter_context(serve_repository(repo.path, home, *TOOLSETS)) for _ in range(2)]
        agents = Agents([servers[number % 2] for number in range(16 - KILLED_COUNT)])
        agents.run()
        assert agents.failures == []
        waiting_count = KILLED_COUNT * TASK_COUNT // DISTANCE
        assert len(agents.done) == TASK_COUNT - waiting_count
        expire_claims(repo)
        agents.run()
    assert agents.failures == []
    assert sorted(agents.done) == sorted(f"t{number}" for number in range(TASK_COUNT))
    for number in range(DISTANCE, TASK_COUNT):
        assert agents.done.index(f"t{number - DISTANCE}") < agents.done.index(f"t{number}")
    graph = TaskGraphs().get(Workspace.open(repo.path).snapshot())
    assert all(task.is_done for task in graph.tasks)
    assert len(graph.tasks) == TASK_COUNT
