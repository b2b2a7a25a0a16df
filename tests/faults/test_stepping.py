"""A publication stops before each of its calls while a user runs Git."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import repositories
from tests.faults.support.actions import CREATED_PATH, FILES, NEW_WORDS, OLD_WORDS
from tests.faults.support.forkserver import ChildResult, ForkServer
from tests.faults.support.matrix import ReportLine, parametrize_step, report_points
from tests.faults.support.repo_template import check_no_leftovers
from tests.faults.support.shim import Call
from tests.repositories import Repo

USER_LINE = "A user's line."
EDITED_PATH = "guides/nested/setup.md"
BATCH_PATHS = {CREATED_PATH, EDITED_PATH, "attic/old/gone.md"}


def append_line(repo: Repo, path: str = "README.md") -> None:
    with (repo.path / path).open("a") as stream:
        stream.write(USER_LINE + "\n")


def commit_an_edit(repo: Repo) -> None:
    append_line(repo)
    repo.git("commit", "-q", "-a", "-m", "User", check=False)


def commit_nothing(repo: Repo) -> None:
    repo.git("commit", "-q", "-a", "-m", "User", check=False)


def stage_an_edit(repo: Repo) -> None:
    append_line(repo)
    repo.git("add", "README.md", check=False)


def show_status(repo: Repo) -> None:
    repo.git("status")


def stash_an_edit(repo: Repo) -> None:
    append_line(repo)
    repo.git("stash", check=False)


def switch_branch(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "topic", check=False)


def edit_file_of_batch(repo: Repo) -> None:
    append_line(repo, EDITED_PATH)


def write_with_user_action(
    server: ForkServer, repo: Repo, point: int, action: Callable[[Repo], None]
) -> ChildResult | None:
    """Run a write that stops at a point while a user acts; return None if the write has fewer calls."""
    reached_points = []

    def run_user_action() -> None:
        reached_points.append(point)
        action(repo)

    child_result = server.run_stopped("write", repo.path, point, run_user_action)
    assert reached_points or child_result.is_committed
    return child_result if reached_points else None


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stepping") / "template"
    repositories.create_repository(path, FILES)
    shutil.rmtree(path / ".git" / "hooks", ignore_errors=True)
    return path


def make_fresh_copy(template: Path, copy_path: Path) -> Repo:
    if copy_path.exists():
        shutil.rmtree(copy_path)
    shutil.copytree(template, copy_path)
    return Repo(copy_path)


def check_commits(repo: Repo, child_result: ChildResult, base: str) -> int:
    """Check that the batch is committed once or not at all, and that no commit mixes authors.

    Return the number of the user's commits.
    """
    assert repo.fsck() == ""
    check_no_leftovers(repo.path / ".git")
    lines = repo.git("log", "--branches", "--format=%H %s", f"^{base}").splitlines()
    user_commits = [line.split()[0] for line in lines if line.endswith(" User")]
    batch_commits = [line.split()[0] for line in lines if not line.endswith(" User")]
    assert batch_commits == ([child_result.response["commit"]] if child_result.is_committed else [])
    assert all(find_changed_paths(repo, commit) == {"README.md"} for commit in user_commits)
    for commit in batch_commits:
        assert find_changed_paths(repo, commit) == BATCH_PATHS
        text = repo.git("show", f"{commit}:{EDITED_PATH}")
        assert (text.count(NEW_WORDS), text.count(OLD_WORDS)) == (1, 0)
    return len(user_commits)


def find_changed_paths(repo: Repo, commit: str) -> set[str]:
    return set(repo.git("diff", "--name-only", "--no-renames", f"{commit}^", commit).splitlines())


def check_line(repo: Repo, path: str) -> None:
    """Check that the user's line is once in the file or in the stash, and that the status agrees."""
    stash_count = repo.git("stash", "list").count("\n")
    assert stash_count <= 1
    text = repo.git("show", "stash@{0}:" + path) if stash_count else (repo.path / path).read_text()
    assert text.count(USER_LINE) == 1, f"the user's line occurs {text.count(USER_LINE)} times"
    line_count = repo.git("show", f"HEAD:{path}").count(USER_LINE)
    assert line_count <= 1
    status = repo.status()
    assert status in ({""} if stash_count or line_count else {f" M {path}\n", f"M  {path}\n"})


@parametrize_step(sample_step=40)
@pytest.mark.parametrize(
    "action",
    [commit_an_edit, commit_nothing, stage_an_edit, show_status, stash_an_edit, switch_branch],
    ids=lambda action: action.__name__,
)
def test_git_commands_between_two_steps_lose_no_change(
    server: ForkServer,
    template: Path,
    copy_path: Path,
    report_line: ReportLine,
    action: Callable[[Repo], None],
    step: int,
) -> None:
    base = Repo(template).head()
    calls = server.run("write", make_fresh_copy(template, copy_path).path).calls
    commit_counts, failures, points = [], [], range(1, len(calls) + 1, step)
    for point in points:
        repo = make_fresh_copy(template, copy_path)
        try:
            child_result = write_with_user_action(server, repo, point, action)
            if child_result is None:
                continue
            commit_counts.append(check_commits(repo, child_result, base))
            if action in (commit_an_edit, stage_an_edit, stash_an_edit):
                check_line(repo, "README.md")
            else:
                assert repo.status() == ""
            assert child_result.is_committed, f"the response was {dict(child_result.response)}"
        except AssertionError as error:
            failures.append(f"{calls[point - 1]}\n    {str(error).splitlines()[0]}")
    report_points(report_line, f"a user's {action.__name__} between two steps", len(points), failures)
    # A commit of the user before the batch has the locks succeeds; a later commit is refused.
    assert set(commit_counts) == ({0, 1} if action is commit_an_edit else {0})


@parametrize_step(sample_step=12)
def test_edit_of_a_batch_file_between_two_steps_is_preserved(
    server: ForkServer, template: Path, copy_path: Path, report_line: ReportLine, step: int
) -> None:
    """Check that the user's line is preserved, and that the batch is refused or committed without it."""
    base = Repo(template).head()
    calls: list[Call] = server.run("write", make_fresh_copy(template, copy_path).path).calls
    outcomes, failures, points = [], [], range(1, len(calls) + 1, step)
    for point in points:
        repo = make_fresh_copy(template, copy_path)
        try:
            child_result = write_with_user_action(server, repo, point, edit_file_of_batch)
            if child_result is None:
                continue
            check_commits(repo, child_result, base)
            check_line(repo, EDITED_PATH)
            text = (repo.path / EDITED_PATH).read_text()
            assert (NEW_WORDS in text, OLD_WORDS in text) == (
                child_result.is_committed,
                not child_result.is_committed,
            )
            outcomes.append("committed" if child_result.is_committed else child_result.response["error"])
        except AssertionError as error:
            failures.append(f"{calls[point - 1]}\n    {str(error).splitlines()[0]}")
    report_points(report_line, "a user's words in a file of the batch", len(points), failures)
    assert set(outcomes) == {"committed", "WORKTREE_CONFLICT"}
