"""A process is killed, or refused by the system, at each state-changing call of saying something."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import FAULTS, Tell, judge, steps
from tests.faults.support.saying import ID, SAID
from tests.faults.support.scene import check_nothing_left
from tests.faults.support.shim import Fault
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.proposal_ids import BRANCH
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Commented, Opened


def first_words(place: Path) -> Repo:
    """A repository in which nothing was said yet."""
    return repositories.normal(place / "repo")


def further_words(place: Path) -> Repo:
    """One in which something was said of another proposal, long enough ago to be packed."""
    repo = repositories.normal(place / "repo")
    tree = repo.git("write-tree").strip()
    repo.git("update-ref", f"refs/heads/{BRANCH}", repo.git("commit-tree", tree, "-m", "Before").strip())
    repo.git("gc", "-q")
    return repo


def checked_out(place: Path) -> Repo:
    """One in which a person looks at the words themselves."""
    repo = repositories.normal(place / "repo")
    repo.git("checkout", "-q", "-b", BRANCH)
    return repo


def check(repo: Repo) -> bool:
    """Whether it is said; all of it is or nothing, the repository is sound, and nothing is left."""
    assert repo.fsck() == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    check_nothing_left(repo.path / ".git")
    said = EventLog(GitReader(repo.path)).read().events_of(ID)
    assert said.unreadable == 0
    kinds = [type(event.body) for event in said.events]
    assert kinds in ([], [Opened, Commented])
    assert not kinds or said.events[1].body == Commented(SAID)
    return bool(kinds)


@steps(30, 4)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("build", [first_words, further_words, checked_out], ids=lambda build: build.__name__)
def test_after_each_fault_all_is_said_or_nothing(
    server: ForkServer, place: Path, tell: Tell, build: Callable[[Path], Repo], fault: str, step: int
) -> None:
    kind, error = FAULTS[fault]

    def fresh() -> Repo:
        if place.exists():
            shutil.rmtree(place)
        return build(place)

    repo = fresh()
    calls = server.run("say", repo.path, durable=True).calls
    assert check(repo)
    every = [call for call in calls if kind is not Fault.SHORT or call.name == "write"]
    points, wrong = [call.number for call in every[::step]], []
    for point in points:
        repo = fresh()
        try:
            ended = server.run("say", repo.path, durable=True, point=point, fault=kind, error=error)
            server.run("recover", repo.path)
            said = check(repo)
            assert ended.killed or ended.committed == said
            again = server.run("say", repo.path, durable=True).answer
            assert (again["committed"], again["repeated"]) == (not said, said)
            assert check(repo)
            assert repo.git("rev-parse", BRANCH).strip() == again["commit"]
        except AssertionError as found:
            wrong.append(f"{calls[point - 1]}\n    {found}")
    judge(tell, f"{fault}, {build.__name__}", len(points), wrong)
