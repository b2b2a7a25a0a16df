"""`docyard doctor --fix`: what is safe to mend is mended and told, nothing is deleted, the rest stays."""

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
from tests.repositories import all_but_objects
from tests.workspace.publishing.test_leftovers import DYING
from workspace.publishing import locks

Capture = pytest.CaptureFixture[str]


def fix(repo: Path, capsys: Capture) -> tuple[int, dict[str, list[str]]]:
    """The exit code, and what it told as data."""
    capsys.readouterr()
    code = main(["doctor", "-C", str(repo), "--fix", "--json"])
    return code, json.loads(capsys.readouterr().out)


def messages(told: dict[str, list[dict[str, str]]]) -> str:
    return "\n".join(f"{found['severity']} {found['message']}" for found in told["findings"])


def typed(repo: Path, line: str) -> None:
    """A person types what a finding says."""
    subprocess.run(line, shell=True, cwd=repo, check=True, capture_output=True)


def loose(repo: Path, git: Git, revision: str) -> Path:
    """The file of a loose object, which may be written."""
    name = git("rev-parse", revision)
    path = repo / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    return path


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut_short(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def junk(path: Path) -> None:
    path.write_bytes(b"junk")


def of_another(path: Path) -> None:
    path.write_bytes(next(other for other in path.parent.parent.glob("??/*") if other != path).read_bytes())


DAMAGE = [empty, cut_short, junk, of_another]


@pytest.fixture
def second(repo: Path, git: Git) -> str:
    """The id of a second commit, which has all its objects loose."""
    (repo / "more.md").write_text("# More\n\nText.\n")
    (repo / "guide.md").write_text("# Guide\n\nChanged.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Second")
    return git("rev-parse", "HEAD")


@pytest.mark.process
@pytest.mark.parametrize(
    ("call", "number", "told"),
    [
        ("link", 3, "recovered from a crash: 1 commit was taken back"),
        ("rename", 3, "recovered from a crash: 1 commit was taken back"),
        ("write", 2, "recovered from a crash: 1 commit was completed"),
    ],
)
def test_a_commit_that_was_cut_short_is_recovered(
    repo: Path, git: Git, capsys: Capture, call: str, number: int, told: str
) -> None:
    (repo / "README.md").write_text("# Read me\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    base = git("rev-parse", "HEAD")
    died = subprocess.run(
        (sys.executable, "-c", DYING, str(repo), base, call, str(number)),
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert died.returncode == 9
    committed = git("rev-parse", "HEAD") != base
    code, answer = fix(repo, capsys)
    assert (code, answer["fixed"], answer["not_fixed"]) == (0, [told], [])
    assert git("status", "--porcelain") == ""
    assert (git("rev-parse", "HEAD") != base) is committed
    assert [lock for lock in (repo / ".git").rglob("*.lock") if lock.name != "write.lock"] == []
    assert list((repo / ".git" / "docyard" / "pending").iterdir()) == []


def test_a_private_folder_with_a_lock_is_removed(repo: Path, capsys: Capture) -> None:
    pending = repo / ".git" / "docyard" / "pending" / "0123456789abcdef"
    pending.mkdir(parents=True)
    (pending / "claim").touch()
    (repo / ".git" / "index.lock").hardlink_to(pending / "claim")
    code, told = fix(repo, capsys)
    assert (code, told["fixed"]) == (0, ["recovered from a crash: no commit was incomplete"])
    assert not (repo / ".git" / "index.lock").exists()
    assert not pending.exists()


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_text_is_written_again_from_the_work_tree(
    repo: Path, git: Git, second: str, capsys: Capture, damage: Callable[[Path], None], ending: str
) -> None:
    damage(loose(repo, git, "HEAD:more.md"))
    (repo / "more.md").write_bytes(f"# More{ending}{ending}Text.{ending}".encode())
    code, told = fix(repo, capsys)
    assert told["fixed"] == [
        "set 1 broken object aside in docyard/broken-objects of the Git folder",
        "wrote the contents of 1 document again from the work tree",
    ]
    assert git("cat-file", "blob", "HEAD:more.md") == "# More\n\nText."
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert len(list((repo / ".git" / "docyard" / "broken-objects").iterdir())) == 1
    if ending == "\n":
        assert (code, told["not_fixed"]) == (0, [])
        assert fix(repo, capsys)[1]["fixed"] == []


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_hides_a_packed_copy_is_set_aside(
    repo: Path, git: Git, second: str, capsys: Capture, damage: Callable[[Path], None]
) -> None:
    git("repack", "-q", "-a")  # keeps the loose ones
    damage(loose(repo, git, "HEAD^{tree}"))
    damage(loose(repo, git, "HEAD"))
    code, told = fix(repo, capsys)
    assert (code, told["fixed"]) == (
        0,
        ["set 2 broken objects aside in docyard/broken-objects of the Git folder"],
    )
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert git("status", "--porcelain") == ""


@pytest.mark.process
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("revision", ["HEAD", "HEAD^{tree}"])
def test_what_is_nowhere_else_is_set_aside_and_named(
    repo: Path, git: Git, second: str, capsys: Capture, damage: Callable[[Path], None], revision: str
) -> None:
    first = git("rev-parse", "HEAD~")
    kept = repo.with_name("kept.git")
    git("clone", "--quiet", "--bare", "--no-hardlinks", ".", str(kept))
    damage(loose(repo, git, revision))
    # Git's index has the tree of the commit.
    (repo / ".git" / "index").unlink()
    code, told = fix(repo, capsys)
    assert code == 1
    assert len(told["fixed"]) == 1
    [lost] = [found for found in told["findings"] if found["severity"] == "error"]
    assert "the commit that is served is not whole" in lost["message"]
    assert f"git update-ref refs/heads/main {first[:12]}" in lost["fix"]
    typed(repo, lost["fix"].partition("; or ")[0].replace("CLONE", str(kept)))
    git("reset", "--quiet")
    assert fix(repo, capsys)[0] == 0
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"0123", b"junk\n"])
@pytest.mark.parametrize("branch", ["main", "a/b"])
def test_a_torn_branch_is_restored_from_its_reflog(
    repo: Path, git: Git, second: str, capsys: Capture, content: bytes, branch: str
) -> None:
    if branch != "main":
        git("branch", branch)
    path = repo / ".git" / "refs" / "heads" / branch
    path.write_bytes(content)
    code, told = fix(repo, capsys)
    assert code == 0
    assert told["fixed"] == [
        f"restored the branch {branch} to {second[:12]}; its damaged file is in docyard/broken-refs"
    ]
    assert git("rev-parse", branch) == second
    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    [aside] = (repo / ".git" / "docyard" / "broken-refs").iterdir()
    assert (aside.name, aside.read_bytes()) == (branch.replace("/", "%2F"), content)
    assert list((repo / ".git" / "refs").rglob("*.lock")) == []


def test_a_torn_branch_goes_back_to_the_last_commit_that_is_whole(
    repo: Path, git: Git, second: str, capsys: Capture
) -> None:
    first = git("rev-parse", "HEAD~")
    empty(loose(repo, git, "HEAD:more.md"))
    (repo / "more.md").write_text("# Changed since\n")
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    files = {path: path.read_bytes() for path in repo.glob("*.md")}
    _, told = fix(repo, capsys)
    assert f"restored the branch main to {first[:12]}" in told["fixed"][1]
    assert git("rev-parse", "main") == first
    assert {path: path.read_bytes() for path in repo.glob("*.md")} == files


@pytest.mark.process
def test_a_torn_branch_without_a_reflog_is_named(repo: Path, git: Git, second: str, capsys: Capture) -> None:
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    (repo / ".git" / "logs" / "refs" / "heads" / "main").unlink()
    code, told = fix(repo, capsys)
    assert (code, told["fixed"]) == (1, [])
    [found] = [found for found in told["findings"] if found["severity"] == "error"]
    assert "no reflog names a commit that is whole" in found["message"]
    typed(repo, found["fix"].rpartition("; then ")[2].replace("COMMIT", second))
    assert git("status", "--porcelain") == ""


def test_a_torn_head_is_named_with_its_branch(repo: Path, git: Git, capsys: Capture) -> None:
    git("switch", "--quiet", "--create", "topic")
    (repo / ".git" / "HEAD").write_bytes(b"")
    code, told = fix(repo, capsys)
    assert (code, told["fixed"]) == (1, [])
    [found] = [found for found in told["findings"] if found["severity"] == "error"]
    assert found["fix"] == 'echo "ref: refs/heads/topic" > .git/HEAD'
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    assert fix(repo, capsys)[0] == 0


def test_the_lock_of_another_stays(
    repo: Path, git: Git, second: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_GIT", 0.1)
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    lock = repo / ".git" / "refs" / "heads" / "main.lock"
    lock.write_text("theirs")
    os.utime(lock, (time.time() - 3600,) * 2)
    code, told = fix(repo, capsys)
    assert code == 1
    assert told["fixed"] == []
    assert ".git/refs/heads/main.lock" in told["not_fixed"][0]
    assert "error the lock refs/heads/main.lock in the Git folder is 60 minutes old" in messages(told)
    assert lock.read_text() == "theirs"
    assert (repo / ".git" / "refs" / "heads" / "main").read_bytes() == b""


def test_settings_and_files_of_a_person_stay(repo: Path, git: Git, capsys: Capture) -> None:
    git("config", "core.fsmonitor", "/nowhere/program")
    git("config", "core.sparseCheckout", "true")
    (repo / "guide.md").write_text("# Mine\n")
    (repo / "untracked.md").write_text("# Mine too\n")
    (repo / ".git" / "index").write_bytes(b"junk")
    assert main(["doctor", "-C", str(repo)]) == 1  # makes the index's folder
    before = all_but_objects(repo)
    code, told = fix(repo, capsys)
    assert (code, told["fixed"]) == (1, [])
    assert all_but_objects(repo) == before


def test_without_fix_nothing_is_changed(repo: Path, git: Git, second: str) -> None:
    empty(loose(repo, git, "HEAD:more.md"))
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    before = all_but_objects(repo), sorted((repo / ".git" / "objects").rglob("*"))
    assert main(["doctor", "-C", str(repo)]) == 1
    assert (all_but_objects(repo), sorted((repo / ".git" / "objects").rglob("*"))) == before
    assert not (repo / ".git" / "docyard" / "broken-objects").exists()


def test_what_was_mended_is_told_in_words(repo: Path, git: Git, second: str, capsys: Capture) -> None:
    (repo / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    assert main(["doctor", "-C", str(repo)]) == 1
    assert "fix: docyard doctor --fix\n" in capsys.readouterr().out
    assert main(["doctor", "-C", str(repo), "--fix"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("fixed: restored the branch main to ")
    assert out.endswith("Nothing is wrong.\n")


def test_a_folder_that_is_no_repository_is_a_case_of_cannot(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", "-C", str(tmp_path), "--fix"]) == 3
    assert "this is not a Git repository" in capsys.readouterr().out
