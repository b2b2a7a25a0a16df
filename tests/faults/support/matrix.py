"""A fault at many points of the same batch, and the checks after each fault."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.faults.support.forkserver import ChildResult, ForkServer
from tests.faults.support.repo_template import RepoTemplate
from tests.faults.support.shim import Call, Fault
from tests.repositories import Repo

ReportLine = Callable[[str], None]
"""Adds a line to the final summary of a run."""

FAULTS = {
    "kill": (Fault.KILL, 0),
    "no space": (Fault.FAIL, errno.ENOSPC),
    "input/output error": (Fault.FAIL, errno.EIO),
    "disk full from a call on": (Fault.FULL, errno.ENOSPC),
    "disk full within a write": (Fault.SHORT, errno.ENOSPC),
}
MAX_CALL_COUNT_DIFFERENCE = 4
"""The maximum difference between the numbers of calls of two equal actions.

The id of a commit decides if its object needs a new folder.
"""

parametrize_repository_kind = pytest.mark.parametrize("repository_kind", ["checked-out", "bare"])


def parametrize_step(*, sample_step: int, slow_step: int = 1) -> pytest.MarkDecorator:
    """Parametrize `step`, the distance from one tested point to the next.

    It is `sample_step` in the quick tests and `slow_step` in the slow tests. If `slow_step` is above 1, the
    soak tests use every point.
    """
    steps = [pytest.param(sample_step, id="sample")]
    if slow_step > 1:
        steps.append(pytest.param(slow_step, id="some", marks=pytest.mark.slow))
    steps.append(pytest.param(1, id="every", marks=pytest.mark.soak if slow_step > 1 else pytest.mark.slow))
    return pytest.mark.parametrize("step", steps)


class FaultMatrix:
    """A repository and a fault, which is injected at many points of the same batch."""

    def __init__(
        self, server: ForkServer, template: RepoTemplate, copy_path: Path, fault: str, *, durable: bool = True
    ) -> None:
        self.server = server
        self.template = template
        self.copy_path = copy_path
        self.fault_kind, self.error_number = FAULTS[fault]
        self.durable = durable
        self.failed_call: Call | None = None
        repo = template.copy(copy_path)
        complete_run = server.run("write", repo.path, durable=durable)
        assert complete_run.is_committed
        assert template.check(repo)
        self.calls: Sequence[Call] = complete_run.calls
        """The calls of a batch without a fault. A fault is injected at a point, the number of a call."""

    def list_points(self, step: int) -> list[int]:
        """Return every `step`-th call number that this fault can affect, and the last one."""
        can_affect: dict[Fault, Callable[[Call], bool]] = {
            Fault.FULL: lambda call: call.needs_space,
            Fault.SHORT: lambda call: call.name == "write",
        }
        numbers = [
            call.number for call in self.calls if can_affect.get(self.fault_kind, lambda call: True)(call)
        ]
        if step == 1 and self.fault_kind not in can_affect:
            # Some commit ids need one more folder for their object, so a batch may make more calls.
            numbers += range(numbers[-1] + 1, numbers[-1] + MAX_CALL_COUNT_DIFFERENCE)
        return sorted({*numbers[::step], numbers[-1]})

    def list_locked_points(self) -> list[int]:
        """Return the points from the first lock of Git to the last call."""
        first_lock = next(
            call for call in self.calls if call.name == "link" and call.second_path.endswith(".lock")
        )
        return [call.number for call in self.calls if call.number >= first_lock.number]

    def inject(self, point: int) -> tuple[Repo, ChildResult]:
        """Run the batch in a fresh copy with a fault at a point; return the copy and the child's result."""
        repo = self.template.copy(self.copy_path)
        child_result = self.server.run(
            "write",
            repo.path,
            point=point,
            fault=self.fault_kind,
            error_number=self.error_number,
            durable=self.durable,
        )
        self.failed_call = next((call for call in child_result.calls if call.number == point), None)
        if self.failed_call is None:
            # A commit id may need a new folder for its object, so the last points may be past the end.
            assert point > len(self.calls) - MAX_CALL_COUNT_DIFFERENCE
            assert child_result.is_committed
        else:
            # For the same reason, fewer of the last calls may need space on a full disk.
            is_full = self.fault_kind in (Fault.FULL, Fault.SHORT) and child_result.is_committed
            assert (
                child_result.was_killed or is_full or find_refused_calls(child_result, self.error_number)
            ), "the shim refused no call"
        return repo, child_result

    def recover_and_retry(self, repo: Repo, child_result: ChildResult, refused_calls: Sequence[Call]) -> None:
        """Recover; check that the state agrees with the response, and that a retry results in one commit.

        A write of a reflog and a removal of an empty folder are not repeated if the system refused them.
        """
        expect_reflog = not any("/logs/" in call.path for call in refused_calls)
        expect_no_empty_folders = not any(call.name == "rmdir" for call in refused_calls)
        self.server.run("recover", repo.path)
        is_committed = self.template.check(
            repo, expect_reflog=expect_reflog, expect_no_empty_folders=expect_no_empty_folders
        )
        if not child_result.was_killed:
            assert is_committed == child_result.is_committed, (
                f"the response was {dict(child_result.response)}"
            )
        self.retry(repo, is_committed=is_committed)
        assert self.template.check(
            repo, expect_reflog=expect_reflog, expect_no_empty_folders=expect_no_empty_folders
        ), "a retry did not commit"

    def retry(self, repo: Repo, *, is_committed: bool) -> None:
        """Repeat the call with its idempotency key. The retry must commit, or return the existing commit."""
        retry_result = self.server.run("write", repo.path, base=self.template.base, durable=self.durable)
        expected = {"committed": not is_committed, "commit": repo.head(), "repeated": is_committed}
        assert {**retry_result.response, **expected} == retry_result.response, (
            f"a retry returned {dict(retry_result.response)}"
        )


def find_refused_calls(child_result: ChildResult, error_number: int) -> list[Call]:
    """Return the calls that the shim refused."""
    return [call for call in child_result.calls if call.result == f"errno {error_number}"]


def report_points(report_line: ReportLine, title: str, count: int, failures: Sequence[str]) -> None:
    """Report the number of points, and fail with the failed points."""
    report_line(f"{title}: {count} points, {len(failures)} failed")
    assert not failures, f"{len(failures)} of {count} points:\n" + "\n".join(failures[:30])
