"""The summary of the soak tests: the measurements are printed at the end, also after a failed run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_SUMMARY_PROPERTY = "measured"


@pytest.fixture
def report_line(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that adds a line to the final summary."""
    return lambda line: request.node.user_properties.append((_SUMMARY_PROPERTY, line))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the reported lines of all tests."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    properties_by_test = [(item.nodeid, *item.user_properties) for item in reports if item.when == "call"]
    lines = [
        (test, line)
        for test, *properties in properties_by_test
        for name, line in properties
        if name == _SUMMARY_PROPERTY
    ]
    if lines:
        terminalreporter.section("measured")
    for test, line in lines:
        terminalreporter.write_line(f"{test.rpartition('::')[2]}: {line}")
