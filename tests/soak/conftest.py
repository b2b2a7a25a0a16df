"""What the soak tests measure is printed at the end of the run, whatever became of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_MEASURED = "measured"


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Call it with a line that is to stand in the summary; it travels with the test's report."""
    return lambda line: request.node.user_properties.append((_MEASURED, line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the lines."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    found = [(each.nodeid, *each.user_properties) for each in reports if each.when == "call"]
    lines = [(test, line) for test, *properties in found for name, line in properties if name == _MEASURED]
    if lines:
        terminalreporter.section("measured")
    for test, line in lines:
        terminalreporter.write_line(f"{test.rpartition('::')[2]}: {line}")
