"""A synchronization with a fault at each state-changing call, in the repository or in the remote's folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, ReportLine, report_points, steps
from tests.faults.support.scene import check_no_leftovers, committed_files, work_files
from tests.faults.support.shim import Fault
from tests.faults.support.sync_actions import BRANCHES, ID, make_diverged_clones
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Commented


def check_sound(folder: Path) -> None:
    """Check that both repositories are sound, and the checkout matches the branch."""
    here, there = Repo(folder / "here"), Repo(folder / "there.git")
    assert (here.fsck(), there.fsck()) == ("", "")
    assert work_files(here) == committed_files(here)
    assert here.git("status", "--porcelain", "--untracked-files=all") == ""


def check_level(folder: Path, tips: dict[str, set[str]]) -> None:
    """Check that both repositories have all commits of either, none twice, and are clean."""
    here, there = Repo(folder / "here"), Repo(folder / "there.git")
    check_sound(folder)
    check_no_leftovers(here.path / ".git")
    assert not (here.path / ".git/docyard/sync.moving").exists()
    assert here.git("for-each-ref", "refs/docyard") == ""
    for branch, had in tips.items():
        tip = here.git("rev-parse", branch).strip()
        assert there.git("rev-parse", branch).strip() == tip
        assert here.git("rev-parse", f"origin/{branch}").strip() == tip
        for commit in had:
            here.git("merge-base", "--is-ancestor", commit, branch)
        assert len(here.git("rev-list", *(f"^{commit}" for commit in had), branch).split()) == 1
    log = EventLog(GitReader(here.path)).read().events_of(ID)
    texts = sorted(event.body.text for event in log.events if isinstance(event.body, Commented))
    assert (texts, log.unreadable_count) == (["ours.md", "theirs.md"], 0)


@steps(200, 9)
@pytest.mark.parametrize("fault", ["kill", "no space"])
def test_sync_completes_after_a_fault_at_each_call(
    server: ForkServer, memory: Path, place: Path, report_line: ReportLine, fault: str, step: int
) -> None:
    template = memory / "apart"
    if not template.exists():
        make_diverged_clones(template)
    kind_of_fault, error = FAULTS[fault]

    def fresh() -> Path:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)
        return place / "here"

    repos = [Repo(template / name) for name in ("here", "there.git")]
    tips = {branch: {repo.git("rev-parse", branch).strip() for repo in repos} for branch in BRANCHES}
    whole = server.run("sync", fresh(), root=place)
    assert whole.committed, dict(whole.answer)
    check_level(place, tips)
    points, wrong = range(1, len(whole.calls), step), []
    for point in points:
        here = fresh()
        try:
            ended = server.run("sync", here, root=place, point=point, fault=kind_of_fault, error=error)
            assert ended.killed == (kind_of_fault is Fault.KILL)
            server.run("recover", here)
            check_sound(place)
            again = server.run("sync", here, root=place)
            for lock in (place / "there.git" / "refs" / "heads").rglob("*.lock"):
                # The remote's own locks are foreign: they are reported, and the user removes them.
                assert lock.name in str(again.answer["errors"])
                lock.unlink()
                again = server.run("sync", here, root=place)
            assert again.committed, dict(again.answer)
            check_level(place, tips)
        except AssertionError as failure:
            wrong.append(f"{whole.calls[point - 1]}\n    {failure}")
    report_points(report_line, f"a synchronisation, {fault}", len(points), wrong)
