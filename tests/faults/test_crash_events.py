"""A process is killed or refused at each state-changing call of appending events."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.event_actions import COMMENT_TEXT, ID
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, ReportLine, report_points, steps
from tests.faults.support.scene import check_no_leftovers
from tests.faults.support.shim import Fault
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposal_ids import BRANCH
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Commented, Opened


def without_events(place: Path) -> Repo:
    """Make a repository without events."""
    return repositories.create_repository(place / "repo")


def with_packed_events(place: Path) -> Repo:
    """Make a repository with packed events of another proposal."""
    repo = repositories.create_repository(place / "repo")
    tree = repo.git("write-tree").strip()
    repo.git("update-ref", f"refs/heads/{BRANCH}", repo.git("commit-tree", tree, "-m", "Before").strip())
    repo.git("gc", "-q")
    return repo


def checked_out(place: Path) -> Repo:
    """Make a repository in which the branch of the events is checked out."""
    repo = repositories.create_repository(place / "repo")
    repo.git("checkout", "-q", "-b", BRANCH)
    return repo


def check(repo: Repo) -> bool:
    """Check that all events or none are written and the repository is clean; return True if written."""
    assert repo.fsck() == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    check_no_leftovers(repo.path / ".git")
    events = EventLog(GitReader(repo.path)).read().events_of(ID)
    assert events.unreadable == 0
    kinds = [type(event.body) for event in events.events]
    assert kinds in ([], [Opened, Commented])
    assert not kinds or events.events[1].body == Commented(COMMENT_TEXT)
    return bool(kinds)


@steps(30, 4)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "build", [without_events, with_packed_events, checked_out], ids=lambda build: build.__name__
)
def test_events_are_all_or_none_after_each_fault(
    server: ForkServer,
    place: Path,
    report_line: ReportLine,
    build: Callable[[Path], Repo],
    fault: str,
    step: int,
) -> None:
    kind, error = FAULTS[fault]

    def fresh() -> Repo:
        if place.exists():
            shutil.rmtree(place)
        return build(place)

    repo = fresh()
    calls = server.run("append events", repo.path, durable=True).calls
    assert check(repo)
    every = [call for call in calls if kind is not Fault.SHORT or call.name == "write"]
    points, wrong = [call.number for call in every[::step]], []
    for point in points:
        repo = fresh()
        try:
            ended = server.run("append events", repo.path, durable=True, point=point, fault=kind, error=error)
            server.run("recover", repo.path)
            events = check(repo)
            assert ended.killed or ended.committed == events
            again = server.run("append events", repo.path, durable=True).answer
            assert (again["committed"], again["repeated"]) == (not events, events)
            assert check(repo)
            assert repo.git("rev-parse", BRANCH).strip() == again["commit"]
        except AssertionError as failure:
            wrong.append(f"{calls[point - 1]}\n    {failure}")
    report_points(report_line, f"{fault}, {build.__name__}", len(points), wrong)
