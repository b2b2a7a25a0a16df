"""Kills in repositories of different shapes, with different paths of locks and work tree."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.actions import CREATED, FILES
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import ReportLine, report_points, steps
from tests.faults.support.scene import check_no_leftovers
from tests.faults.support.shim import Fault
from tests.repositories import Repo


@dataclass(frozen=True, slots=True)
class Shape:
    """A repository, the branch that is written to, and its common Git directory."""

    repo: Repo
    branch: str
    git_dir: Path

    def tip(self) -> str:
        """Return the branch's commit, or an empty string before the first."""
        return self.repo.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{self.branch}").strip()

    def check(self, base: str) -> bool:
        """Check that the repository is sound and clean; return True if the batch is committed."""
        assert self.repo.fsck() == ""
        assert self.repo.git("status", "--porcelain", "--untracked-files=all") == ""
        check_no_leftovers(self.git_dir)
        tip = self.tip()
        if tip == base:
            return False
        count = self.repo.git("rev-list", "--count", tip, *([f"^{base}"] if base else []))
        assert count.strip() == "1"
        assert CREATED in self.repo.git("ls-tree", "-r", "--name-only", tip).splitlines()
        log = self.git_dir / "logs/refs/heads" / self.branch
        assert not log.exists() or log.read_text().splitlines()[-1].split()[1] == tip
        return True


def linked(place: Path) -> Shape:
    main = repositories.create_repository(place / "main", FILES)
    return Shape(repositories.add_work_tree(main, place / "linked", "topic"), "topic", main.path / ".git")


def linked_to_a_bare_one(place: Path) -> Shape:
    main = repositories.create_bare_repository(place / "main", FILES)
    return Shape(repositories.add_work_tree(main, place / "linked", "topic"), "topic", main.path)


def unborn(place: Path) -> Shape:
    repo = repositories.create_empty_repository(place / "repo")
    return Shape(repo, "main", repo.path / ".git")


def not_checked_out(place: Path) -> Shape:
    repo = repositories.create_repository(place / "repo", FILES)
    repo.git("branch", "topics/one")
    return Shape(repo, "topics/one", repo.path / ".git")


def packed(place: Path) -> Shape:
    repo = repositories.create_repository(place / "repo", FILES)
    repo.git("gc", "-q")
    return Shape(repo, "main", repo.path / ".git")


@steps(40, 3)
@pytest.mark.parametrize(
    "build", [linked, linked_to_a_bare_one, unborn, not_checked_out, packed], ids=lambda build: build.__name__
)
def test_repository_of_any_shape_is_old_or_new_after_a_kill(
    server: ForkServer, place: Path, report_line: ReportLine, build: Callable[[Path], Shape], step: int
) -> None:
    def fresh() -> tuple[Shape, dict[str, object]]:
        if place.exists():
            shutil.rmtree(place)
        shape = build(place)
        # HEAD names the unborn branch.
        named = shape.branch if shape.tip() else None
        return shape, {"root": place, "durable": True, "branch": named, "base": shape.tip() or None}

    shape, options = fresh()
    base = shape.tip()
    calls = server.run("write", shape.repo.path, **options).calls
    assert shape.check(base)
    points, wrong = [*range(1, len(calls) - 4, 2 * step), len(calls) - 4], []
    for point in points:
        shape, options = fresh()
        base = shape.tip()
        try:
            assert server.run("write", shape.repo.path, point=point, fault=Fault.KILL, **options).killed
            server.run("recover", shape.repo.path)
            committed = shape.check(base)
            assert server.run("write", shape.repo.path, **options).committed != committed
            assert shape.check(base)
        except AssertionError as error:
            wrong.append(f"{calls[point - 1]}\n    {error}")
    report_points(report_line, f"kill, {build.__name__}", len(points), wrong)
