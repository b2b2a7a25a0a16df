"""A publication stopped between every two of its calls, while Git's housekeeping runs."""

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
from tests.faults.support.matrix import ReportLine, report_points, steps
from tests.faults.support.merge_actions import diverge
from tests.faults.support.scene import check_no_leftovers
from tests.repositories import Repo


@dataclass(frozen=True, slots=True)
class Act:
    """An action of a forked child, and a function that makes its repository."""

    action: str
    make: Callable[[Path], Path]
    options: Mapping[str, Any] = field(default_factory=dict)


def _normal(path: Path) -> Path:
    return repositories.create_repository(path, FILES).path


def _bare(path: Path) -> Path:
    return repositories.create_bare_repository(path, FILES).path


def _proposal(act: str) -> Act:
    return Act("act", lambda path: proposal_actions.prepare(path, act).path, {"act": act})


def _apart(path: Path) -> Path:
    sync_actions.make_diverged_clones(path)
    return path / "here"


ACTS = {
    "a write, checked out": Act("write", _normal),
    "a write, bare": Act("write", _bare),
    "an event of the discussion": Act("append events", _normal),
    "a proposal opened": _proposal("open"),
    "a proposal written": _proposal("write"),
    "an approval": _proposal("approve"),
    "a refresh": _proposal("refresh"),
    "a merge of a proposal": _proposal("merge"),
    "a synchronisation": Act("sync", _apart),
}


def prune(repo: Repo) -> None:
    """Remove what no ref reaches, as `git gc --prune=now` does, in a fifth of its time."""
    repo.git("repack", "-adlq")
    repo.git("prune", "--expire=now")


def gc(repo: Repo) -> None:
    """Run `git gc` as a user does; it exits early if it cannot lock a ref."""
    repo.git("gc", "--quiet", "--prune=now", check=False)


class Template:
    """A repository that is copied for each point."""

    def __init__(self, act: Act, folder: Path) -> None:
        self._folder = folder
        self._place = act.make(folder).relative_to(folder)

    def copy(self, to: Path) -> Repo:
        """Replace the repository of the last point with a fresh copy."""
        if to.exists():
            shutil.rmtree(to)
        shutil.copytree(self._folder, to)
        return Repo(to / self._place)


@steps(30, 4)
@pytest.mark.parametrize(
    "run", [prune, pytest.param(gc, marks=pytest.mark.slow)], ids=lambda run: run.__name__
)
@pytest.mark.parametrize("name", ACTS)
def test_housekeeping_between_two_steps_loses_no_object(
    server: ForkServer,
    tmp_path: Path,
    place: Path,
    report_line: ReportLine,
    name: str,
    run: Callable[[Repo], None],
    step: int,
) -> None:
    act = ACTS[name]
    template = Template(act, tmp_path / "template")
    repo = template.copy(place)
    whole = server.run(act.action, repo.path, root=repo.path, **act.options)
    assert whole.committed, dict(whole.answer)
    points, wrong = [*range(1, len(whole.calls) + 1, step)], []
    # The step immediately before the branch moves is decisive.
    points += [call.number for call in whole.calls if call.name == "rename" and "/refs/heads/" in call.second]
    for point in sorted({*points}):
        repo = template.copy(place)
        try:
            ended = server.run_stopped(
                act.action,
                repo.path,
                point,
                partial(run, repo),
                root=repo.path,
                **act.options,
            )
            assert ended.committed, f"the answer was {dict(ended.answer)}"
            assert repo.fsck() == ""
            gc(repo)
            assert repo.fsck() == ""
            check_no_leftovers(Path(repo.git("rev-parse", "--absolute-git-dir").strip()))
        except AssertionError as error:
            wrong.append(f"{whole.calls[point - 1]}\n    {str(error)[:300]}")
    report_points(report_line, f"git {run.__name__} between two steps of {name}", len(points), wrong)


@steps(12)
def test_merged_branch_pruned_between_two_steps_leaves_no_broken_ref(
    server: ForkServer, tmp_path: Path, place: Path, report_line: ReportLine, step: int
) -> None:
    """The merge is complete or refused; the branch never names a pruned object."""
    source = repositories.create_repository(tmp_path / "template", {})
    theirs = diverge(source)

    def fresh() -> Repo:
        if place.exists():
            shutil.rmtree(place)
        shutil.copytree(source.path, place)
        return Repo(place)

    def delete(repo: Repo) -> None:
        repo.git("update-ref", "-d", "refs/heads/theirs")
        repo.git("reflog", "expire", "--expire=now", "--all", check=False)
        prune(repo)

    calls = server.run("merge", fresh().path, theirs=theirs).calls
    points, wrong, committed = [*range(1, len(calls) + 1, step)], [], 0
    points += [call.number for call in calls if call.name == "rename" and "/refs/heads/" in call.second]
    for point in sorted({*points}):
        repo = fresh()
        try:
            ended = server.run_stopped(
                "merge",
                repo.path,
                point,
                partial(delete, repo),
                theirs=theirs,
            )
            committed += ended.committed
            assert repo.fsck() == ""
            check_no_leftovers(repo.path / ".git")
        except AssertionError as error:
            wrong.append(f"{calls[point - 1]}\n    {str(error)[:300]}")
    report_points(report_line, "the merged branch is deleted between two steps", len(points), wrong)
    assert committed


def test_fetched_objects_survive_a_running_gc(server: ForkServer, tmp_path: Path) -> None:
    repo = Repo(_apart(tmp_path / "apart"))
    git_dir = repo.path / ".git"
    before = {path for path in (git_dir / "objects").rglob("*") if path.is_file()}
    (git_dir / "gc.pid").write_text(f"{os.getpid()} {socket.gethostname()}")
    ended = server.run("sync", repo.path)
    assert ended.committed, dict(ended.answer)
    assert list((git_dir / "objects" / "pack").glob("*.keep"))
    # A gc that has read the refs earlier removes newer objects, except packs with a keep file.
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
        for garbage in range(60):
            (folder / f"{number:02x}{garbage:036x}").write_bytes(b"garbage")
    running = subprocess.Popen(
        ["git", "gc", "--quiet", "--prune=now"],
        cwd=repo.path,
        env=repositories.git_environment(),
        stderr=subprocess.DEVNULL,
    )
    first = folders[0] / f"{0:038x}"
    while first.exists() and running.poll() is None:
        pass
    assert running.poll() is None
    ended = server.run("write", repo.path)
    was_running = running.poll() is None
    running.wait(60)
    assert ended.committed
    assert was_running
    assert repo.fsck() == ""
