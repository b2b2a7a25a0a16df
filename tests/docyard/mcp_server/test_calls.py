"""Tool calls whose progress reports fail: their results do not depend on the reports."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest

from docyard.mcp_server.calls import ToolCalls, Workers
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer

pytestmark = pytest.mark.anyio


class CommittingDispatcher:
    """A dispatcher whose only tool reports progress twice and commits between the reports."""

    def __init__(self) -> None:
        self.commit_count = 0

    def call(self, name: str, arguments: object, *, progress: Callable[..., None], **options: Any) -> Answer:
        progress(1, 3, "Writing")
        self.commit_count += 1
        progress(3, 3, "Indexing")
        return Answer({"committed": self.commit_count})


class ProgressReporter:
    """A reporter that records each progress report, and then raises `error` if it is not None."""

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
    dispatcher, reporter = CommittingDispatcher(), ProgressReporter(error)
    caplog.set_level(logging.DEBUG, "docyard")
    async with Workers(1) as workers:
        result = await ToolCalls(cast(ToolDispatcher, dispatcher), workers).call(
            "write", {}, "tests", reporter
        )
    assert (result["isError"], result["structuredContent"]) == (False, {"committed": 1})
    assert reporter.reports[0] == (1, 3, "Writing")
    assert ("progress could not be reported" in caplog.text) is (error is not None)


class WaitingDispatcher:
    """A dispatcher whose only tool waits until each report has arrived."""

    def __init__(self, arrival_semaphore: threading.Semaphore) -> None:
        self.arrival_semaphore = arrival_semaphore

    def call(self, name: str, arguments: object, *, progress: Callable[..., None], **options: Any) -> Answer:
        for step in (1, 2):
            progress(step, step, "Waiting")
            assert self.arrival_semaphore.acquire(timeout=60)
        return Answer({})


class FailingReporter(ProgressReporter):
    """A reporter that records the arrival of a report, and fails."""

    def __init__(self) -> None:
        super().__init__(None)
        self.arrival_semaphore = threading.Semaphore(0)

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        await super().report_progress(progress, total, message)
        self.arrival_semaphore.release()
        raise anyio.ClosedResourceError


async def test_progress_is_reported_after_failed_report() -> None:
    reporter = FailingReporter()
    async with Workers(1) as workers:
        dispatcher = cast(ToolDispatcher, WaitingDispatcher(reporter.arrival_semaphore))
        result = await ToolCalls(dispatcher, workers).call("wait", {}, "tests", reporter)
    assert not result["isError"]
    assert [progress for progress, _, _ in reporter.reports] == [1, 2]
