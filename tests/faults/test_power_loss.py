"""Power loss at every call of a durable batch: unsynced bytes are lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import KINDS, Matrix, ReportLine, report_points, steps
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Fault, lose_power


@pytest.mark.promise
@steps(40, 3)
@KINDS
@pytest.mark.parametrize("fault", ["kill", "no space"])
def test_power_loss_at_any_call_leaves_no_torn_state(
    server: ForkServer,
    scenes: dict[str, Scene],
    place: Path,
    report_line: ReportLine,
    fault: str,
    kind: str,
    step: int,
) -> None:
    """Simulate power loss after a kill or a refused call at each point, and again after recovery."""
    scene = scenes[kind]
    matrix = Matrix(server, scene, place, fault)
    points, wrong = matrix.points(step), []
    for point in points:
        try:
            repo, ended = matrix.inject(point)
            lose_power(repo.path, ended.calls)
            recovered = server.run("recover", repo.path)
            lose_power(repo.path, recovered.calls)
            server.run("recover", repo.path)
            committed = scene.check(repo, logged=False, folders=matrix.fault is Fault.KILL)
            assert committed or not ended.committed, "an acknowledged commit is lost"
            matrix.retry(repo, committed=committed)
            assert scene.check(repo, logged=False, folders=False), "a retry did not commit"
        except AssertionError as error:
            wrong.append(f"{matrix.failed_call}\n    {error}")
    report_points(report_line, f"loss of power after {fault}, {kind}", len(points), wrong)


@pytest.mark.promise
@KINDS
def test_acknowledged_commit_survives_power_loss(
    server: ForkServer, scenes: dict[str, Scene], place: Path, kind: str
) -> None:
    repo = scenes[kind].copy(place)
    ended = server.run("write", repo.path, durable=True)
    assert ended.committed
    lose_power(repo.path, ended.calls)
    assert scenes[kind].check(repo, logged=False), "the commit is lost"
    # The rename of the ref is also on the disk, because its folder was synced later.
    moved = max(
        call.number for call in ended.calls if call.name == "rename" and call.second.endswith("/main")
    )
    assert any(call.name == "fsync" and call.path.endswith("refs/heads") for call in ended.calls[moved:])


@KINDS
def test_power_loss_without_fsync_destroys_the_commit(
    server: ForkServer, scenes: dict[str, Scene], place: Path, kind: str
) -> None:
    """Control: without fsync, the same power loss destroys the commit."""
    repo = scenes[kind].copy(place)
    ended = server.run("write", repo.path, durable=False)
    assert lose_power(repo.path, ended.calls)
    with pytest.raises(AssertionError):
        scenes[kind].check(repo, logged=False)
