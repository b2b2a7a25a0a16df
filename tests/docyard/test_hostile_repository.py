"""A repository that an attacker prepared: Docyard runs none of its programs, and writes to no other folder.

Each trap is a program that creates a marker file. In the first test, Git runs some of the traps, which proves
that they work.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import repositories
from tests.acceptance.server import serve_repository
from tests.repositories import Repo, read_repository_files
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

FILES = {
    "README.md": "# Example\n\nText.\n\n## Tasks\n\n- [ ] One\n",
    "filtered/a.md": "# Filtered\n",
    "data.bin": "data\n",
    ".gitattributes": "*.bin filter=evil diff=evil merge=evil\nfiltered/*.md filter=evil\n",
}
HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch",
    "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive",
    "prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate",
    "update",
)  # fmt: skip
PROGRAM_SETTINGS = (
    "core.fsmonitor", "core.editor", "core.pager", "core.sshCommand", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "sequence.editor", "diff.external", "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean", "filter.evil.smudge", "merge.evil.driver", "gpg.program", "credential.helper",
    "uploadpack.packObjectsHook", "interactive.diffFilter",
)  # fmt: skip


class Traps:
    """Programs that create a marker file with their name when they run."""

    def __init__(self, folder: Path) -> None:
        self._programs, self._markers = folder / "programs", folder / "markers"
        self._programs.mkdir()
        self._markers.mkdir()

    def add_program(self, name: str, program_path: Path | None = None) -> Path:
        path = program_path or self._programs / name
        path.write_text(f"#!/bin/sh\ntouch '{self._markers / name}'\n")
        path.chmod(0o755)
        return path

    def list_executed_programs(self) -> set[str]:
        return {path.name for path in self._markers.iterdir()}


@pytest.fixture
def hostile_repo(tmp_path: Path) -> tuple[Repo, Traps]:
    repo = repositories.create_repository(tmp_path / "repo", FILES)
    traps = Traps(tmp_path)
    git_dir = repo.path / ".git"
    (git_dir / "evil-hooks").mkdir()
    (git_dir / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        traps.add_program(f"hooks-{hook}", git_dir / "hooks" / hook)
        traps.add_program(f"path-{hook}", git_dir / "evil-hooks" / hook)
    for name in PROGRAM_SETTINGS:
        repo.git("config", name, str(traps.add_program(name)))
    repo.git("config", "alias.status", f"!{traps.add_program('alias')}")
    repo.git("config", "core.hooksPath", ".git/evil-hooks")
    included_settings = git_dir / "included"
    included_settings.write_text(f'[filter "evil"]\n\tprocess = {traps.add_program("process")}\n')
    repo.git("config", "include.path", "included")
    attributes = git_dir / "evil-attributes"
    attributes.write_text("*.bin filter=evil\n")
    repo.git("config", "core.attributesFile", str(attributes))
    return repo, traps


def test_git_runs_programs_of_hostile_repository(hostile_repo: tuple[Repo, Traps]) -> None:
    repo, traps = hostile_repo
    repo.write({"data.bin": "changed\n", "README.md": "# Changed\n"})
    repo.git("status", check=False)
    repo.git("config", "--unset", "include.path")
    repo.git("config", "core.fsmonitor", "false")
    repo.git("diff", check=False)
    repo.git("commit", "-q", "-a", check=False)
    repo.git("config", "core.hooksPath", ".git/hooks")
    repo.git("commit", "-q", "--allow-empty", "-m", "x", check=False)
    assert traps.list_executed_programs() >= {
        "core.fsmonitor", "diff.external", "path-post-index-change", "process", "hooks-pre-commit",
        "hooks-reference-transaction", "filter.evil.clean",
    }  # fmt: skip


@pytest.mark.process
def test_docyard_runs_no_program_of_hostile_repository(
    hostile_repo: tuple[Repo, Traps], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo, traps = hostile_repo
    with serve_repository(repo.path, home) as server:
        edit = {"slug": "_preamble", "operation": "append_content", "content": "More."}
        assert not server.call("edit_document", file="README.md", **edit).is_error
        assert not server.call("create_document", doc_type="document", title="New", folder="made").is_error
        assert not server.call("complete_task", file="README.md", slug="tasks[0]").is_error
        assert server.call("search_docs", query="filtered").data["hits"]
        assert not server.call("view_document", file="filtered/a.md").is_error
        refusal = server.call("edit_document", file="filtered/a.md", **edit)
        assert refusal.data["code"] == "WORKTREE_BUSY"
    for command in (["index", "rebuild"], ["doctor", "--fix"], ["init", "--hosts"]):
        main([*command, "-C", str(repo.path)])
    output = capsys.readouterr().out
    assert "settings in the repository name programs" in output
    assert "core.fsmonitor" in output
    assert "core.hookspath" in output
    assert "include.path" in output
    assert traps.list_executed_programs() == set()
    assert (repo.path / "made" / "new.md").is_file()


@pytest.mark.process
def test_read_only_server_changes_no_file_of_hostile_repository(
    hostile_repo: tuple[Repo, Traps], home: Path
) -> None:
    repo, traps = hostile_repo
    pending_folder = repo.path / ".git" / "docyard" / "pending" / "0123456789abcdef"
    pending_folder.mkdir(parents=True)
    (pending_folder / "claim").touch()
    (repo.path / ".git" / "index.lock").hardlink_to(pending_folder / "claim")
    files_before = read_file_states(repo.path)
    with serve_repository(repo.path, home, "--read-only") as server:
        assert "edit_document" not in server.list_tools()
        assert server.call("search_docs", query="filtered").data["hits"]
        assert not server.call("view_document", file="filtered/a.md").is_error
    assert read_file_states(repo.path) == files_before
    assert traps.list_executed_programs() == set()


def read_file_states(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return the mode, modification time (ns) and bytes of every file below a folder, by path.

    Files of the search index are left out.
    """
    return {
        str(path): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and "docyard/index" not in path.as_posix()
    }


# The settings of the following repositories refer to other folders, such as the repository `victim`.


@pytest.fixture
def victim(tmp_path: Path) -> Repo:
    return repositories.create_repository(tmp_path / "victim", FILES)


def set_worktree(repo: Repo, victim: Repo) -> Path:
    repo.git("config", "core.worktree", str(victim.path))
    return repo.path


def set_worktree_to_parent_folder(repo: Repo, victim: Repo) -> Path:
    repo.git("config", "core.worktree", "../..")
    return repo.path


def include_worktree_setting(repo: Repo, victim: Repo) -> Path:
    (repo.path / ".git" / "more").write_text(f"[core]\n\tworktree = {victim.path}\n")
    repo.git("config", "include.path", "more")
    return repo.path


def set_worktree_behind_git_file(repo: Repo, victim: Repo) -> Path:
    (repo.path / ".git").rename(repo.path / "inner")
    (repo.path / ".git").write_text("gitdir: inner\n")
    Repo(repo.path / "inner").git("config", "core.worktree", str(victim.path.with_name("plain")))
    return repo.path


def set_worktree_in_worktree_config(repo: Repo, victim: Repo) -> Path:
    repo.git("config", "extensions.worktreeConfig", "true")
    (repo.path / ".git" / "config.worktree").write_text(f"[core]\n\tworktree = {victim.path}\n")
    return repo.path


def share_git_folder(repo: Repo, victim: Repo) -> Path:
    (repo.path / ".git" / "commondir").write_text(f"{victim.path / '.git'}\n")
    return repo.path


def list_victim_as_worktree(repo: Repo, victim: Repo) -> Path:
    work_tree = repositories.add_work_tree(repo, repo.path.with_name("linked"), "topic")
    (repo.path / ".git" / "worktrees" / "linked" / "gitdir").write_text(f"{victim.path / '.git'}\n")
    return work_tree.path


def list_victim_as_worktree_of_branch(repo: Repo, victim: Repo) -> Path:
    list_victim_as_worktree(repo, victim)
    (repo.path / ".git" / "HEAD").write_text("ref: refs/heads/elsewhere\n")
    (repo.path / ".git" / "worktrees" / "linked" / "HEAD").write_text("ref: refs/heads/main\n")
    return repo.path


@pytest.mark.parametrize(
    "redirect",
    [
        set_worktree,
        set_worktree_to_parent_folder,
        include_worktree_setting,
        set_worktree_behind_git_file,
        set_worktree_in_worktree_config,
        share_git_folder,
        list_victim_as_worktree,
        list_victim_as_worktree_of_branch,
    ],
)
def test_repository_that_points_outside_is_refused_without_writes(
    tmp_path: Path, victim: Repo, redirect: Callable[[Repo, Repo], Path]
) -> None:
    repo = repositories.create_repository(tmp_path / "repo", FILES)
    for folder in (tmp_path, tmp_path / "plain"):  # paths that an attacker could guess
        Repo(folder).write(FILES)
    path = redirect(repo, victim)
    files_before = read_repository_files(tmp_path)
    with pytest.raises(WorkspaceError) as error_info:
        Workspace.open(path, branch="main", durable=False).write(
            [AppendContent(file="README.md", slug="_preamble", content="Theirs.")],
            mode=BatchMode.ALL,
            tool="test",
            client="test",
        )
    assert error_info.value.code == "UNSUPPORTED_REPO"
    assert error_info.value.fix
    assert str(tmp_path) not in error_info.value.message + error_info.value.fix
    assert read_repository_files(tmp_path) == files_before
    assert main(["doctor", "-C", str(path), "--branch", "main"]) != 0
    assert read_repository_files(tmp_path) == files_before
