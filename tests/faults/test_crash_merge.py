"""A merge with a fault at each state-changing call: the merge commit is complete or missing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests import repositories
from tests.faults.support.forkserver import ChildResult, ForkServer
from tests.faults.support.matrix import (
    FAULTS,
    MAX_CALL_COUNT_DIFFERENCE,
    ReportLine,
    parametrize_repository_kind,
    parametrize_step,
    report_points,
)
from tests.faults.support.merge_actions import diverge
from tests.faults.support.repo_template import check_no_leftovers, read_committed_files, read_work_files
from tests.faults.support.shim import Fault
from tests.repositories import Repo

UNCOMMITTED: Mapping[str, str] = {"notes.txt": "Notes.\n", "person.md": "# Person\n\nUncommitted words.\n"}
STATUS = " M person.md\n?? notes.txt\n"


@dataclass(frozen=True, slots=True)
class DivergedTemplate:
    """A template that is copied for each point, its tip, the merged commit, and the tree of the merge."""

    folder: Path
    bare: bool
    base: str
    theirs: str
    tree: str = ""

    def copy(self, path: Path) -> Repo:
        """Replace the repository at `path` with a fresh copy."""
        if path.exists():
            shutil.rmtree(path)
        shutil.copytree(self.folder, path)
        return Repo(path)

    def merge(self, server: ForkServer, repo: Repo, **fault: Any) -> ChildResult:
        """Merge in a child, with a fault if `fault` contains `point`, `fault` and `error_number`."""
        return server.run("merge", repo.path, theirs=self.theirs, durable=True, **fault)

    def check(self, repo: Repo) -> bool:
        """Check that the repository is wholly old or new and clean; return True if the merge is committed."""
        tip, tree, *parents = repo.git("log", "-1", "--format=%H %T %P").split()
        is_committed = tip != self.base
        if is_committed:
            assert parents == [self.base, self.theirs]
            assert tree == self.tree or not self.tree
        assert repo.fsck() == ""
        check_no_leftovers(repo.path if self.bare else repo.path / ".git")
        if not self.bare:
            uncommitted = {path: text.encode() for path, text in UNCOMMITTED.items()}
            assert read_work_files(repo) == {**read_committed_files(repo), **uncommitted}
            assert repo.git("status", "--porcelain", "--untracked-files=all") == STATUS
        return is_committed


@pytest.fixture(scope="module")
def diverged_templates(server: ForkServer, memory_folder: Path) -> dict[str, DivergedTemplate]:
    """Return the templates by kind of repository: `checked-out` and `bare`."""
    source, bare = (
        repositories.create_repository(memory_folder / "diverged", {}),
        Repo(memory_folder / "diverged-bare"),
    )
    template = DivergedTemplate(source.path, False, "", diverge(source))
    source.git("clone", "-q", "--bare", ".", str(bare.path))
    bare.git("config", "user.name", repositories.NAME)
    bare.git("config", "user.email", repositories.EMAIL)
    source.write(UNCOMMITTED)
    template = replace(template, base=source.head())
    copy = template.copy(memory_folder / "complete")
    assert template.merge(server, copy).is_committed
    assert template.check(copy)
    assert "Much more." in (copy.path / "guides/guide.md").read_text()
    assert "The new words." in (copy.path / "guides/guide.md").read_text()
    template = replace(template, tree=copy.git("rev-parse", "HEAD^{tree}").strip())
    return {"checked-out": template, "bare": replace(template, folder=bare.path, bare=True)}


@parametrize_step(sample_step=11, slow_step=2)
@pytest.mark.parametrize("fault", ["kill", "no space", "input/output error"])
@parametrize_repository_kind
def test_merge_is_complete_or_absent_after_each_fault(
    server: ForkServer,
    diverged_templates: dict[str, DivergedTemplate],
    copy_path: Path,
    report_line: ReportLine,
    repository_kind: str,
    fault: str,
    step: int,
) -> None:
    template = diverged_templates[repository_kind]
    fault_kind, error_number = FAULTS[fault]
    calls = template.merge(server, template.copy(copy_path)).calls
    last = len(calls) - MAX_CALL_COUNT_DIFFERENCE
    points = [*range(1, last, step if fault == "kill" else 3 * step), last]
    failures = []
    for point in points:
        repo = template.copy(copy_path)
        try:
            child_result = template.merge(
                server, repo, point=point, fault=fault_kind, error_number=error_number
            )
            assert child_result.was_killed == (fault_kind is Fault.KILL)
            server.run("recover", repo.path)
            is_committed = template.check(repo)
            assert child_result.was_killed or is_committed == child_result.is_committed, (
                f"the response was {dict(child_result.response)}"
            )
            assert template.merge(server, repo).is_committed != is_committed
            assert template.check(repo), "a retry did not merge"
        except AssertionError as failure:
            failures.append(f"{calls[point - 1]}\n    {failure}")
    report_points(report_line, f"a merge, {fault}, {repository_kind}", len(points), failures)
