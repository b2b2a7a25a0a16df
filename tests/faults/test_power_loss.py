"""The power fails at every call of a durable batch: what was not synced by then is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import KINDS, Matrix, Tell, judge, steps
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Fault, lose_power


@pytest.mark.promise
@steps(40, 3)
@KINDS
@pytest.mark.parametrize("fault", ["kill", "no space"])
def test_nothing_is_torn_by_a_loss_of_power(
    server: ForkServer,
    scenes: dict[str, Scene],
    place: Path,
    tell: Tell,
    fault: str,
    kind: str,
    step: int,
) -> None:
    """After a kill at a point, or the answer that follows a refused call; and once more after recovery."""
    scene = scenes[kind]
    matrix = Matrix(server, scene, place, fault)
    points, wrong = matrix.points(step), []
    for point in points:
        try:
            repo, ended = matrix.strike(point)
            lose_power(repo.path, ended.calls)
            recovered = server.run("recover", repo.path)
            lose_power(repo.path, recovered.calls)
            server.run("recover", repo.path)
            committed = scene.check(repo, logged=False, folders=matrix.fault is Fault.KILL)
            assert committed or not ended.committed, "an acknowledged commit is lost"
            matrix.retry(repo, committed=committed)
            assert scene.check(repo, logged=False, folders=False), "a retry did not commit"
        except AssertionError as error:
            wrong.append(f"{matrix.struck}\n    {error}")
    judge(tell, f"loss of power after {fault}, {kind}", len(points), wrong)


@pytest.mark.promise
@KINDS
def test_what_was_acknowledged_survives_a_loss_of_power(
    server: ForkServer, scenes: dict[str, Scene], place: Path, kind: str
) -> None:
    repo = scenes[kind].copy(place)
    ended = server.run("write", repo.path, durable=True)
    assert ended.committed
    lose_power(repo.path, ended.calls)
    assert scenes[kind].check(repo, logged=False), "the commit is lost"
    # The rename of the ref is on the disk too: its folder was synced after it.
    moved = max(
        call.number for call in ended.calls if call.name == "rename" and call.second.endswith("/main")
    )
    assert any(call.name == "fsync" and call.path.endswith("refs/heads") for call in ended.calls[moved:])


@KINDS
def test_without_fsync_power_may_take_words(
    server: ForkServer, scenes: dict[str, Scene], place: Path, kind: str
) -> None:
    """The test above can fail: where nothing is synced, the same loss destroys the commit."""
    repo = scenes[kind].copy(place)
    ended = server.run("write", repo.path, durable=False)
    assert lose_power(repo.path, ended.calls)
    with pytest.raises(AssertionError):
        scenes[kind].check(repo, logged=False)
