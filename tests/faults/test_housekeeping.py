"""A publication stops before each of its calls while Git's housekeeping runs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import repositories
from tests.faults.support import proposal_actions, sync_actions
from tests.faults.support.actions import FILES
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import ReportLine, parametrize_step, report_points
from tests.faults.support.merge_actions import diverge
from tests.faults.support.repo_template import check_no_leftovers
from tests.repositories import Repo


@dataclass(frozen=True, slots=True)
class Scenario:
    """An action of a forked child, and a function that makes its repository."""

    action: str
    make_repository: Callable[[Path], Path]
    options: Mapping[str, Any] = field(default_factory=dict)


def _create_checked_out_repository(path: Path) -> Path:
    return repositories.create_repository(path, FILES).path


def _create_bare_repository(path: Path) -> Path:
    return repositories.create_bare_repository(path, FILES).path


def _make_proposal_scenario(action_name: str) -> Scenario:
    return Scenario(
        "proposal action",
        lambda path: proposal_actions.make_proposal_repository(path, action_name).path,
        {"action_name": action_name},
    )


def _create_diverged_clones(path: Path) -> Path:
    sync_actions.make_diverged_clones(path)
    return path / "clone"


SCENARIOS = {
    "a write, checked out": Scenario("write", _create_checked_out_repository),
    "a write, bare": Scenario("write", _create_bare_repository),
    "an event of the discussion": Scenario("append events", _create_checked_out_repository),
    "the opening of a proposal": _make_proposal_scenario("open"),
    "a write to a proposal": _make_proposal_scenario("write"),
    "an approval": _make_proposal_scenario("approve"),
    "a refresh": _make_proposal_scenario("refresh"),
    "a merge of a proposal": _make_proposal_scenario("merge"),
    "a synchronisation": Scenario("sync", _create_diverged_clones),
}


def prune(repo: Repo) -> None:
    """Remove unreachable objects like `git gc --prune=now`, in a fifth of the time of that command."""
    repo.git("repack", "-adlq")
    repo.git("prune", "--expire=now")


def run_gc(repo: Repo) -> None:
    """Run `git gc` as a user does; git exits early if it cannot lock a ref."""
    repo.git("gc", "--quiet", "--prune=now", check=False)


class Template:
    """A repository that is copied for each point."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self._folder = folder
        self._relative_path = scenario.make_repository(folder).relative_to(folder)

    def copy(self, path: Path) -> Repo:
        """Replace the repository at `path` with a fresh copy."""
        if path.exists():
            shutil.rmtree(path)
        shutil.copytree(self._folder, path)
        return Repo(path / self._relative_path)


@parametrize_step(sample_step=30, slow_step=4)
@pytest.mark.parametrize(
    "housekeep", [prune, pytest.param(run_gc, marks=pytest.mark.slow)], ids=lambda run: run.__name__
)
@pytest.mark.parametrize("name", SCENARIOS)
def test_housekeeping_between_two_steps_loses_no_object(
    server: ForkServer,
    tmp_path: Path,
    copy_path: Path,
    report_line: ReportLine,
    name: str,
    housekeep: Callable[[Repo], None],
    step: int,
) -> None:
    scenario = SCENARIOS[name]
    template = Template(scenario, tmp_path / "template")
    repo = template.copy(copy_path)
    complete_run = server.run(scenario.action, repo.path, root=repo.path, **scenario.options)
    assert complete_run.is_committed, dict(complete_run.response)
    points, failures = [*range(1, len(complete_run.calls) + 1, step)], []
    # The most important point is immediately before the ref of the branch changes.
    points += [
        call.number
        for call in complete_run.calls
        if call.name == "rename" and "/refs/heads/" in call.second_path
    ]
    for point in sorted({*points}):
        repo = template.copy(copy_path)
        try:
            child_result = server.run_stopped(
                scenario.action,
                repo.path,
                point,
                partial(housekeep, repo),
                root=repo.path,
                **scenario.options,
            )
            assert child_result.is_committed, f"the response was {dict(child_result.response)}"
            assert repo.fsck() == ""
            run_gc(repo)
            assert repo.fsck() == ""
            check_no_leftovers(Path(repo.git("rev-parse", "--absolute-git-dir").strip()))
        except AssertionError as error:
            failures.append(f"{complete_run.calls[point - 1]}\n    {str(error)[:300]}")
    report_points(report_line, f"git {housekeep.__name__} between two steps of {name}", len(points), failures)


@parametrize_step(sample_step=12)
def test_merged_branch_pruned_between_two_steps_leaves_no_broken_ref(
    server: ForkServer, tmp_path: Path, copy_path: Path, report_line: ReportLine, step: int
) -> None:
    """Check that the merge is complete or refused; the branch must not refer to a pruned object."""
    source = repositories.create_repository(tmp_path / "template", {})
    theirs = diverge(source)

    def make_fresh_copy() -> Repo:
        if copy_path.exists():
            shutil.rmtree(copy_path)
        shutil.copytree(source.path, copy_path)
        return Repo(copy_path)

    def delete_branch(repo: Repo) -> None:
        repo.git("update-ref", "-d", "refs/heads/theirs")
        repo.git("reflog", "expire", "--expire=now", "--all", check=False)
        prune(repo)

    calls = server.run("merge", make_fresh_copy().path, theirs=theirs).calls
    points, failures, commit_count = [*range(1, len(calls) + 1, step)], [], 0
    points += [call.number for call in calls if call.name == "rename" and "/refs/heads/" in call.second_path]
    for point in sorted({*points}):
        repo = make_fresh_copy()
        try:
            child_result = server.run_stopped(
                "merge",
                repo.path,
                point,
                partial(delete_branch, repo),
                theirs=theirs,
            )
            commit_count += child_result.is_committed
            assert repo.fsck() == ""
            check_no_leftovers(repo.path / ".git")
        except AssertionError as error:
            failures.append(f"{calls[point - 1]}\n    {str(error)[:300]}")
    report_points(report_line, "the merged branch is deleted between two steps", len(points), failures)
    assert commit_count


def test_fetched_objects_survive_a_running_gc(server: ForkServer, tmp_path: Path) -> None:
    repo = Repo(_create_diverged_clones(tmp_path / "diverged-clones"))
    git_dir = repo.path / ".git"
    before = {path for path in (git_dir / "objects").rglob("*") if path.is_file()}
    (git_dir / "gc.pid").write_text(f"{os.getpid()} {socket.gethostname()}")
    child_result = server.run("sync", repo.path)
    assert child_result.is_committed, dict(child_result.response)
    assert list((git_dir / "objects" / "pack").glob("*.keep"))
    # A gc that read the refs before the sync removes the new objects, except packs with a keep file.
    for path in (git_dir / "objects").rglob("*"):
        if path.is_file() and path not in before and not path.with_suffix(".keep").exists():
            path.unlink()
    assert repo.fsck() == ""


def test_running_gc_removes_no_object_of_a_publication(server: ForkServer, tmp_path: Path) -> None:
    """Run a real `git gc --prune=now` that removes objects when the publication begins."""
    repo = repositories.create_repository(tmp_path / "repo", FILES)
    folders = [repo.path / ".git" / "objects" / f"{number:02x}" for number in range(256)]
    for number, folder in enumerate(folders):
        folder.mkdir(exist_ok=True)
        for garbage_number in range(60):
            (folder / f"{number:02x}{garbage_number:036x}").write_bytes(b"garbage")
    gc_process = subprocess.Popen(
        ["git", "gc", "--quiet", "--prune=now"],
        cwd=repo.path,
        env=repositories.build_git_environment(),
        stderr=subprocess.DEVNULL,
    )
    first_object = folders[0] / f"{0:038x}"
    while first_object.exists() and gc_process.poll() is None:
        pass
    assert gc_process.poll() is None
    child_result = server.run("write", repo.path)
    was_running = gc_process.poll() is None
    gc_process.wait(60)
    assert child_result.is_committed
    assert was_running
    assert repo.fsck() == ""
