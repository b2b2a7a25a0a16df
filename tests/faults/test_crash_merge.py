"""A merge with a fault at each state-changing call: its commit is whole or absent."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests import repositories
from tests.faults.support.forkserver import Ended, ForkServer
from tests.faults.support.matrix import FAULTS, KINDS, ReportLine, report_points, steps
from tests.faults.support.merge_actions import diverge
from tests.faults.support.scene import check_no_leftovers, committed_files, work_files
from tests.faults.support.shim import Fault
from tests.repositories import Repo

OWN: Mapping[str, str] = {"notes.txt": "Notes.\n", "person.md": "# Person\n\nUncommitted words.\n"}
STATUS = " M person.md\n?? notes.txt\n"


@dataclass(frozen=True, slots=True)
class Diverged:
    """A repository to copy for each point: its tip, the merged commit, and the tree of the merge."""

    template: Path
    bare: bool
    base: str
    theirs: str
    tree: str = ""

    def copy(self, to: Path) -> Repo:
        """Replace the repository at `to` with a fresh copy."""
        if to.exists():
            shutil.rmtree(to)
        shutil.copytree(self.template, to)
        return Repo(to)

    def merge(self, server: ForkServer, repo: Repo, **fault: Any) -> Ended:
        """Merge in a child, with the given fault, if any."""
        return server.run("merge", repo.path, theirs=self.theirs, durable=True, **fault)

    def check(self, repo: Repo) -> bool:
        """Check that the repository is wholly old or new and clean; return True if the merge is committed."""
        tip, tree, *parents = repo.git("log", "-1", "--format=%H %T %P").split()
        committed = tip != self.base
        if committed:
            assert parents == [self.base, self.theirs]
            assert tree == self.tree or not self.tree
        assert repo.fsck() == ""
        check_no_leftovers(repo.path if self.bare else repo.path / ".git")
        if not self.bare:
            own = {path: text.encode() for path, text in OWN.items()}
            assert work_files(repo) == {**committed_files(repo), **own}
            assert repo.git("status", "--porcelain", "--untracked-files=all") == STATUS
        return committed


@pytest.fixture(scope="module")
def diverged(server: ForkServer, memory: Path) -> dict[str, Diverged]:
    """Return the repositories by name: `checked-out` and `bare`."""
    source, bare = repositories.create_repository(memory / "diverged", {}), Repo(memory / "diverged-bare")
    scene = Diverged(source.path, False, "", diverge(source))
    source.git("clone", "-q", "--bare", ".", str(bare.path))
    bare.git("config", "user.name", repositories.NAME)
    bare.git("config", "user.email", repositories.EMAIL)
    source.write(OWN)
    scene = replace(scene, base=source.head())
    whole = scene.copy(memory / "whole")
    assert scene.merge(server, whole).committed
    assert scene.check(whole)
    assert "Much more." in (whole.path / "guides/guide.md").read_text()
    assert "The new words." in (whole.path / "guides/guide.md").read_text()
    scene = replace(scene, tree=whole.git("rev-parse", "HEAD^{tree}").strip())
    return {"checked-out": scene, "bare": replace(scene, template=bare.path, bare=True)}


@steps(11, 2)
@pytest.mark.parametrize("fault", ["kill", "no space", "input/output error"])
@KINDS
def test_merge_is_complete_or_absent_after_each_fault(
    server: ForkServer,
    diverged: dict[str, Diverged],
    place: Path,
    report_line: ReportLine,
    kind: str,
    fault: str,
    step: int,
) -> None:
    scene = diverged[kind]
    kind_of_fault, error = FAULTS[fault]
    calls = scene.merge(server, scene.copy(place)).calls
    # A commit id may need a new folder for its object, so the last points may be past the end.
    last = len(calls) - 4
    points = [*range(1, last, step if fault == "kill" else 3 * step), last]
    wrong = []
    for point in points:
        repo = scene.copy(place)
        try:
            ended = scene.merge(server, repo, point=point, fault=kind_of_fault, error=error)
            assert ended.killed == (kind_of_fault is Fault.KILL)
            server.run("recover", repo.path)
            committed = scene.check(repo)
            assert ended.killed or committed == ended.committed, f"the answer was {dict(ended.answer)}"
            assert scene.merge(server, repo).committed != committed
            assert scene.check(repo), "a retry did not merge"
        except AssertionError as failure:
            wrong.append(f"{calls[point - 1]}\n    {failure}")
    report_points(report_line, f"a merge, {fault}, {kind}", len(points), wrong)
