"""`docyard doctor`: each problem is caused, and reported with its fix."""

from __future__ import annotations

import json
import os
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.commands.doctor import check_all
from docyard.doctor.environment import check_environment, check_libraries
from docyard.doctor.finding import Finding, Severity
from docyard.doctor.installation import Installation, Installer, parse_requirements
from tests.docyard.conftest import Git


def format_findings(folder: Path, branch: str | None = None) -> str:
    """Return every finding on a line: severity, area, message and fix."""
    return "\n".join(" | ".join((f.severity, f.area, f.message, f.fix)) for f in check_all(folder, branch))


def find_problems(folder: Path) -> list[str]:
    return [finding.message for finding in check_all(folder, None) if finding.is_problem]


def test_healthy_repository_has_no_problems(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find_problems(repo) == []
    assert main(["doctor", "-C", str(repo)]) == 0
    assert capsys.readouterr().out.endswith("Nothing is wrong.\n")


def test_problems_end_with_1_and_are_listed_as_json(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    git("checkout", "--quiet", "--detach")
    assert main(["doctor", "-C", str(repo), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["healthy"] is False
    assert {"severity", "area", "message", "fix"} == set(answer["findings"][0])
    assert answer["fixed"] == answer["not_fixed"] == []


def test_missing_repository_is_reported(tmp_path: Path) -> None:
    assert "error | repository | the folder is not a Git repository" in format_findings(tmp_path)


def test_bare_and_empty_repositories_are_healthy(tmp_path: Path, repo: Path, git: Git) -> None:
    git("clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    assert find_problems(tmp_path / "bare.git") == []
    (tmp_path / "new").mkdir()
    git("init", "--quiet", cwd=tmp_path / "new")
    assert find_problems(tmp_path / "new") == []
    assert "note | repository | there is no commit yet" in format_findings(tmp_path / "new")


def no_identity(repo: Path, git: Git) -> None:
    (Path(os.environ["HOME"]) / ".gitconfig").write_text("")


def detached(repo: Path, git: Git) -> None:
    git("checkout", "--quiet", "--detach")


def merging(repo: Path, git: Git) -> None:
    git("switch", "--quiet", "--create", "other")
    git("commit", "--quiet", "--allow-empty", "--message", "Other")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--no-commit", "other")


def old_lock(repo: Path, git: Git) -> None:
    lock = repo / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600,) * 2)


def changed(repo: Path, git: Git) -> None:
    (repo / "guide.md").write_text("# Guide\n")


def staged(repo: Path, git: Git) -> None:
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text("# Guide\n")
    git("add", ".")
    (repo / "guide.md").write_text(text)


def removed(repo: Path, git: Git) -> None:
    (repo / "guide.md").unlink()


def commit_file(name: str, data: bytes) -> Callable[[Path, Git], None]:
    def make(repo: Path, git: Git) -> None:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_bytes(data)
        git("add", ".")
        git("commit", "--quiet", "--message", "File")

    return make


def signing(repo: Path, git: Git) -> None:
    git("config", "commit.gpgsign", "true")


def sparse(repo: Path, git: Git) -> None:
    git("config", "core.sparseCheckout", "true")


def split(repo: Path, git: Git) -> None:
    git("update-index", "--split-index")


def broken_git_index(repo: Path, git: Git) -> None:
    (repo / ".git" / "index").write_bytes(b"junk")


def filtered(repo: Path, git: Git) -> None:
    (repo / ".gitattributes").write_text("*.md filter=anything\n")


def lost_blob(repo: Path, git: Git) -> None:
    name = git("rev-parse", "HEAD:guide.md")
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()


def empty_head(repo: Path, git: Git) -> None:
    (repo / ".git" / "HEAD").write_text("")


def died(repo: Path, git: Git) -> None:
    pending = repo / ".git" / "docyard" / "pending" / "0123456789abcdef"
    pending.mkdir(parents=True)
    (pending / "index").write_bytes(b"")
    (repo / ".git" / "index.lock").hardlink_to(pending / "index")


def folder_as_lock(repo: Path, git: Git) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    [lock] = (repo / ".git" / "docyard" / "index").glob("*/lock")
    lock.unlink()
    lock.mkdir()


def sha256(repo: Path, git: Git) -> None:
    git("config", "core.repositoryformatversion", "1")
    git("config", "extensions.objectformat", "sha256")


def damaged_index(repo: Path, git: Git) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    for file in (repo / ".git" / "docyard" / "index").rglob("*"):
        if file.is_file() and file.name.startswith("MAIN_"):
            file.write_bytes(b"\xff" * 100)


def other_indexes(repo: Path, git: Git) -> None:
    git("branch", "old")
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    assert main(["index", "rebuild", "-C", str(repo), "--branch", "old"]) == 0
    git("branch", "--delete", "--quiet", "old")


def twice_checked_out(repo: Path, git: Git) -> None:
    git("worktree", "add", "--quiet", "--force", str(repo.with_name("second")), "main")


def unmerged(repo: Path, git: Git) -> None:
    (repo / "guide.md").write_text("# Stashed\n")
    git("stash", "--quiet")
    (repo / "guide.md").write_text("# Committed\n")
    git("commit", "--quiet", "--all", "--message", "On")
    subprocess.run(("git", "stash", "pop", "--quiet"), cwd=repo, check=False, capture_output=True)


def skipped(repo: Path, git: Git) -> None:
    git("update-index", "--skip-worktree", "guide.md")


def shallow(repo: Path, git: Git) -> None:
    (repo / ".git" / "shallow").write_text(git("rev-parse", "HEAD") + "\n")


def replaced(repo: Path, git: Git) -> None:
    git("commit", "--quiet", "--allow-empty", "--message", "On")
    git("replace", "--graft", "HEAD")


def replaced_and_packed(repo: Path, git: Git) -> None:
    replaced(repo, git)
    git("pack-refs", "--all", "--prune")


def borrowed(repo: Path, git: Git) -> None:
    git("clone", "--quiet", "--bare", ".", str(repo.with_name("lender.git")))
    alternates = repo / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{repo.with_name('lender.git') / 'objects'}\n")


def many_loose_objects(repo: Path, git: Git) -> None:
    folder = repo / ".git" / "objects" / "17"
    folder.mkdir(exist_ok=True)
    data = zlib.compress(b"blob 1\0x")
    for number in range(30):
        (folder / f"{number:038x}").write_bytes(data)


def many_packs(repo: Path, git: Git) -> None:
    folder = repo / ".git" / "objects" / "pack"
    for number in range(51):
        (folder / f"pack-{number:040x}.pack").write_bytes(b"")


def hooked(repo: Path, git: Git) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)


def programs(repo: Path, git: Git) -> None:
    git("config", "core.fsmonitor", "/nowhere/program")
    git("config", "filter.lfs.clean", "git-lfs clean")
    git("config", "alias.st", "status")


def monitored(repo: Path, git: Git) -> None:
    git("config", "core.fsmonitor", "true")
    git("config", "alias.st", "!status")


def included(repo: Path, git: Git) -> None:
    git("config", "include.path", "/dev/null")


def empty_object(repo: Path, git: Git) -> None:
    path = repo / ".git" / "objects" / "ab" / ("0" * 38)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")


def torn_branch(repo: Path, git: Git) -> None:
    git("branch", "other")
    (repo / ".git" / "refs" / "heads" / "other").write_bytes(b"")


def lost_tree(repo: Path, git: Git) -> None:
    name = git("rev-parse", "HEAD^{tree}")
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()


def old_lock_of_a_work_tree(repo: Path, git: Git) -> None:
    git("worktree", "add", "--quiet", "-b", "other", str(repo.with_name("second")))
    lock = repo / ".git" / "worktrees" / "second" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600 * 24 * 3,) * 2)


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"

SICK: list[tuple[Callable[[Path, Git], None], str]] = [
    (no_identity, "warning | repository | Git's user.name and user.email are not set"),
    (detached, "warning | repository | HEAD is detached"),
    (merging, "error | repository | a merge is in progress"),
    (old_lock, "error | repository | the lock index.lock in the Git folder is 60 minutes old"),
    (changed, "warning | repository | 1 document has uncommitted changes"),
    (staged, "warning | repository | 1 document has uncommitted changes"),
    (removed, "warning | repository | 1 document has uncommitted changes"),
    (
        commit_file("docyard.toml", b"rooot = 'x'"),
        "error | repository | docyard.toml: there is no setting 'rooot'",
    ),
    (commit_file("docyard.toml", b"root = "), "error | repository | docyard.toml is not TOML"),
    (commit_file("old.md", b"# caf\xe9\n"), "warning | repository | 1 document is not UTF-8: old.md"),
    (
        commit_file(".docyard/templates/memo/type.toml", b"title = 'Memo'"),
        "error | repository | the document type 'memo'",
    ),
    (signing, "warning | repository | the repository requires signed commits"),
    (sparse, "error | repository | the work tree is a sparse checkout"),
    (split, "error | repository | Git's index is split"),
    (broken_git_index, "error | repository | Git's index cannot be read"),
    (filtered, "warning | repository | 1 document has a filter or an encoding"),
    (lost_blob, "error | repository | the contents of 1 document are missing or broken"),
    (empty_head, "error | repository | HEAD is damaged"),
    (
        commit_file("docyard.toml", b"root = 'nope'"),
        "warning | repository | root in docyard.toml is 'nope'",
    ),
    (died, "error | repository | a docyard process died during a commit, and its locks"),
    (
        folder_as_lock,
        "error | index | the index's own folder cannot be used: lock in it cannot be written",
    ),
    (twice_checked_out, "error | repository | 2 work trees have the branch checked out"),
    (unmerged, "error | repository | files are unmerged"),
    (skipped, "warning | repository | 1 document is marked in Git's index"),
    (shallow, "note | repository | this is a shallow clone"),
    (replaced, "note | repository | objects are replaced"),
    (replaced_and_packed, "note | repository | objects are replaced"),
    (borrowed, "note | repository | objects are borrowed"),
    (many_loose_objects, "note | repository | about 7,680 objects are not packed | git gc"),
    (many_packs, "note | repository | 51 packs slow down every read | git gc"),
    (hooked, "note | repository | hooks are installed, but docyard's commits do not run them: pre-commit"),
    (
        programs,
        "note | repository | settings in the repository name programs, which Git would run "
        "but docyard does not: "
        "core.fsmonitor, filter.lfs.clean |",
    ),
    (
        monitored,
        "note | repository | settings in the repository name programs, which Git would run "
        "but docyard does not: "
        "alias.st |",
    ),
    (
        included,
        "note | repository | settings in the repository refer to other files or folders: include.path",
    ),
    (commit_file("large.md", LFS), "note | repository | 1 path is a pointer of Git LFS"),
    (empty_object, "error | repository | 1 object is empty or truncated"),
    (torn_branch, "error | repository | the branch other is damaged"),
    (lost_tree, "error | repository | the served commit is incomplete"),
    (
        old_lock_of_a_work_tree,
        "error | repository | the lock worktrees/second/index.lock in the Git folder is 3 days",
    ),
    (sha256, "error | repository | this Git repository is not supported"),
    (damaged_index, "error | index | the index is damaged"),
    (other_indexes, "warning | index | 1 index folder of earlier versions or of deleted branches"),
]


@pytest.mark.parametrize(
    ("spoil", "expected"),
    SICK,
    ids=[case[0].__qualname__.split(".")[0] + f"-{i}" for i, case in enumerate(SICK)],
)
def test_problem_is_reported_with_fix(
    repo: Path, git: Git, spoil: Callable[[Path, Git], None], expected: str
) -> None:
    spoil(repo, git)
    output = format_findings(repo)
    line = next((line for line in output.splitlines() if line.startswith(expected)), None)
    assert line is not None, output
    assert not line.endswith("| "), "the problem has no fix"


def test_links_and_submodules_are_not_documents(repo: Path, git: Git) -> None:
    (repo / "link.md").symlink_to("guide.md")
    git("add", ".")
    git("commit", "--quiet", "--message", "Link")
    assert (
        "note | repository | 1 path is named like documents, but symbolic links or submodules"
        in format_findings(repo)
    )


def test_files_with_invalid_names_are_listed(repo: Path, git: Git) -> None:
    (repo / "a\nb.md").write_text("x")
    (repo / os.fsdecode(b"\xff.md")).write_text("x")
    git("add", ".")
    git("commit", "--quiet", "--message", "Odd names")
    assert (
        "2 files have a name with invalid characters, and cannot be read: a\\nb.md, \\udcff.md"
        in format_findings(repo)
    )


def test_obstacle_to_commits_is_reported(repo: Path) -> None:
    (repo / ".git" / "docyard").write_text("")
    assert "docyard in the repository's Git folder is not a folder" in format_findings(repo)


def test_separate_work_tree_is_healthy(repo: Path, git: Git, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "apart.git")
    git("config", "core.worktree", str(repo), cwd=tmp_path / "apart.git")
    assert find_problems(tmp_path / "apart.git") == []


def test_private_folder_without_lock_is_only_a_note(repo: Path, git: Git) -> None:
    died(repo, git)
    (repo / ".git" / "index.lock").unlink()
    assert find_problems(repo) == []
    assert (
        "note | repository | a docyard process died during a commit and left one private folder"
        in format_findings(repo)
    )


def test_fresh_lock_is_no_problem(repo: Path) -> None:
    (repo / ".git" / "index.lock").touch()
    assert find_problems(repo) == []


def test_index_state_is_reported_without_changes(repo: Path, git: Git) -> None:
    assert "note | index | there is no index yet" in format_findings(repo)
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    assert "| index |" not in format_findings(repo)
    git("commit", "--quiet", "--allow-empty", "--message", "On")
    assert "note | index | the index is behind" in format_findings(repo)


def libraries(*lines: str, installer: Installer = Installer.PIP) -> list[Finding]:
    installation = Installation(installer, Path("/env/docyard"), Path("/env/docyard/bin/python"))
    return list(check_libraries(parse_requirements(lines), installation))


def test_libraries_are_compared_with_requirements() -> None:
    assert libraries("click>=1.0", 'pytest>=1; extra == "dev"', "no-such-library>=1; os_name == 'nt'") == []
    old, exact, missing = libraries("click>=999.0", "click==1.0", "no-such-library>=1")
    assert old.severity is exact.severity is missing.severity is Severity.ERROR
    assert "docyard needs click>=999.0" in old.message
    assert old.fix == "/env/docyard/bin/python -m pip install 'click>=999.0'"
    assert "no-such-library is not installed" in missing.message


def test_missing_extra_is_note_with_command_of_installer() -> None:
    lines = ("no-such-library>=2; extra == 'math'", "click>=999.0 ; extra == 'eval'")
    missing, old = libraries(*lines, installer=Installer.PIPX)
    assert not missing.is_problem
    assert missing.message.startswith(
        "no-such-library is not installed; no-such-library>=2 is needed only for "
    )
    assert missing.fix == "pipx inject docyard 'no-such-library>=2'"
    assert not old.is_problem
    assert old.message.endswith("; click>=999.0 is needed only for the plots of `docyard eval`")
    assert libraries(*lines)[0].fix == "/env/docyard/bin/python -m pip install 'docyard[math]'"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    messages = [finding.message for finding in check_environment(tmp_path, None)]
    assert any("cannot be written" in message for message in messages)
