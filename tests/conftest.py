"""Hypothesis profiles, the cost marks of tests by folder, and a check that quick tests start no process."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, settings

# On a busy machine, an example or its generation would exceed the time limits of Hypothesis.
_WITHOUT_DEADLINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _WITHOUT_DEADLINE, max_examples=10, derandomize=True)
# `make slow` selects this profile.
settings.register_profile("slow", _WITHOUT_DEADLINE, max_examples=200)
settings.load_profile("quick")

_COST_MARKS = ("process", "fault", "gate", "property", "growth", "slow")
_SEPARATE_SUITES = ("soak", "inspector", "conformance", "identity", "browser")
_MARKS_BY_FOLDER = {
    "tests/acceptance": "process",
    "tests/browser": "browser",
    "tests/compatibility": "process",
    "tests/faults": "fault",
    "tests/soak": "process",
    "tests/workspace/git/remotes": "process",
    "tests/workspace/sync": "process",
}
_ROOT = Path(__file__).parents[1]

_started_processes: list[str] = []


def _record_process(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        command = arguments[1]
        words = command if isinstance(command, (list, tuple)) else [command]
        program = os.fsdecode(words[0]) if words else ""  # type: ignore[arg-type]
        # git prepares the tests, and a call takes only 3 ms.
        if os.path.basename(program) != "git":
            _started_processes.append(program)
    elif event in ("os.fork", "os.forkpty", "os.posix_spawn"):
        _started_processes.append(event)


sys.addaudithook(_record_process)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Add the mark of its folder to each test that would otherwise be a quick test."""
    for item in items:
        path = item.path.relative_to(_ROOT).as_posix()
        for folder, mark in _MARKS_BY_FOLDER.items():
            if path.startswith(f"{folder}/") and _is_quick(item):
                item.add_marker(mark)


def _is_quick(item: pytest.Item) -> bool:
    """Return True if a test has neither a cost mark nor the mark of a separate suite."""
    return not any(item.get_closest_marker(mark) for mark in (*_COST_MARKS, *_SEPARATE_SUITES))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run a quick test without fsync, and record the processes that it starts. Other tests run unchanged.

    The handlers of logs are restored: those of a command that a test has run write to a stream of that test.
    """
    _started_processes.clear()
    handlers = list(logging.getLogger().handlers)
    try:
        return (yield from _run_test(item))
    finally:
        logging.getLogger().handlers[:] = handlers


def _run_test(item: pytest.Item) -> Iterator[None]:
    if not _is_quick(item):
        return (yield)

    def record_and_start(process: BaseProcess) -> None:
        _started_processes.append(process.name)
        original_start(process)

    original_start = BaseProcess.start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseProcess, "start", record_and_start)  # spawned processes are not audited
        patch.setattr(os, "fsync", lambda handle: None)
        patch.setattr(type(pygit2.settings), "enable_fsync_gitdir", lambda self, enabled: None)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a quick test that started a process."""
    yield
    if _started_processes and _is_quick(item):
        pytest.fail(f"a quick test started {_started_processes[0]}: mark it with pytest.mark.process")
