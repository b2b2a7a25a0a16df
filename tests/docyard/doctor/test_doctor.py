"""`docyard doctor`: problems, each reported with its message and its fix, and healthy repositories."""

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
from docyard.doctor.environment import check_libraries, check_repository_state
from docyard.doctor.finding import Finding, Severity
from docyard.doctor.installation import Installation, Installer, parse_requirements
from tests.docyard.conftest import Git


def format_findings(folder: Path, branch: str | None = None) -> str:
    """Return one line for each finding: severity, area, message and fix."""
    return "\n".join(
        " | ".join((finding.severity, finding.area, finding.message, finding.fix))
        for finding in check_all(folder, branch)
    )


def find_problems(folder: Path) -> list[str]:
    return [finding.message for finding in check_all(folder, None) if finding.is_problem]


def test_healthy_repository_has_no_problems(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find_problems(repo) == []
    assert main(["doctor", "-C", str(repo)]) == 0
    assert capsys.readouterr().out.endswith("Nothing is wrong.\n")


def test_command_with_problems_exits_with_1_and_lists_them_as_json(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    git("checkout", "--quiet", "--detach")
    assert main(["doctor", "-C", str(repo), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["healthy"] is False
    assert {"severity", "area", "message", "fix"} == set(report["findings"][0])
    assert report["fixed"] == report["not_fixed"] == []


def test_missing_repository_is_reported(tmp_path: Path) -> None:
    assert "error | repository | the folder is not a Git repository" in format_findings(tmp_path)


def test_bare_and_empty_repositories_are_healthy(tmp_path: Path, repo: Path, git: Git) -> None:
    git("clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    assert find_problems(tmp_path / "bare.git") == []
    (tmp_path / "new").mkdir()
    git("init", "--quiet", cwd=tmp_path / "new")
    assert find_problems(tmp_path / "new") == []
    assert "note | repository | there is no commit yet" in format_findings(tmp_path / "new")


def remove_identity(repo: Path, git: Git) -> None:
    (Path(os.environ["HOME"]) / ".gitconfig").write_text("")


def detach_head(repo: Path, git: Git) -> None:
    git("checkout", "--quiet", "--detach")


def start_merge(repo: Path, git: Git) -> None:
    git("switch", "--quiet", "--create", "other")
    git("commit", "--quiet", "--allow-empty", "--message", "Other")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "--no-commit", "other")


def create_old_lock(repo: Path, git: Git) -> None:
    lock = repo / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600,) * 2)


def change_document(repo: Path, git: Git) -> None:
    (repo / "guide.md").write_text("# Guide\n")


def stage_change(repo: Path, git: Git) -> None:
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text("# Guide\n")
    git("add", ".")
    (repo / "guide.md").write_text(text)


def delete_document(repo: Path, git: Git) -> None:
    (repo / "guide.md").unlink()


def commit_file(name: str, data: bytes) -> Callable[[Path, Git], None]:
    def make_commit(repo: Path, git: Git) -> None:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_bytes(data)
        git("add", ".")
        git("commit", "--quiet", "--message", "File")

    return make_commit


def require_signatures(repo: Path, git: Git) -> None:
    git("config", "commit.gpgsign", "true")


def enable_sparse_checkout(repo: Path, git: Git) -> None:
    git("config", "core.sparseCheckout", "true")


def split_git_index(repo: Path, git: Git) -> None:
    git("update-index", "--split-index")


def damage_git_index(repo: Path, git: Git) -> None:
    (repo / ".git" / "index").write_bytes(b"junk")


def add_filter(repo: Path, git: Git) -> None:
    (repo / ".gitattributes").write_text("*.md filter=anything\n")


def delete_blob(repo: Path, git: Git) -> None:
    name = git("rev-parse", "HEAD:guide.md")
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()


def truncate_head(repo: Path, git: Git) -> None:
    (repo / ".git" / "HEAD").write_text("")


def leave_interrupted_commit(repo: Path, git: Git) -> None:
    pending = repo / ".git" / "docyard" / "pending" / "0123456789abcdef"
    pending.mkdir(parents=True)
    (pending / "index").write_bytes(b"")
    (repo / ".git" / "index.lock").hardlink_to(pending / "index")


def replace_lock_by_folder(repo: Path, git: Git) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    [lock] = (repo / ".git" / "docyard" / "index").glob("*/lock")
    lock.unlink()
    lock.mkdir()


def set_sha256_format(repo: Path, git: Git) -> None:
    git("config", "core.repositoryformatversion", "1")
    git("config", "extensions.objectformat", "sha256")


def damage_search_index(repo: Path, git: Git) -> None:
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    for file in (repo / ".git" / "docyard" / "index").rglob("*"):
        if file.is_file() and file.name.startswith("MAIN_"):
            file.write_bytes(b"\xff" * 100)


def create_unused_index(repo: Path, git: Git) -> None:
    git("branch", "old")
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    assert main(["index", "rebuild", "-C", str(repo), "--branch", "old"]) == 0
    git("branch", "--delete", "--quiet", "old")


def check_out_branch_twice(repo: Path, git: Git) -> None:
    git("worktree", "add", "--quiet", "--force", str(repo.with_name("second")), "main")


def leave_unmerged_file(repo: Path, git: Git) -> None:
    (repo / "guide.md").write_text("# Stashed\n")
    git("stash", "--quiet")
    (repo / "guide.md").write_text("# Committed\n")
    git("commit", "--quiet", "--all", "--message", "On")
    subprocess.run(("git", "stash", "pop", "--quiet"), cwd=repo, check=False, capture_output=True)


def mark_skip_worktree(repo: Path, git: Git) -> None:
    git("update-index", "--skip-worktree", "guide.md")


def mark_as_shallow(repo: Path, git: Git) -> None:
    (repo / ".git" / "shallow").write_text(git("rev-parse", "HEAD") + "\n")


def replace_object(repo: Path, git: Git) -> None:
    git("commit", "--quiet", "--allow-empty", "--message", "On")
    git("replace", "--graft", "HEAD")


def replace_object_and_pack_refs(repo: Path, git: Git) -> None:
    replace_object(repo, git)
    git("pack-refs", "--all", "--prune")


def borrow_objects(repo: Path, git: Git) -> None:
    git("clone", "--quiet", "--bare", ".", str(repo.with_name("lender.git")))
    alternates = repo / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{repo.with_name('lender.git') / 'objects'}\n")


def create_many_loose_objects(repo: Path, git: Git) -> None:
    folder = repo / ".git" / "objects" / "17"
    folder.mkdir(exist_ok=True)
    data = zlib.compress(b"blob 1\0x")
    # A commit of the sample, whose id depends on the time, may be in this folder.
    for number in range(30 - len([*folder.iterdir()])):
        (folder / f"{number:038x}").write_bytes(data)


def create_many_packs(repo: Path, git: Git) -> None:
    folder = repo / ".git" / "objects" / "pack"
    for number in range(51):
        (folder / f"pack-{number:040x}.pack").write_bytes(b"")


def install_hook(repo: Path, git: Git) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)


def configure_programs(repo: Path, git: Git) -> None:
    git("config", "core.fsmonitor", "/nowhere/program")
    git("config", "filter.lfs.clean", "git-lfs clean")
    git("config", "alias.st", "status")


def enable_fsmonitor(repo: Path, git: Git) -> None:
    git("config", "core.fsmonitor", "true")
    git("config", "alias.st", "!status")


def include_settings(repo: Path, git: Git) -> None:
    git("config", "include.path", "/dev/null")


def create_empty_object(repo: Path, git: Git) -> None:
    path = repo / ".git" / "objects" / "ab" / ("0" * 38)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")


def truncate_branch(repo: Path, git: Git) -> None:
    git("branch", "other")
    (repo / ".git" / "refs" / "heads" / "other").write_bytes(b"")


def delete_tree(repo: Path, git: Git) -> None:
    name = git("rev-parse", "HEAD^{tree}")
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()


def create_old_lock_of_work_tree(repo: Path, git: Git) -> None:
    git("worktree", "add", "--quiet", "-b", "other", str(repo.with_name("second")))
    lock = repo / ".git" / "worktrees" / "second" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600 * 24 * 3,) * 2)


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"

PROBLEMS: list[tuple[Callable[[Path, Git], None], str]] = [
    (remove_identity, "warning | repository | Git's user.name and user.email are not set"),
    (detach_head, "warning | repository | HEAD is detached"),
    (start_merge, "error | repository | a merge is in progress"),
    (create_old_lock, "error | repository | the lock index.lock in the Git folder is 60 minutes old"),
    (change_document, "warning | repository | 1 document has uncommitted changes"),
    (stage_change, "warning | repository | 1 document has uncommitted changes"),
    (delete_document, "warning | repository | 1 document has uncommitted changes"),
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
    (require_signatures, "warning | repository | the repository requires signed commits"),
    (enable_sparse_checkout, "error | repository | the work tree is a sparse checkout"),
    (split_git_index, "error | repository | Git's index is split"),
    (damage_git_index, "error | repository | Git's index cannot be read"),
    (add_filter, "warning | repository | 1 document has a filter or an encoding"),
    (delete_blob, "error | repository | the contents of 1 document are missing or broken"),
    (truncate_head, "error | repository | HEAD is damaged"),
    (
        commit_file("docyard.toml", b"root = 'nope'"),
        "warning | repository | root in docyard.toml is 'nope'",
    ),
    (leave_interrupted_commit, "error | repository | a docyard process died during a commit, and its locks"),
    (
        replace_lock_by_folder,
        "error | index | docyard cannot write lock in the index's own folder",
    ),
    (check_out_branch_twice, "error | repository | 2 work trees have the branch checked out"),
    (leave_unmerged_file, "error | repository | files are unmerged"),
    (mark_skip_worktree, "warning | repository | 1 document is marked in Git's index"),
    (mark_as_shallow, "note | repository | this is a shallow clone"),
    (replace_object, "note | repository | objects are replaced"),
    (replace_object_and_pack_refs, "note | repository | objects are replaced"),
    (borrow_objects, "note | repository | objects are borrowed"),
    (create_many_loose_objects, "note | repository | about 7,680 objects are not packed | git gc"),
    (create_many_packs, "note | repository | 51 packs slow down every read | git gc"),
    (
        install_hook,
        "note | repository | hooks are installed, but docyard's commits do not run them: pre-commit",
    ),
    (
        configure_programs,
        "note | repository | settings in the repository name programs, which Git would run "
        "but docyard does not: "
        "core.fsmonitor, filter.lfs.clean |",
    ),
    (
        enable_fsmonitor,
        "note | repository | settings in the repository name programs, which Git would run "
        "but docyard does not: "
        "alias.st |",
    ),
    (
        include_settings,
        "note | repository | settings in the repository refer to other files or folders: include.path",
    ),
    (commit_file("large.md", LFS_POINTER), "note | repository | 1 path is a pointer of Git LFS"),
    (create_empty_object, "error | repository | 1 object is empty or truncated"),
    (truncate_branch, "error | repository | the branch other is damaged"),
    (delete_tree, "error | repository | the served commit is incomplete"),
    (
        create_old_lock_of_work_tree,
        "error | repository | the lock worktrees/second/index.lock in the Git folder is 3 days",
    ),
    (set_sha256_format, "error | repository | this Git repository is not supported"),
    (damage_search_index, "error | index | the index is damaged"),
    (create_unused_index, "warning | index | 1 index folder is not used any more"),
]


@pytest.mark.parametrize(
    ("cause_problem", "expected"),
    PROBLEMS,
    ids=[case[0].__qualname__.split(".")[0] + f"-{number}" for number, case in enumerate(PROBLEMS)],
)
def test_problem_is_reported_with_fix(
    repo: Path, git: Git, cause_problem: Callable[[Path, Git], None], expected: str
) -> None:
    cause_problem(repo, git)
    output = format_findings(repo)
    line = next((line for line in output.splitlines() if line.startswith(expected)), None)
    assert line is not None, output
    assert not line.endswith("| "), "the problem has no fix"


def test_symbolic_link_named_like_document_is_reported(repo: Path, git: Git) -> None:
    (repo / "link.md").symlink_to("guide.md")
    git("add", ".")
    git("commit", "--quiet", "--message", "Link")
    assert (
        "note | repository | docyard does not read symbolic links and submodules, but 1 of them has the "
        "suffix of a document: link.md"
    ) in format_findings(repo)


def test_files_with_invalid_names_are_listed(repo: Path, git: Git) -> None:
    (repo / "a\nb.md").write_text("x")
    (repo / os.fsdecode(b"\xff.md")).write_text("x")
    git("add", ".")
    git("commit", "--quiet", "--message", "Odd names")
    assert (
        "2 files have a name with invalid characters, and cannot be read: a\\nb.md, \\udcff.md"
        in format_findings(repo)
    )


def test_file_in_place_of_docyard_folder_is_reported(repo: Path) -> None:
    (repo / ".git" / "docyard").write_text("")
    assert "docyard in the repository's Git folder is not a folder" in format_findings(repo)


def test_separate_work_tree_is_healthy(repo: Path, git: Git, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "apart.git")
    git("config", "core.worktree", str(repo), cwd=tmp_path / "apart.git")
    assert find_problems(tmp_path / "apart.git") == []


def test_leftover_staging_folder_without_lock_is_only_a_note(repo: Path, git: Git) -> None:
    leave_interrupted_commit(repo, git)
    (repo / ".git" / "index.lock").unlink()
    assert find_problems(repo) == []
    assert (
        "note | repository | a docyard process died during a commit and left one folder of staged files"
        in format_findings(repo)
    )


def test_new_git_lock_is_not_reported(repo: Path) -> None:
    (repo / ".git" / "index.lock").touch()
    assert find_problems(repo) == []


def test_index_state_is_reported_without_changes(repo: Path, git: Git) -> None:
    assert "note | index | there is no index yet" in format_findings(repo)
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    assert "| index |" not in format_findings(repo)
    git("commit", "--quiet", "--allow-empty", "--message", "On")
    assert "note | index | the index is behind" in format_findings(repo)


def find_library_problems(*lines: str, installer: Installer = Installer.PIP) -> list[Finding]:
    installation = Installation(installer, Path("/env/docyard"), Path("/env/docyard/bin/python"))
    return list(check_libraries(parse_requirements(lines), installation))


def test_libraries_are_compared_with_requirements() -> None:
    assert (
        find_library_problems(
            "click>=1.0", 'pytest>=1; extra == "dev"', "no-such-library>=1; os_name == 'nt'"
        )
        == []
    )
    outdated_finding, inexact_finding, missing_finding = find_library_problems(
        "click>=999.0", "click==1.0", "no-such-library>=1"
    )
    assert outdated_finding.severity is inexact_finding.severity is missing_finding.severity is Severity.ERROR
    assert "docyard needs click>=999.0" in outdated_finding.message
    assert outdated_finding.fix == "/env/docyard/bin/python -m pip install 'click>=999.0'"
    assert "no-such-library is not installed" in missing_finding.message


def test_missing_extra_is_note_with_command_of_installer() -> None:
    lines = ("no-such-library>=2; extra == 'math'", "click>=999.0 ; extra == 'eval'")
    missing_finding, outdated_finding = find_library_problems(*lines, installer=Installer.PIPX)
    assert not missing_finding.is_problem
    assert missing_finding.message.startswith(
        "no-such-library is not installed; no-such-library>=2 is needed only for "
    )
    assert missing_finding.fix == "pipx inject docyard 'no-such-library>=2'"
    assert not outdated_finding.is_problem
    assert outdated_finding.message.endswith("; click>=999.0 is needed only for the plots of `docyard eval`")
    assert find_library_problems(*lines)[0].fix == "/env/docyard/bin/python -m pip install 'docyard[math]'"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    messages = [finding.message for finding in check_repository_state(tmp_path, None)]
    assert any("cannot be written" in message for message in messages)
