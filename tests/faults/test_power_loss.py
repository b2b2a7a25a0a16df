"""Power loss at every call of a durable batch: unsynced bytes are lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import (
    FaultMatrix,
    ReportLine,
    parametrize_repository_kind,
    parametrize_step,
    report_points,
)
from tests.faults.support.repo_template import RepoTemplate
from tests.faults.support.shim import Fault, lose_power


@pytest.mark.guarantee
@parametrize_step(sample_step=40, slow_step=3)
@parametrize_repository_kind
@pytest.mark.parametrize("fault", ["kill", "no space"])
def test_power_loss_at_any_call_leaves_no_torn_state(
    server: ForkServer,
    templates_by_kind: dict[str, RepoTemplate],
    copy_path: Path,
    report_line: ReportLine,
    fault: str,
    repository_kind: str,
    step: int,
) -> None:
    """Simulate power loss after a kill or a refused call at each point, and again after recovery."""
    template = templates_by_kind[repository_kind]
    matrix = FaultMatrix(server, template, copy_path, fault)
    points, failures = matrix.list_points(step), []
    for point in points:
        try:
            repo, child_result = matrix.inject(point)
            lose_power(repo.path, child_result.calls)
            recovery = server.run("recover", repo.path)
            lose_power(repo.path, recovery.calls)
            server.run("recover", repo.path)
            is_committed = template.check(
                repo, expect_reflog=False, expect_no_empty_folders=matrix.fault_kind is Fault.KILL
            )
            assert is_committed or not child_result.is_committed, "an acknowledged commit is lost"
            matrix.retry(repo, is_committed=is_committed)
            assert template.check(repo, expect_reflog=False, expect_no_empty_folders=False), (
                "a retry did not commit"
            )
        except AssertionError as error:
            failures.append(f"{matrix.failed_call}\n    {error}")
    report_points(report_line, f"loss of power after {fault}, {repository_kind}", len(points), failures)


@pytest.mark.guarantee
@parametrize_repository_kind
def test_acknowledged_commit_survives_power_loss(
    server: ForkServer, templates_by_kind: dict[str, RepoTemplate], copy_path: Path, repository_kind: str
) -> None:
    repo = templates_by_kind[repository_kind].copy(copy_path)
    child_result = server.run("write", repo.path, durable=True)
    assert child_result.is_committed
    lose_power(repo.path, child_result.calls)
    assert templates_by_kind[repository_kind].check(repo, expect_reflog=False), "the commit is lost"
    # A sync of the folder after the rename of the ref makes the rename durable.
    rename_number = max(
        call.number
        for call in child_result.calls
        if call.name == "rename" and call.second_path.endswith("/main")
    )
    assert any(
        call.name == "fsync" and call.path.endswith("refs/heads")
        for call in child_result.calls[rename_number:]
    )


@parametrize_repository_kind
def test_power_loss_without_fsync_destroys_the_commit(
    server: ForkServer, templates_by_kind: dict[str, RepoTemplate], copy_path: Path, repository_kind: str
) -> None:
    """Check the simulation: without fsync, the same power loss destroys the commit."""
    repo = templates_by_kind[repository_kind].copy(copy_path)
    child_result = server.run("write", repo.path, durable=False)
    assert lose_power(repo.path, child_result.calls)
    with pytest.raises(AssertionError):
        templates_by_kind[repository_kind].check(repo, expect_reflog=False)
