"""A process is killed or refused at each state-changing call of an action on a proposal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, ReportLine, report_points, steps
from tests.faults.support.proposal_actions import ACTS, ID, KEY, prepare
from tests.faults.support.scene import check_no_leftovers
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposal_ids import derive_id
from workspace.proposals.event_log import EventLog
from workspace.workspace import Workspace


class ProposalSnapshot(NamedTuple):
    """Commit count and tree of `main` and of the proposal, and the kinds of its events."""

    main: tuple[str, str]
    proposal: tuple[str, str]
    event_kinds: tuple[str, ...]


def read_snapshot(repo: Repo, act: str) -> ProposalSnapshot:
    """Return the state of the proposal, and check that the repository is sound and clean."""
    assert repo.fsck() == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    check_no_leftovers(repo.path / ".git")
    id = derive_id(KEY) if act in ("open", "propose") else ID
    proposals = {
        item.id: item for item in Workspace.open(repo.path, read_only=True).proposal_actions().list_all()
    }
    proposal = proposals.get(id)
    if proposal is None:
        return ProposalSnapshot(_at(repo, "main"), ("", ""), ())
    assert proposal.unreadable_count == 0
    assert proposal.tip is not None
    event_kinds = EventLog(GitReader(repo.path)).read().events_of(id).events
    kinds = tuple(sorted(event.body.kind for event in event_kinds))
    return ProposalSnapshot(_at(repo, "main"), _at(repo, proposal.tip), kinds)


def _at(repo: Repo, name: str) -> tuple[str, str]:
    return repo.git("rev-list", "--count", name).strip(), repo.git("rev-parse", f"{name}^{{tree}}").strip()


def check_retries(
    server: ForkServer, memory: Path, place: Path, report_line: ReportLine, act: str, fault: str, step: int
) -> None:
    """Inject a fault at every `step`-th call of an action, each in a fresh repository."""
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
    before = read_snapshot(repo, act)
    whole = run(repo)
    assert whole.committed, dict(whole.answer)
    after = read_snapshot(repo, act)
    assert after != before
    last = len(whole.calls) - 4
    points, wrong = sorted({*range(1, last, step), last}), []
    for point in points:
        repo = fresh()
        try:
            ended = run(repo, point=point, fault=kind, error=error)
            server.run("recover", repo.path)
            snapshot = read_snapshot(repo, act)
            assert snapshot.main in (before.main, after.main)
            assert snapshot.event_kinds in (before.event_kinds, after.event_kinds)
            assert snapshot == after or not ended.committed, (
                f"the response reports a commit, but the state is {snapshot}"
            )
            again = run(repo)
            assert again.committed, dict(again.answer)
            assert read_snapshot(repo, act) == after
        except AssertionError as failure:
            wrong.append(f"{whole.calls[point - 1]}\n    {failure}")
    report_points(report_line, f"{act}, {fault}", len(points), wrong)


@steps(94, 7)
@pytest.mark.parametrize("act", ACTS)
def test_retry_after_a_kill_gives_one_result(
    server: ForkServer, memory: Path, place: Path, report_line: ReportLine, act: str, step: int
) -> None:
    check_retries(server, memory, place, report_line, act, "kill", step)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(7, id="some", marks=pytest.mark.slow),
        pytest.param(1, id="every", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("act", ACTS)
def test_retry_after_an_error_gives_one_result(
    server: ForkServer, memory: Path, place: Path, report_line: ReportLine, act: str, step: int
) -> None:
    check_retries(server, memory, place, report_line, act, "no space", step)
