"""A kill or an error at each state-changing call of a batch or a recovery."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import (
    FAULTS,
    FaultMatrix,
    ReportLine,
    find_refused_calls,
    parametrize_repository_kind,
    parametrize_step,
    report_points,
)
from tests.faults.support.repo_template import RepoTemplate
from tests.faults.support.shim import Fault


@pytest.mark.guarantee
@parametrize_step(sample_step=10)
@pytest.mark.parametrize(
    ("fault", "durable"),
    [*((fault, True) for fault in FAULTS), ("kill", False)],
    ids=[*FAULTS, "kill, no fsync"],
)
@parametrize_repository_kind
def test_repository_is_wholly_old_or_new_after_each_fault(
    server: ForkServer,
    templates_by_kind: dict[str, RepoTemplate],
    copy_path: Path,
    report_line: ReportLine,
    repository_kind: str,
    fault: str,
    durable: bool,
    step: int,
) -> None:
    matrix = FaultMatrix(server, templates_by_kind[repository_kind], copy_path, fault, durable=durable)
    # The sample of kills contains more points than that of other faults.
    points = matrix.list_points(step if step == 1 or (fault == "kill" and durable) else 4 * step)
    count, failures = 0, []
    for point in points:
        try:
            repo, child_result = matrix.inject(point)
            count += matrix.failed_call is not None
            matrix.recover_and_retry(
                repo, child_result, find_refused_calls(child_result, matrix.error_number)
            )
        except AssertionError as error:
            failures.append(f"{matrix.failed_call}\n    {error}")
    report_points(
        report_line, f"{fault}, {repository_kind}, fsync {'on' if durable else 'off'}", count, failures
    )


@pytest.mark.guarantee
@parametrize_step(sample_step=20, slow_step=3)
@parametrize_repository_kind
def test_next_write_recovers_from_a_kill(
    server: ForkServer,
    templates_by_kind: dict[str, RepoTemplate],
    copy_path: Path,
    report_line: ReportLine,
    repository_kind: str,
    step: int,
) -> None:
    """Write after the kill without a restart: once the same call again, and once a different batch."""
    template = templates_by_kind[repository_kind]
    matrix = FaultMatrix(server, template, copy_path, "kill")
    points = matrix.list_locked_points()[::step]
    failures = []
    for point in points:
        try:
            repo, _ = matrix.inject(point)
            matrix.retry(repo, is_committed=repo.head() != template.base)
            assert template.check(repo), "a retry did not commit"
            repo, _ = matrix.inject(point)
            is_committed = repo.head() != template.base
            assert server.run("write", repo.path, batch="another").is_committed
            template.check_repository_state(repo)
            assert repo.git("rev-list", "--count", f"{template.base}..HEAD").strip() == str(1 + is_committed)
        except AssertionError as error:
            failures.append(f"{matrix.failed_call}\n    {error}")
    report_points(
        report_line, f"kill, then a write without a restart, {repository_kind}", 2 * len(points), failures
    )


@pytest.mark.parametrize(
    ("interval", "step"), [(20, 15), pytest.param(9, 1, marks=pytest.mark.slow)], ids=["sample", "every"]
)
@pytest.mark.parametrize("fault", ["kill", "input/output error"])
@parametrize_repository_kind
def test_interrupted_recovery_is_completed_by_the_next(
    server: ForkServer,
    templates_by_kind: dict[str, RepoTemplate],
    copy_path: Path,
    report_line: ReportLine,
    repository_kind: str,
    fault: str,
    interval: int,
    step: int,
) -> None:
    matrix = FaultMatrix(server, templates_by_kind[repository_kind], copy_path, "kill")
    fault_kind, error_number = FAULTS[fault]
    count, failures = 0, []
    points = matrix.list_locked_points()
    for point in points[2 :: min(interval, max(1, len(points) // 2))]:
        repo, _ = matrix.inject(point)
        calls = server.run("recover", repo.path).calls
        for number in range(1, len(calls) + 1, step):
            count += 1
            try:
                repo, child_result = matrix.inject(point)
                recovery = server.run(
                    "recover", repo.path, point=number, fault=fault_kind, error_number=error_number
                )
                # The number of calls depends on the commit's id, so the last call may be missing.
                assert recovery.was_killed == (fault_kind is Fault.KILL) or len(recovery.calls) < number
                matrix.recover_and_retry(repo, child_result, find_refused_calls(recovery, error_number))
            except AssertionError as failure:
                failures.append(f"{matrix.failed_call}\n  recovery {calls[number - 1]}\n    {failure}")
    report_points(report_line, f"kill, then {fault} in the recovery, {repository_kind}", count, failures)
