"""A writer is killed in different kinds of repositories: the branch is at the old or the new commit.

The kinds are linked work trees, an unborn branch, a branch without a checkout, and packed objects.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.actions import CREATED_PATH, FILES
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import MAX_CALL_COUNT_DIFFERENCE, ReportLine, parametrize_step, report_points
from tests.faults.support.repo_template import check_no_leftovers
from tests.faults.support.shim import Fault
from tests.repositories import Repo


@dataclass(frozen=True, slots=True)
class RepositoryLayout:
    """A repository, the branch that a batch changes, and the common Git directory."""

    repo: Repo
    branch: str
    git_dir: Path

    def tip(self) -> str:
        """Return the commit of the branch, or an empty string for an unborn branch."""
        return self.repo.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{self.branch}").strip()

    def check(self, base: str) -> bool:
        """Check that the repository is valid and clean; return True if the batch is committed."""
        assert self.repo.fsck() == ""
        assert self.repo.git("status", "--porcelain", "--untracked-files=all") == ""
        check_no_leftovers(self.git_dir)
        tip = self.tip()
        if tip == base:
            return False
        count = self.repo.git("rev-list", "--count", tip, *([f"^{base}"] if base else []))
        assert count.strip() == "1"
        assert CREATED_PATH in self.repo.git("ls-tree", "-r", "--name-only", tip).splitlines()
        log = self.git_dir / "logs/refs/heads" / self.branch
        assert not log.exists() or log.read_text().splitlines()[-1].split()[1] == tip
        return True


def make_linked_work_tree(copy_path: Path) -> RepositoryLayout:
    main = repositories.create_repository(copy_path / "main", FILES)
    return RepositoryLayout(
        repositories.add_work_tree(main, copy_path / "linked", "topic"), "topic", main.path / ".git"
    )


def make_linked_work_tree_of_bare_repository(copy_path: Path) -> RepositoryLayout:
    main = repositories.create_bare_repository(copy_path / "main", FILES)
    return RepositoryLayout(
        repositories.add_work_tree(main, copy_path / "linked", "topic"), "topic", main.path
    )


def make_unborn_branch(copy_path: Path) -> RepositoryLayout:
    repo = repositories.create_empty_repository(copy_path / "repo")
    return RepositoryLayout(repo, "main", repo.path / ".git")


def make_branch_without_checkout(copy_path: Path) -> RepositoryLayout:
    repo = repositories.create_repository(copy_path / "repo", FILES)
    repo.git("branch", "topics/one")
    return RepositoryLayout(repo, "topics/one", repo.path / ".git")


def make_packed_repository(copy_path: Path) -> RepositoryLayout:
    repo = repositories.create_repository(copy_path / "repo", FILES)
    repo.git("gc", "-q")
    return RepositoryLayout(repo, "main", repo.path / ".git")


@parametrize_step(sample_step=40, slow_step=3)
@pytest.mark.parametrize(
    "build",
    [
        make_linked_work_tree,
        make_linked_work_tree_of_bare_repository,
        make_unborn_branch,
        make_branch_without_checkout,
        make_packed_repository,
    ],
    ids=lambda build: build.__name__,
)
def test_repository_of_any_layout_is_old_or_new_after_a_kill(
    server: ForkServer,
    copy_path: Path,
    report_line: ReportLine,
    build: Callable[[Path], RepositoryLayout],
    step: int,
) -> None:
    def make_fresh_layout() -> tuple[RepositoryLayout, dict[str, object]]:
        if copy_path.exists():
            shutil.rmtree(copy_path)
        layout = build(copy_path)
        # HEAD names the unborn branch.
        branch = layout.branch if layout.tip() else None
        return layout, {"root": copy_path, "durable": True, "branch": branch, "base": layout.tip() or None}

    layout, options = make_fresh_layout()
    base = layout.tip()
    calls = server.run("write", layout.repo.path, **options).calls
    assert layout.check(base)
    points, failures = (
        [*range(1, len(calls) - MAX_CALL_COUNT_DIFFERENCE, 2 * step), len(calls) - MAX_CALL_COUNT_DIFFERENCE],
        [],
    )
    for point in points:
        layout, options = make_fresh_layout()
        base = layout.tip()
        try:
            assert server.run("write", layout.repo.path, point=point, fault=Fault.KILL, **options).was_killed
            server.run("recover", layout.repo.path)
            is_committed = layout.check(base)
            assert server.run("write", layout.repo.path, **options).is_committed != is_committed
            assert layout.check(base)
        except AssertionError as error:
            failures.append(f"{calls[point - 1]}\n    {error}")
    report_points(report_line, f"kill, {build.__name__}", len(points), failures)
