"""A synchronization with a fault at each state-changing call, in the clone or in the folder of the remote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, ReportLine, parametrize_step, report_points
from tests.faults.support.repo_template import check_no_leftovers, read_committed_files, read_work_files
from tests.faults.support.shim import Fault
from tests.faults.support.sync_actions import BRANCHES, PROPOSAL_ID, make_diverged_clones
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Commented


def check_validity(folder: Path) -> None:
    """Check that both repositories are valid, and the checkout matches the branch."""
    clone, remote = Repo(folder / "clone"), Repo(folder / "remote.git")
    assert (clone.fsck(), remote.fsck()) == ("", "")
    assert read_work_files(clone) == read_committed_files(clone)
    assert clone.git("status", "--porcelain", "--untracked-files=all") == ""


def check_in_sync(folder: Path, commits_by_branch: dict[str, set[str]]) -> None:
    """Check that both repositories have the commits of both sides and one merge, and are clean."""
    clone, remote = Repo(folder / "clone"), Repo(folder / "remote.git")
    check_validity(folder)
    check_no_leftovers(clone.path / ".git")
    assert not (clone.path / ".git/docyard/sync.moving").exists()
    assert clone.git("for-each-ref", "refs/docyard") == ""
    for branch, commits in commits_by_branch.items():
        tip = clone.git("rev-parse", branch).strip()
        assert remote.git("rev-parse", branch).strip() == tip
        assert clone.git("rev-parse", f"origin/{branch}").strip() == tip
        for commit in commits:
            clone.git("merge-base", "--is-ancestor", commit, branch)
        assert len(clone.git("rev-list", *(f"^{commit}" for commit in commits), branch).split()) == 1
    log = EventLog(GitReader(clone.path)).read().events_of(PROPOSAL_ID)
    comment_texts = sorted(event.body.text for event in log.events if isinstance(event.body, Commented))
    assert (comment_texts, log.unreadable_count) == (["ours.md", "theirs.md"], 0)


@parametrize_step(sample_step=200, slow_step=9)
@pytest.mark.parametrize("fault", ["kill", "no space"])
def test_sync_completes_after_a_fault_at_each_call(
    server: ForkServer, memory_folder: Path, copy_path: Path, report_line: ReportLine, fault: str, step: int
) -> None:
    template = memory_folder / "diverged-clones"
    if not template.exists():
        make_diverged_clones(template)
    fault_kind, error_number = FAULTS[fault]

    def make_fresh_copy() -> Path:
        shutil.rmtree(copy_path, ignore_errors=True)
        shutil.copytree(template, copy_path)
        return copy_path / "clone"

    repos = [Repo(template / name) for name in ("clone", "remote.git")]
    commits_by_branch = {
        branch: {repo.git("rev-parse", branch).strip() for repo in repos} for branch in BRANCHES
    }
    complete_run = server.run("sync", make_fresh_copy(), root=copy_path)
    assert complete_run.is_committed, dict(complete_run.response)
    check_in_sync(copy_path, commits_by_branch)
    points, failures = range(1, len(complete_run.calls), step), []
    for point in points:
        clone_path = make_fresh_copy()
        try:
            child_result = server.run(
                "sync", clone_path, root=copy_path, point=point, fault=fault_kind, error_number=error_number
            )
            assert child_result.was_killed == (fault_kind is Fault.KILL)
            server.run("recover", clone_path)
            check_validity(copy_path)
            retry_result = server.run("sync", clone_path, root=copy_path)
            for lock in (copy_path / "remote.git" / "refs" / "heads").rglob("*.lock"):
                # Docyard does not remove locks of the remote: it reports them, and the user removes them.
                assert lock.name in str(retry_result.response["errors"])
                lock.unlink()
                retry_result = server.run("sync", clone_path, root=copy_path)
            assert retry_result.is_committed, dict(retry_result.response)
            check_in_sync(copy_path, commits_by_branch)
        except AssertionError as failure:
            failures.append(f"{complete_run.calls[point - 1]}\n    {failure}")
    report_points(report_line, f"a synchronisation, {fault}", len(points), failures)
