"""A publication that stops before each of its calls while a user runs Git."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.actions import CREATED, FILES, NEW_WORDS, OLD_WORDS
from tests.faults.support.forkserver import Ended, ForkServer
from tests.faults.support.matrix import ReportLine, report_points, steps
from tests.faults.support.scene import check_no_leftovers
from tests.faults.support.shim import Call
from tests.repositories import Repo

LINE = "A person's line."
OURS = "guides/nested/setup.md"
BATCH = {CREATED, OURS, "attic/old/gone.md"}


def edit(repo: Repo, path: str = "README.md") -> None:
    with (repo.path / path).open("a") as stream:
        stream.write(LINE + "\n")


def commit_an_edit(repo: Repo) -> None:
    edit(repo)
    repo.git("commit", "-q", "-a", "-m", "Person", check=False)


def commit_nothing(repo: Repo) -> None:
    repo.git("commit", "-q", "-a", "-m", "Person", check=False)


def add(repo: Repo) -> None:
    edit(repo)
    repo.git("add", "README.md", check=False)


def status(repo: Repo) -> None:
    repo.git("status")


def stash(repo: Repo) -> None:
    edit(repo)
    repo.git("stash", check=False)


def switch(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "topic", check=False)


def edit_our_file(repo: Repo) -> None:
    edit(repo, OURS)


def write_stopped(server: ForkServer, repo: Repo, point: int, action: Callable[[Repo], None]) -> Ended | None:
    """Run a write that stops at a point while a user acts; return None if it ended earlier."""
    reached = []

    def act() -> None:
        reached.append(point)
        action(repo)

    ended = server.run_stopped("write", repo.path, point, act)
    assert reached or ended.committed
    return ended if reached else None


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stepping") / "template"
    repositories.create_repository(path, FILES)
    shutil.rmtree(path / ".git" / "hooks", ignore_errors=True)
    return path


def fresh(template: Path, place: Path) -> Repo:
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(template, place)
    return Repo(place)


def check(repo: Repo, ended: Ended, base: str) -> int:
    """Check that the batch is committed once or not at all, and that no commit mixes authors.

    Returns the number of the person's commits.
    """
    assert repo.fsck() == ""
    check_no_leftovers(repo.path / ".git")
    lines = repo.git("log", "--branches", "--format=%H %s", f"^{base}").splitlines()
    persons = [line.split()[0] for line in lines if line.endswith(" Person")]
    ours = [line.split()[0] for line in lines if not line.endswith(" Person")]
    assert ours == ([ended.answer["commit"]] if ended.committed else [])
    assert all(changed_paths(repo, commit) == {"README.md"} for commit in persons)
    for commit in ours:
        assert changed_paths(repo, commit) == BATCH
        text = repo.git("show", f"{commit}:{OURS}")
        assert (text.count(NEW_WORDS), text.count(OLD_WORDS)) == (1, 0)
    return len(persons)


def changed_paths(repo: Repo, commit: str) -> set[str]:
    return set(repo.git("diff", "--name-only", "--no-renames", f"{commit}^", commit).splitlines())


def check_line(repo: Repo, path: str) -> None:
    """Check that the user's line is once in the file or the stash, and that the status agrees."""
    stashed = repo.git("stash", "list").count("\n")
    assert stashed <= 1
    shown = repo.git("show", "stash@{0}:" + path) if stashed else (repo.path / path).read_text()
    assert shown.count(LINE) == 1, f"the user's line occurs {shown.count(LINE)} times"
    committed = repo.git("show", f"HEAD:{path}").count(LINE)
    assert committed <= 1
    status = repo.status()
    assert status in ({""} if stashed or committed else {f" M {path}\n", f"M  {path}\n"})


@steps(40)
@pytest.mark.parametrize(
    "action", [commit_an_edit, commit_nothing, add, status, stash, switch], ids=lambda action: action.__name__
)
def test_git_commands_between_two_steps_lose_nothing(
    server: ForkServer,
    template: Path,
    place: Path,
    report_line: ReportLine,
    action: Callable[[Repo], None],
    step: int,
) -> None:
    base = Repo(template).head()
    calls = server.run("write", fresh(template, place).path).calls
    persons, wrong, points = [], [], range(1, len(calls) + 1, step)
    for point in points:
        repo = fresh(template, place)
        try:
            ended = write_stopped(server, repo, point, action)
            if ended is None:
                continue
            persons.append(check(repo, ended, base))
            if action in (commit_an_edit, add, stash):
                check_line(repo, "README.md")
            else:
                assert repo.status() == ""
            assert ended.committed, f"the answer was {dict(ended.answer)}"
        except AssertionError as error:
            wrong.append(f"{calls[point - 1]}\n    {str(error).splitlines()[0]}")
    report_points(report_line, f"a person's {action.__name__} between two steps", len(points), wrong)
    # Before the locks are acquired, the user's commit is first; afterwards it is refused.
    assert set(persons) == ({0, 1} if action is commit_an_edit else {0})


@steps(12)
def test_edit_of_a_batch_file_between_two_steps_is_preserved(
    server: ForkServer, template: Path, place: Path, report_line: ReportLine, step: int
) -> None:
    """The user's line is preserved, and the batch is refused or committed before it."""
    base = Repo(template).head()
    calls: list[Call] = server.run("write", fresh(template, place).path).calls
    answers, wrong, points = [], [], range(1, len(calls) + 1, step)
    for point in points:
        repo = fresh(template, place)
        try:
            ended = write_stopped(server, repo, point, edit_our_file)
            if ended is None:
                continue
            check(repo, ended, base)
            check_line(repo, OURS)
            text = (repo.path / OURS).read_text()
            assert (NEW_WORDS in text, OLD_WORDS in text) == (ended.committed, not ended.committed)
            answers.append("committed" if ended.committed else ended.answer["error"])
        except AssertionError as error:
            wrong.append(f"{calls[point - 1]}\n    {str(error).splitlines()[0]}")
    report_points(report_line, "a person's words in a file of the batch", len(points), wrong)
    assert set(answers) == {"committed", "WORKTREE_CONFLICT"}
