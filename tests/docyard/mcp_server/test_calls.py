"""Results of calls, which do not depend on progress reports."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest

from docyard.mcp_server.calls import ToolCalls, Workers
from tools.registry import Toolbox
from tools.tool import Answer

pytestmark = pytest.mark.anyio


class Committing:
    """A toolbox whose one tool reports three times and commits after the first."""

    def __init__(self) -> None:
        self.committed = 0

    def call(self, name: str, arguments: object, *, progress: Callable[..., None], **others: Any) -> Answer:
        progress(1, 3, "Writing")
        self.committed += 1
        progress(3, 3, "Indexing")
        return Answer({"committed": self.committed})


class Reporter:
    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.reports: list[tuple[float, float | None, str | None]] = []

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        self.reports.append((progress, total, message))
        if self.error:
            raise self.error


@pytest.mark.parametrize(
    "error", [None, anyio.ClosedResourceError(), anyio.BrokenResourceError(), OSError(), ValueError()]
)
async def test_failed_progress_report_does_not_fail_commit(
    error: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    toolbox, reporter = Committing(), Reporter(error)
    caplog.set_level(logging.DEBUG, "docyard")
    async with Workers(1) as workers:
        result = await ToolCalls(cast(Toolbox, toolbox), workers).call("write", {}, "tests", reporter)
    assert (result["isError"], result["structuredContent"]) == (False, {"committed": 1})
    assert reporter.reports[0] == (1, 3, "Writing")
    assert ("progress could not be reported" in caplog.text) is (error is not None)


class Patient:
    """A toolbox whose one tool waits for the arrival of a report."""

    def __init__(self, arrived: threading.Semaphore) -> None:
        self.arrived = arrived

    def call(self, name: str, arguments: object, *, progress: Callable[..., None], **others: Any) -> Answer:
        for item in (1, 2):
            progress(item, item, "Waiting")
            assert self.arrived.acquire(timeout=60)
        return Answer({})


class FailingReporter(Reporter):
    """A reporter that records the arrival of a report, and fails."""

    def __init__(self) -> None:
        super().__init__(None)
        self.arrived = threading.Semaphore(0)

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        await super().report_progress(progress, total, message)
        self.arrived.release()
        raise anyio.ClosedResourceError


async def test_progress_is_reported_after_failed_report() -> None:
    reporter = FailingReporter()
    async with Workers(1) as workers:
        toolbox = cast(Toolbox, Patient(reporter.arrived))
        result = await ToolCalls(toolbox, workers).call("wait", {}, "tests", reporter)
    assert not result["isError"]
    assert [done for done, _, _ in reporter.reports] == [1, 2]
