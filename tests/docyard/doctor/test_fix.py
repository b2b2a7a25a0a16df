"""`docyard doctor --fix`: safe fixes are applied and reported, and no user data is deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git
from tests.repositories import read_repository_files
from tests.workspace.publishing.test_leftovers import DYING_WRITER_SCRIPT
from workspace.publishing import locks

Capture = pytest.CaptureFixture[str]


def run_fix(repo: Path, capsys: Capture) -> tuple[int, dict[str, list[str]]]:
    """Run `docyard doctor --fix --json`; return its exit code and its report."""
    capsys.readouterr()
    code = main(["doctor", "-C", str(repo), "--fix", "--json"])
    return code, json.loads(capsys.readouterr().out)


def format_findings(report: dict[str, list[dict[str, str]]]) -> str:
    return "\n".join(f"{finding['severity']} {finding['message']}" for finding in report["findings"])


SHELL_BRANCH = "a'$(touch${IFS}ran)'\";b"
"""A branch whose name a shell would run as commands, if a suggested command did not quote it."""


def run_suggested_command(repo: Path, line: str) -> None:
    """Run the command that a finding suggests."""
    subprocess.run(line, shell=True, cwd=repo, check=True, capture_output=True)


def find_loose_object(repo: Path, git: Git, revision: str) -> Path:
    """Return the path of a loose object, after making the file writable."""
    name = git("rev-parse", revision)
    path = repo / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    return path


def truncate_to_zero(path: Path) -> None:
    path.write_bytes(b"")


def truncate_to_half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def write_junk(path: Path) -> None:
    path.write_bytes(b"junk")


def copy_other_object(path: Path) -> None:
    path.write_bytes(next(other for other in path.parent.parent.glob("??/*") if other != path).read_bytes())


DAMAGE_FUNCTIONS = [truncate_to_zero, truncate_to_half, write_junk, copy_other_object]


@pytest.fixture
def second_commit(repo: Path, git: Git) -> str:
    """Return the id of a second commit, whose objects are all loose."""
    (repo / "more.md").write_text("# More\n\nText.\n")
    (repo / "guide.md").write_text("# Guide\n\nChanged.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Second")
    return git("rev-parse", "HEAD")


@pytest.mark.process
@pytest.mark.parametrize(
    ("system_call", "call_number", "expected"),
    [
        ("link", 3, "recovered from a crash: 1 commit was rolled back"),
        ("rename", 3, "recovered from a crash: 1 commit was rolled back"),
        ("write", 2, "recovered from a crash: 1 commit was completed"),
    ],
)
def test_interrupted_commit_is_recovered(
    repo: Path, git: Git, capsys: Capture, system_call: str, call_number: int, expected: str
) -> None:
    (repo / "README.md").write_text("# Read me\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    base = git("rev-parse", "HEAD")
    process = subprocess.run(
        (sys.executable, "-c", DYING_WRITER_SCRIPT, str(repo), base, system_call, str(call_number)),
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert process.returncode == 9  # the exit code of the script at the given system call
    was_committed = git("rev-parse", "HEAD") != base
    code, report = run_fix(repo, capsys)
    assert (code, report["fixed"], report["not_fixed"]) == (0, [expected], [])
    assert git("status", "--porcelain") == ""
    assert (git("rev-parse", "HEAD") != base) is was_committed
    assert [lock for lock in (repo / ".git").rglob("*.lock") if lock.name != "write.lock"] == []
    assert list((repo / ".git" / "docyard" / "pending").iterdir()) == []


def test_leftover_staging_folder_with_lock_is_removed(repo: Path, capsys: Capture) -> None:
    pending = repo / ".git" / "docyard" / "pending" / "0123456789abcdef"
    pending.mkdir(parents=True)
    (pending / "claim").touch()
    (repo / ".git" / "index.lock").hardlink_to(pending / "claim")
    code, report = run_fix(repo, capsys)
    assert (code, report["fixed"]) == (0, ["recovered from a crash: no commit was incomplete"])
    assert not (repo / ".git" / "index.lock").exists()
    assert not pending.exists()


@pytest.mark.parametrize("damage", DAMAGE_FUNCTIONS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_broken_text_is_restored_from_work_tree(
    repo: Path, git: Git, second_commit: str, capsys: Capture, damage: Callable[[Path], None], ending: str
) -> None:
    damage(find_loose_object(repo, git, "HEAD:more.md"))
    (repo / "more.md").write_bytes(f"# More{ending}{ending}Text.{ending}".encode())
    code, report = run_fix(repo, capsys)
    assert report["fixed"] == [
        "set 1 broken object aside in docyard/broken-objects of the Git folder",
        "wrote the contents of 1 document again from the work tree",
    ]
    assert git("cat-file", "blob", "HEAD:more.md") == "# More\n\nText."
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert len(list((repo / ".git" / "docyard" / "broken-objects").iterdir())) == 1
    if ending == "\n":
        assert (code, report["not_fixed"]) == (0, [])
        assert run_fix(repo, capsys)[1]["fixed"] == []


@pytest.mark.parametrize("damage", DAMAGE_FUNCTIONS)
def test_broken_object_with_packed_copy_is_set_aside(
    repo: Path, git: Git, second_commit: str, capsys: Capture, damage: Callable[[Path], None]
) -> None:
    git("repack", "-q", "-a")  # the loose objects remain
    damage(find_loose_object(repo, git, "HEAD^{tree}"))
    damage(find_loose_object(repo, git, "HEAD"))
    code, report = run_fix(repo, capsys)
    assert (code, report["fixed"]) == (
        0,
        ["set 2 broken objects aside in docyard/broken-objects of the Git folder"],
    )
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert git("status", "--porcelain") == ""


@pytest.mark.process
@pytest.mark.parametrize("damage", DAMAGE_FUNCTIONS)
@pytest.mark.parametrize("revision", ["HEAD", "HEAD^{tree}"])
def test_broken_object_without_copy_is_set_aside_and_reported(
    repo: Path, git: Git, second_commit: str, capsys: Capture, damage: Callable[[Path], None], revision: str
) -> None:
    first_commit = git("rev-parse", "HEAD~")
    backup = repo.with_name("backup.git")
    git("clone", "--quiet", "--bare", "--no-hardlinks", ".", str(backup))
    damage(find_loose_object(repo, git, revision))
    # Otherwise the tree could be restored from Git's index.
    (repo / ".git" / "index").unlink()
    code, report = run_fix(repo, capsys)
    assert code == 1
    assert len(report["fixed"]) == 1
    [finding] = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert "the served commit is incomplete" in finding["message"]
    assert f"update-ref refs/heads/main {first_commit[:12]}" in finding["fix"]
    run_suggested_command(repo, finding["fix"].partition("; or ")[0].replace("CLONE", str(backup)))
    git("reset", "--quiet")
    assert run_fix(repo, capsys)[0] == 0
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"0123", b"junk\n"])
@pytest.mark.parametrize("branch", ["main", "a/b"])
def test_damaged_branch_is_restored_from_reflog(
    repo: Path, git: Git, second_commit: str, capsys: Capture, content: bytes, branch: str
) -> None:
    if branch != "main":
        git("branch", branch)
    path = repo / ".git" / "refs" / "heads" / branch
    path.write_bytes(content)
    code, report = run_fix(repo, capsys)
    assert code == 0
    assert report["fixed"] == [
        f"restored the branch {branch} to {second_commit[:12]}; its damaged file is in docyard/broken-refs"
    ]
    assert git("rev-parse", branch) == second_commit
    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    [backup_file] = (repo / ".git" / "docyard" / "broken-refs").iterdir()
    assert (backup_file.name, backup_file.read_bytes()) == (branch.replace("/", "%2F"), content)
    assert list((repo / ".git" / "refs").rglob("*.lock")) == []


def test_damaged_branch_is_restored_to_last_intact_commit(
    repo: Path, git: Git, second_commit: str, capsys: Capture
) -> None:
    first_commit = git("rev-parse", "HEAD~")
    truncate_to_zero(find_loose_object(repo, git, "HEAD:more.md"))
    (repo / "more.md").write_text("# Changed since\n")
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    files = {path: path.read_bytes() for path in repo.glob("*.md")}
    _, report = run_fix(repo, capsys)
    assert f"restored the branch main to {first_commit[:12]}" in report["fixed"][1]
    assert git("rev-parse", "main") == first_commit
    assert {path: path.read_bytes() for path in repo.glob("*.md")} == files


@pytest.mark.process
@pytest.mark.parametrize("branch", ["main", SHELL_BRANCH])
def test_damaged_branch_without_reflog_is_reported(
    repo: Path, git: Git, second_commit: str, capsys: Capture, branch: str
) -> None:
    git("branch", "--move", branch)
    (repo / ".git" / "refs" / "heads" / branch).write_bytes(b"")
    (repo / ".git" / "logs" / "refs" / "heads" / branch).unlink()
    code, report = run_fix(repo, capsys)
    assert (code, report["fixed"]) == (1, [])
    [finding] = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert "no reflog has an intact commit" in finding["message"]
    run_suggested_command(repo, finding["fix"].rpartition("; then ")[2].replace("COMMIT", second_commit))
    assert git("status", "--porcelain") == ""


@pytest.mark.process
@pytest.mark.parametrize("branch", ["topic", SHELL_BRANCH])
def test_damaged_head_is_reported_with_its_branch(repo: Path, git: Git, capsys: Capture, branch: str) -> None:
    git("switch", "--quiet", "--create", branch)
    (repo / ".git" / "HEAD").write_bytes(b"")
    code, report = run_fix(repo, capsys)
    assert (code, report["fixed"]) == (1, [])
    [finding] = [finding for finding in report["findings"] if finding["severity"] == "error"]
    run_suggested_command(repo, finding["fix"])
    assert (repo / ".git" / "HEAD").read_text() == f"ref: refs/heads/{branch}\n"
    assert run_fix(repo, capsys)[0] == 0


def test_lock_of_other_program_is_not_removed(
    repo: Path, git: Git, second_commit: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_GIT_S", 0.1)
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    lock = repo / ".git" / "refs" / "heads" / "main.lock"
    lock.write_text("theirs")
    os.utime(lock, (time.time() - 3600,) * 2)
    code, report = run_fix(repo, capsys)
    assert code == 1
    assert report["fixed"] == []
    assert ".git/refs/heads/main.lock" in report["not_fixed"][0]
    assert "error the lock refs/heads/main.lock in the Git folder is 60 minutes old" in format_findings(
        report
    )
    assert lock.read_text() == "theirs"
    assert (repo / ".git" / "refs" / "heads" / "main").read_bytes() == b""


def test_settings_and_files_of_user_are_unchanged(repo: Path, git: Git, capsys: Capture) -> None:
    git("config", "core.fsmonitor", "/nowhere/program")
    git("config", "core.sparseCheckout", "true")
    (repo / "guide.md").write_text("# Mine\n")
    (repo / "untracked.md").write_text("# Mine too\n")
    (repo / ".git" / "index").write_bytes(b"junk")
    assert main(["doctor", "-C", str(repo)]) == 1  # creates the index folder
    files_before = read_repository_files(repo)
    code, report = run_fix(repo, capsys)
    assert (code, report["fixed"]) == (1, [])
    assert read_repository_files(repo) == files_before


def test_doctor_without_fix_changes_no_file(repo: Path, git: Git, second_commit: str) -> None:
    truncate_to_zero(find_loose_object(repo, git, "HEAD:more.md"))
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    files_before = read_repository_files(repo), sorted((repo / ".git" / "objects").rglob("*"))
    assert main(["doctor", "-C", str(repo)]) == 1
    assert (read_repository_files(repo), sorted((repo / ".git" / "objects").rglob("*"))) == files_before
    assert not (repo / ".git" / "docyard" / "broken-objects").exists()


def test_applied_fixes_are_printed(repo: Path, git: Git, second_commit: str, capsys: Capture) -> None:
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    assert main(["doctor", "-C", str(repo)]) == 1
    assert f"fix: docyard doctor -C {repo} --fix\n" in capsys.readouterr().out
    assert main(["doctor", "-C", str(repo), "--fix"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("fixed: restored the branch main to ")
    assert output.endswith("Nothing is wrong.\n")


def test_folder_without_repository_exits_with_3(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", "-C", str(tmp_path), "--fix"]) == 3
    assert "the folder is not a Git repository" in capsys.readouterr().out
