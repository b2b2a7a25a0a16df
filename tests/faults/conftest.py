"""The shim, the fork server and the repositories that the tests of faults share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.support import scene, shim
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.scene import Scene

_TOLD = "faults"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """The fork server with the shim loaded. Where there can be none the test is skipped, but never in CI."""
    reason = shim.why_not()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(f"in CI the faults must be tried: {reason}")
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("faults")
    started = ForkServer(shim.compile_shim(folder), folder)
    yield started
    started.close()


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """A folder in memory, if there is such a thing: nothing is really synced, so a disk only takes longer."""
    shared = Path("/dev/shm")
    folder = shared if os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="docyard-faults-", dir=folder) as made:
        yield Path(made).resolve()


@pytest.fixture(scope="session")
def scenes(server: ForkServer, memory: Path) -> dict[str, Scene]:
    """The repositories by name: `checked-out` and `bare`."""
    return {
        name: scene.build(memory / f"of-{name}", server, bare=name == "bare")
        for name in ("checked-out", "bare")
    }


@pytest.fixture
def place(memory: Path) -> Iterator[Path]:
    """Where each copy of a repository is put, one after the other."""
    with tempfile.TemporaryDirectory(dir=memory) as made:
        yield Path(made) / "repo"


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say a line in the summary that ends a run; it travels with the test's report, so from any worker."""
    return lambda line: request.node.user_properties.append((_TOLD, line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    lines = [line for report in reports for name, line in report.user_properties if name == _TOLD]
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.line(line)
