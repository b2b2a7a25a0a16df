"""A process is killed, or refused by the system, at each state-changing call of an act on a proposal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, Tell, judge, steps
from tests.faults.support.proposing import ACTS, ID, KEY, prepare
from tests.faults.support.scene import check_nothing_left
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposal_ids import derive_id
from workspace.proposals.event_log import EventLog
from workspace.workspace import Workspace


class Now(NamedTuple):
    """What shows: the commits and the tree of `main`, those of the proposal, and what is said of it."""

    main: tuple[str, str]
    proposal: tuple[str, str]
    said: tuple[str, ...]


def now(repo: Repo, act: str) -> Now:
    """What shows of the proposal, in a repository that is sound and in which nothing is left."""
    assert repo.fsck() == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    check_nothing_left(repo.path / ".git")
    id = derive_id(KEY) if act in ("open", "propose") else ID
    proposals = {one.id: one for one in Workspace.open(repo.path, read_only=True).proposing().list_all()}
    found = proposals.get(id)
    if found is None:
        return Now(_at(repo, "main"), ("", ""), ())
    assert found.unreadable == 0
    assert found.tip is not None
    said = EventLog(GitReader(repo.path)).read().events_of(id).events
    kinds = tuple(sorted(event.body.kind for event in said))
    return Now(_at(repo, "main"), _at(repo, found.tip), kinds)


def _at(repo: Repo, name: str) -> tuple[str, str]:
    return repo.git("rev-list", "--count", name).strip(), repo.git("rev-parse", f"{name}^{{tree}}").strip()


def strike(
    server: ForkServer, memory: Path, place: Path, tell: Tell, act: str, fault: str, step: int
) -> None:
    """One kind of fault at every so many calls of an act, each in a fresh repository."""
    kind, error = FAULTS[fault]
    template = memory / f"proposing-{act}"
    if not template.exists():
        prepare(template, act)

    def fresh() -> Repo:
        if place.exists():
            shutil.rmtree(place)
        shutil.copytree(template, place)
        return Repo(place)

    def run(repo: Repo, **options: Any) -> Any:
        return server.run("act", repo.path, act=act, durable=True, **options)

    repo = fresh()
    before = now(repo, act)
    whole = run(repo)
    assert whole.committed, dict(whole.answer)
    after = now(repo, act)
    assert after != before
    last = len(whole.calls) - 4
    points, wrong = sorted({*range(1, last, step), last}), []
    for point in points:
        repo = fresh()
        try:
            ended = run(repo, point=point, fault=kind, error=error)
            server.run("recover", repo.path)
            found = now(repo, act)
            assert found.main in (before.main, after.main)
            assert found.said in (before.said, after.said)
            assert found == after or not ended.committed, f"it was told as done, and is {found}"
            again = run(repo)
            assert again.committed, dict(again.answer)
            assert now(repo, act) == after
        except AssertionError as told:
            wrong.append(f"{whole.calls[point - 1]}\n    {told}")
    judge(tell, f"{act}, {fault}", len(points), wrong)


@steps(94, 7)
@pytest.mark.parametrize("act", ACTS)
def test_after_a_kill_a_retry_gives_one_result(
    server: ForkServer, memory: Path, place: Path, tell: Tell, act: str, step: int
) -> None:
    strike(server, memory, place, tell, act, "kill", step)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(7, id="some", marks=pytest.mark.slow),
        pytest.param(1, id="every", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("act", ACTS)
def test_after_an_error_a_retry_gives_one_result(
    server: ForkServer, memory: Path, place: Path, tell: Tell, act: str, step: int
) -> None:
    strike(server, memory, place, tell, act, "no space", step)
