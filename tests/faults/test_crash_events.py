"""A kill or an error at each state-changing call of a process that appends events."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.event_actions import COMMENT_TEXT, PROPOSAL_ID
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, ReportLine, parametrize_step, report_points
from tests.faults.support.repo_template import check_no_leftovers
from tests.faults.support.shim import Fault
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Commented, Opened


def create_repository_without_events(copy_path: Path) -> Repo:
    """Make a repository without events."""
    return repositories.create_repository(copy_path / "repo")


def create_repository_with_packed_discussion(copy_path: Path) -> Repo:
    """Make a repository in which the objects of the discussion branch are packed."""
    repo = repositories.create_repository(copy_path / "repo")
    tree = repo.git("write-tree").strip()
    repo.git(
        "update-ref", f"refs/heads/{DISCUSSION_BRANCH}", repo.git("commit-tree", tree, "-m", "Before").strip()
    )
    repo.git("gc", "-q")
    return repo


def create_repository_with_checked_out_discussion(copy_path: Path) -> Repo:
    """Make a repository in which the discussion branch is checked out."""
    repo = repositories.create_repository(copy_path / "repo")
    repo.git("checkout", "-q", "-b", DISCUSSION_BRANCH)
    return repo


def check_repository(repo: Repo) -> bool:
    """Check that the repository is clean and has both events or no event; return True if it has events."""
    assert repo.fsck() == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    check_no_leftovers(repo.path / ".git")
    events = EventLog(GitReader(repo.path)).read().events_of(PROPOSAL_ID)
    assert events.unreadable_count == 0
    body_types = [type(event.body) for event in events.events]
    assert body_types in ([], [Opened, Commented])
    assert not body_types or events.events[1].body == Commented(COMMENT_TEXT)
    return bool(body_types)


@parametrize_step(sample_step=30, slow_step=4)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "build",
    [
        create_repository_without_events,
        create_repository_with_packed_discussion,
        create_repository_with_checked_out_discussion,
    ],
    ids=lambda build: build.__name__,
)
def test_all_events_or_none_are_written_after_each_fault(
    server: ForkServer,
    copy_path: Path,
    report_line: ReportLine,
    build: Callable[[Path], Repo],
    fault: str,
    step: int,
) -> None:
    fault_kind, error_number = FAULTS[fault]

    def make_fresh_copy() -> Repo:
        if copy_path.exists():
            shutil.rmtree(copy_path)
        return build(copy_path)

    repo = make_fresh_copy()
    calls = server.run("append events", repo.path, durable=True).calls
    assert check_repository(repo)
    relevant_calls = [call for call in calls if fault_kind is not Fault.SHORT or call.name == "write"]
    points, failures = [call.number for call in relevant_calls[::step]], []
    for point in points:
        repo = make_fresh_copy()
        try:
            child_result = server.run(
                "append events",
                repo.path,
                durable=True,
                point=point,
                fault=fault_kind,
                error_number=error_number,
            )
            server.run("recover", repo.path)
            has_events = check_repository(repo)
            assert child_result.was_killed or child_result.is_committed == has_events
            retry_result = server.run("append events", repo.path, durable=True).response
            assert (retry_result["committed"], retry_result["repeated"]) == (not has_events, has_events)
            assert check_repository(repo)
            assert repo.git("rev-parse", DISCUSSION_BRANCH).strip() == retry_result["commit"]
        except AssertionError as failure:
            failures.append(f"{calls[point - 1]}\n    {failure}")
    report_points(report_line, f"{fault}, {build.__name__}", len(points), failures)
