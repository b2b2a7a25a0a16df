"""Fixtures shared by the fault tests: the shim, the fork server and the repositories."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.support import repo_template, shim
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.repo_template import RepoTemplate

_SUMMARY_PROPERTY = "faults"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """Yield the fork server with the shim loaded; skip the test if it is unavailable, except in CI."""
    reason = shim.find_unavailable_reason()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(f"in CI the fault tests must run: {reason}")
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("faults")
    fork_server = ForkServer(shim.compile_shim(folder), folder)
    yield fork_server
    fork_server.close()


@pytest.fixture(scope="session")
def memory_folder() -> Iterator[Path]:
    """Yield a folder in memory if possible. Power loss is simulated, so a disk would only be slower."""
    shared_memory = Path("/dev/shm")
    folder = shared_memory if os.access(shared_memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="docyard-faults-", dir=folder) as folder_name:
        yield Path(folder_name).resolve()


@pytest.fixture(scope="session")
def templates_by_kind(server: ForkServer, memory_folder: Path) -> dict[str, RepoTemplate]:
    """Return the templates by kind of repository: `checked-out` and `bare`."""
    return {
        name: repo_template.build_template(memory_folder / name, server, bare=name == "bare")
        for name in ("checked-out", "bare")
    }


@pytest.fixture
def copy_path(memory_folder: Path) -> Iterator[Path]:
    """Yield the path for the copies of a template; each copy replaces the previous copy."""
    with tempfile.TemporaryDirectory(dir=memory_folder) as folder_name:
        yield Path(folder_name) / "repo"


@pytest.fixture
def report_line(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that adds a line to the final summary, also from a worker process."""
    return lambda line: request.node.user_properties.append((_SUMMARY_PROPERTY, line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    lines = [line for report in reports for name, line in report.user_properties if name == _SUMMARY_PROPERTY]
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.line(line)
