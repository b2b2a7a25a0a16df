"""A process is killed or refused at each state-changing call of a batch or a recovery."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, KINDS, Matrix, ReportLine, refused, report_points, steps
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Fault


@pytest.mark.promise
@steps(10)
@pytest.mark.parametrize(
    ("fault", "durable"),
    [*((fault, True) for fault in FAULTS), ("kill", False)],
    ids=[*FAULTS, "kill, no fsync"],
)
@KINDS
def test_repository_is_wholly_old_or_new_after_each_fault(
    server: ForkServer,
    scenes: dict[str, Scene],
    place: Path,
    report_line: ReportLine,
    kind: str,
    fault: str,
    durable: bool,
    step: int,
) -> None:
    matrix = Matrix(server, scenes[kind], place, fault, durable=durable)
    # Kills have a finer sample than other faults.
    points = matrix.points(step if step == 1 or (fault == "kill" and durable) else 4 * step)
    count, wrong = 0, []
    for point in points:
        try:
            repo, ended = matrix.inject(point)
            count += matrix.failed_call is not None
            matrix.recover_and_retry(repo, ended, refused(ended, matrix.error))
        except AssertionError as error:
            wrong.append(f"{matrix.failed_call}\n    {error}")
    report_points(report_line, f"{fault}, {kind}, fsync {'on' if durable else 'off'}", count, wrong)


@pytest.mark.promise
@steps(20, 3)
@KINDS
def test_next_write_recovers_from_a_kill(
    server: ForkServer, scenes: dict[str, Scene], place: Path, report_line: ReportLine, kind: str, step: int
) -> None:
    """Test both a retry and another write."""
    scene = scenes[kind]
    matrix = Matrix(server, scene, place, "kill")
    points = matrix.locked_points()[::step]
    wrong = []
    for point in points:
        try:
            repo, _ = matrix.inject(point)
            matrix.retry(repo, committed=repo.head() != scene.base)
            assert scene.check(repo), "a retry did not commit"
            repo, _ = matrix.inject(point)
            committed = repo.head() != scene.base
            assert server.run("write", repo.path, batch="another").committed
            scene.check_environment(repo)
            assert repo.git("rev-list", "--count", f"{scene.base}..HEAD").strip() == str(1 + committed)
        except AssertionError as error:
            wrong.append(f"{matrix.failed_call}\n    {error}")
    report_points(report_line, f"kill, then a write without a start, {kind}", 2 * len(points), wrong)


@pytest.mark.parametrize(
    ("every", "step"), [(20, 15), pytest.param(9, 1, marks=pytest.mark.slow)], ids=["sample", "every"]
)
@pytest.mark.parametrize("fault", ["kill", "input/output error"])
@KINDS
def test_interrupted_recovery_is_completed_by_the_next(
    server: ForkServer,
    scenes: dict[str, Scene],
    place: Path,
    report_line: ReportLine,
    kind: str,
    fault: str,
    every: int,
    step: int,
) -> None:
    matrix = Matrix(server, scenes[kind], place, "kill")
    kind_of_fault, error = FAULTS[fault]
    tried, wrong = 0, []
    locked = matrix.locked_points()
    for point in locked[2 :: min(every, max(1, len(locked) // 2))]:
        repo, _ = matrix.inject(point)
        calls = server.run("recover", repo.path).calls
        for number in range(1, len(calls) + 1, step):
            tried += 1
            try:
                repo, ended = matrix.inject(point)
                broken = server.run("recover", repo.path, point=number, fault=kind_of_fault, error=error)
                # The number of calls depends on the commit's id, so the last call may be missing.
                assert broken.killed == (kind_of_fault is Fault.KILL) or len(broken.calls) < number
                matrix.recover_and_retry(repo, ended, refused(broken, error))
            except AssertionError as failure:
                wrong.append(f"{matrix.failed_call}\n  recovery {calls[number - 1]}\n    {failure}")
    report_points(report_line, f"kill, then {fault} in the recovery, {kind}", tried, wrong)
