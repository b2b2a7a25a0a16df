"""States of a checkout that refuse writes: uncommitted changes and unfinished Git operations.

The batch edits README.md and creates made/new.md. A refusal has a code, a reason and a fix, and
changes no byte of the work tree or of Git's folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from templates import builtin_types
from tests import repositories
from tests.repositories import Repo, read_repository_files
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, StepStatus

FILES = {
    "README.md": "# Example\n\nText.\n",
    "guides/setup.md": "# Setup\n\nSteps.\n",
    "notes.md": "# Notes\n\nMore text.\n",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repositories.create_repository(tmp_path_factory.mktemp("template") / "repo", FILES).path


@pytest.fixture
def template_copy(template: Path, tmp_path: Path) -> Repo:
    """Return a copy of one normal repository."""
    shutil.copytree(template, tmp_path / "repo")
    repo = Repo(tmp_path / "repo")
    repo.git("update-index", "-q", "--refresh")
    return repo


def make_conflict_with_command(*arguments: str) -> Callable[[Repo], object]:
    """Return a function that runs a git command, which stops at a conflict of two commits."""

    def prepare(repo: Repo) -> None:
        repo.git("switch", "-q", "-c", "topic")
        repo.commit({"notes.md": "theirs\n"})
        repo.git("switch", "-q", "main")
        repo.commit({"notes.md": "ours\n"})
        repo.git(*arguments, check=False)

    return prepare


def apply_conflicting_mail(repo: Repo) -> None:
    repo.commit({"notes.md": "one\n"})
    patch = repo.git("format-patch", "-1", "--stdout")
    repo.git("reset", "-q", "--hard", "HEAD~")
    repo.commit({"notes.md": "two\n"})
    (repo.path.parent / "patch").write_text(patch)
    repo.git("am", "-q", "../patch", check=False)


def stop_rebase_to_edit(repo: Repo) -> None:
    repo.commit({"more.md": "# More\n"})
    repo.git("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")


def rebase_in_linked_work_tree(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "elsewhere")
    repo.git("worktree", "add", "-q", "../linked", "main")
    stop_rebase_to_edit(Repo(repo.path.with_name("linked")))


def check_out_twice(repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "-f", "../second", "main")


def link_work_tree_of_other_repository(repo: Repo) -> None:
    """Change the list of work trees, so that it contains the folder of another repository."""
    repo.git("switch", "-q", "-c", "elsewhere")
    repo.git("worktree", "add", "-q", "../linked", "main")
    victim = repositories.create_repository(repo.path.with_name("victim"), FILES)
    (repo.path / ".git" / "worktrees" / "linked" / "gitdir").write_text(f"{victim.path / '.git'}\n")


def make_file_writer(files: dict[str, str], *commands: str) -> Callable[[Repo], object]:
    """Return a function that writes files as a user, and then runs git commands."""

    def prepare(repo: Repo) -> None:
        repo.write(files)
        for command in commands:
            repo.git(*command.split())

    return prepare


def make_path_replacer(
    make_file: Callable[[Path], object], name: str = "README.md"
) -> Callable[[Repo], object]:
    """Return a function that replaces the file or folder at a path."""

    def prepare(repo: Repo) -> None:
        path = repo.path / name
        path.rename(repo.path.parent / "aside") if path.exists() else None
        make_file(path)

    return prepare


USER_FILES = {"README.md": "# Mine\n"}
CONFLICT, BUSY = "WORKTREE_CONFLICT", "WORKTREE_BUSY"

REFUSED_STATES: dict[str, tuple[Callable[[Repo], object], str, str]] = {
    "edited": (make_file_writer(USER_FILES), CONFLICT, "README.md"),
    "staged": (make_file_writer(USER_FILES, "add ."), CONFLICT, "README.md"),
    "staged, then restored in the work tree": (
        make_file_writer(USER_FILES, "add .", "restore --source=HEAD --worktree ."),
        CONFLICT,
        "README.md",
    ),
    "removed from the index": (make_file_writer({}, "rm -q --cached README.md"), CONFLICT, "README.md"),
    "untracked": (make_file_writer({"made/new.md": "mine\n"}), CONFLICT, "made/new.md"),
    "new and staged": (make_file_writer({"made/new.md": "mine\n"}, "add ."), CONFLICT, "made/new.md"),
    "intended to be added": (
        make_file_writer({"made/new.md": "mine\n"}, "add -N ."),
        CONFLICT,
        "made/new.md",
    ),
    "ignored and untracked": (
        make_file_writer({"made/new.md": "mine\n", ".git/info/exclude": "made/\n"}),
        CONFLICT,
        "made/new.md",
    ),
    "removed": (lambda repo: (repo.path / "README.md").unlink(), CONFLICT, "README.md"),
    "made executable": (lambda repo: (repo.path / "README.md").chmod(0o755), CONFLICT, "README.md"),
    "edited, though assumed unchanged": (
        make_file_writer(USER_FILES, "update-index --assume-unchanged README.md"),
        CONFLICT,
        "README.md",
    ),
    "skipped in the work tree": (
        make_file_writer({}, "update-index --skip-worktree README.md"),
        BUSY,
        "skip-worktree",
    ),
    "symlink at the path of the document": (
        make_path_replacer(lambda path: path.symlink_to("notes.md")),
        CONFLICT,
        "README.md",
    ),
    "folder at the path of the document": (
        make_path_replacer(lambda path: path.mkdir()),
        CONFLICT,
        "README.md",
    ),
    "pipe at the path of the document": (make_path_replacer(os.mkfifo), CONFLICT, "README.md"),
    "file at the path of the document's folder": (
        make_file_writer({"made": "mine\n"}),
        CONFLICT,
        "made/new.md",
    ),
    "symlink at the path of the document's folder": (
        make_path_replacer(lambda path: path.symlink_to("guides"), "made"),
        CONFLICT,
        "made/new.md",
    ),
    "merge": (make_conflict_with_command("merge", "-q", "topic"), BUSY, "a merge"),
    "merge to be committed": (
        make_conflict_with_command("merge", "-q", "-s", "ours", "--no-commit", "topic"),
        BUSY,
        "a merge",
    ),
    "squash": (make_conflict_with_command("merge", "-q", "--squash", "topic"), BUSY, "unmerged"),
    "rebase": (make_conflict_with_command("rebase", "-q", "topic"), BUSY, "a rebase"),
    "rebase stopped to edit": (stop_rebase_to_edit, BUSY, "a rebase"),
    "rebase in a linked work tree": (rebase_in_linked_work_tree, BUSY, "a rebase"),
    "mail": (apply_conflicting_mail, BUSY, "git am"),
    "cherry-pick": (make_conflict_with_command("cherry-pick", "topic"), BUSY, "a cherry-pick"),
    "revert": (make_conflict_with_command("revert", "--no-edit", "HEAD~"), BUSY, "a revert"),
    "bisection": (make_conflict_with_command("bisect", "start", "main", "main~"), BUSY, "a bisection"),
    "sparse": (make_file_writer({}, "sparse-checkout set guides"), BUSY, "sparse"),
    "sparse with folders in the index": (
        make_file_writer({}, "sparse-checkout set --cone --sparse-index guides"),
        BUSY,
        "sparse",
    ),
    "split index": (make_file_writer({}, "update-index --split-index"), BUSY, "split"),
    "damaged index": (make_file_writer({".git/index": "DIRC nonsense"}), BUSY, "cannot be read"),
    "filter": (make_file_writer({".gitattributes": "*.md filter=anything\n"}), BUSY, "filter"),
    "encoding": (
        make_file_writer({".gitattributes": "*.md working-tree-encoding=UTF-16\n"}),
        BUSY,
        "encoding",
    ),
    "two work trees": (check_out_twice, BUSY, "several work trees"),
    "work tree of another repository": (link_work_tree_of_other_repository, "UNSUPPORTED_REPO", "victim"),
}


@pytest.mark.parametrize("state", REFUSED_STATES)
def test_unsupported_repository_state_refuses_writes(template_copy: Repo, state: str) -> None:
    prepare, code, reason = REFUSED_STATES[state]
    prepare(template_copy)
    workspace = Workspace.open(template_copy.path, branch="main", durable=False)
    assert b"Text." in workspace.snapshot().read("README.md")
    files_before = read_repository_files(template_copy.path.parent)
    operations = (
        AppendContent(file="README.md", slug="_preamble", content="Ours."),
        CreateDocument(type=builtin_types()["document"], title="New", folder="made"),
    )
    for mode in BatchMode:
        with pytest.raises(WorkspaceError) as error_info:
            workspace.write(operations, mode=mode, tool="test", client="test")
        assert error_info.value.code == code
        assert reason in error_info.value.message
        assert error_info.value.fix
        assert str(template_copy.path.parent) not in error_info.value.message + error_info.value.fix
    assert read_repository_files(template_copy.path.parent) == files_before


LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"


@pytest.fixture
def repo_with_links(template_copy: Repo) -> Repo:
    """Return a repository whose commit has links, a submodule and an LFS pointer, named like documents."""
    (template_copy.path / "link.md").symlink_to("README.md")
    (template_copy.path / "folder").symlink_to("guides", target_is_directory=True)
    (template_copy.path / "outside.md").symlink_to("/etc/hostname")
    template_copy.write({"large.md": LFS_POINTER})
    submodule = repositories.create_repository(template_copy.path.with_name("part"))
    template_copy.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(submodule.path), "part.md"
    )
    template_copy.git("add", "-A")
    template_copy.git("commit", "-q", "-m", "Add links and a submodule")
    return template_copy


@pytest.mark.parametrize(
    "path", ["link.md", "outside.md", "folder/setup.md", "part.md", "part.md/README.md", "large.md"]
)
def test_non_document_is_not_read_or_written(repo_with_links: Repo, path: str) -> None:
    workspace = Workspace.open(repo_with_links.path, durable=False)
    snapshot = workspace.snapshot()
    with pytest.raises(DocumentNotFound):
        snapshot.document(path)
    folder, _, name = path.rpartition("/")
    operations: list[Operation] = [
        AppendContent(file=path, slug="_preamble", content="Ours."),
        RemoveDocument(path=path),
        CreateDocument(type=builtin_types()["document"], title=name.removesuffix(".md"), folder=folder),
    ]
    files_before = read_repository_files(repo_with_links.path.parent)
    for operation in operations:
        result = workspace.write(
            [operation], mode=BatchMode.EACH, tool="test", client="test", base_commit=snapshot.commit
        )
        assert not result.is_committed
        assert result.steps[0].status is StepStatus.FAILED
        assert result.steps[0].error is not None
        assert result.steps[0].error.fix
    assert read_repository_files(repo_with_links.path.parent) == files_before
