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
from tests.repositories import Repo, all_but_objects
from workspace.edits import AppendContent, CreateDocument, Operation, RemoveDocument
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.workspace import Workspace
from workspace.writing.plan import Mode, StepStatus

FILES = {
    "README.md": "# Example\n\nText.\n",
    "guides/setup.md": "# Setup\n\nSteps.\n",
    "notes.md": "# Notes\n\nA person's.\n",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repositories.normal(tmp_path_factory.mktemp("template") / "repo", FILES).path


@pytest.fixture
def start(template: Path, tmp_path: Path) -> Repo:
    """Return a copy of one normal repository."""
    shutil.copytree(template, tmp_path / "repo")
    repo = Repo(tmp_path / "repo")
    repo.git("update-index", "-q", "--refresh")
    return repo


def stopped(*arguments: str) -> Callable[[Repo], object]:
    """Run a git command that stops in the middle, because of two conflicting commits."""

    def make(repo: Repo) -> None:
        repo.git("switch", "-q", "-c", "topic")
        repo.commit({"notes.md": "theirs\n"})
        repo.git("switch", "-q", "main")
        repo.commit({"notes.md": "ours\n"})
        repo.git(*arguments, check=False)

    return make


def mail_is_applied(repo: Repo) -> None:
    repo.commit({"notes.md": "one\n"})
    patch = repo.git("format-patch", "-1", "--stdout")
    repo.git("reset", "-q", "--hard", "HEAD~")
    repo.commit({"notes.md": "two\n"})
    (repo.path.parent / "patch").write_text(patch)
    repo.git("am", "-q", "../patch", check=False)


def stopped_to_edit(repo: Repo) -> None:
    repo.commit({"more.md": "# More\n"})
    repo.git("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")


def rebased_in_a_linked_work_tree(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "elsewhere")
    repo.git("worktree", "add", "-q", "../linked", "main")
    stopped_to_edit(Repo(repo.path.with_name("linked")))


def twice_checked_out(repo: Repo) -> None:
    repo.git("worktree", "add", "-q", "-f", "../second", "main")


def work_tree_of_another(repo: Repo) -> None:
    """Return a list of work trees that contains the folder of another repository."""
    repo.git("switch", "-q", "-c", "elsewhere")
    repo.git("worktree", "add", "-q", "../linked", "main")
    victim = repositories.normal(repo.path.with_name("victim"), FILES)
    (repo.path / ".git" / "worktrees" / "linked" / "gitdir").write_text(f"{victim.path / '.git'}\n")


def written(files: dict[str, str], *commands: str) -> Callable[[Repo], object]:
    """Write files as a user, then run git commands."""

    def make(repo: Repo) -> None:
        repo.write(files)
        for command in commands:
            repo.git(*command.split())

    return make


def replaced_by(make_file: Callable[[Path], object], name: str = "README.md") -> Callable[[Repo], object]:
    """Put something else at the path of a file or a folder."""

    def make(repo: Repo) -> None:
        path = repo.path / name
        path.rename(repo.path.parent / "aside") if path.exists() else None
        make_file(path)

    return make


MINE = {"README.md": "# Mine\n"}
CONFLICT, BUSY = "WORKTREE_CONFLICT", "WORKTREE_BUSY"

REFUSED: dict[str, tuple[Callable[[Repo], object], str, str]] = {
    "edited": (written(MINE), CONFLICT, "README.md"),
    "staged": (written(MINE, "add ."), CONFLICT, "README.md"),
    "staged, then as it was": (
        written(MINE, "add .", "restore --source=HEAD --worktree ."),
        CONFLICT,
        "README.md",
    ),
    "removed from the index": (written({}, "rm -q --cached README.md"), CONFLICT, "README.md"),
    "left untracked": (written({"made/new.md": "mine\n"}), CONFLICT, "made/new.md"),
    "new and staged": (written({"made/new.md": "mine\n"}, "add ."), CONFLICT, "made/new.md"),
    "intended to be added": (written({"made/new.md": "mine\n"}, "add -N ."), CONFLICT, "made/new.md"),
    "ignored and untracked": (
        written({"made/new.md": "mine\n", ".git/info/exclude": "made/\n"}),
        CONFLICT,
        "made/new.md",
    ),
    "removed": (lambda repo: (repo.path / "README.md").unlink(), CONFLICT, "README.md"),
    "made executable": (lambda repo: (repo.path / "README.md").chmod(0o755), CONFLICT, "README.md"),
    "edited, though assumed unchanged": (
        written(MINE, "update-index --assume-unchanged README.md"),
        CONFLICT,
        "README.md",
    ),
    "skipped in the work tree": (
        written({}, "update-index --skip-worktree README.md"),
        BUSY,
        "skip-worktree",
    ),
    "a link in its place": (replaced_by(lambda path: path.symlink_to("notes.md")), CONFLICT, "README.md"),
    "a folder in its place": (replaced_by(lambda path: path.mkdir()), CONFLICT, "README.md"),
    "a pipe in its place": (replaced_by(os.mkfifo), CONFLICT, "README.md"),
    "a file where its folder would be": (written({"made": "mine\n"}), CONFLICT, "made/new.md"),
    "a link where its folder would be": (
        replaced_by(lambda path: path.symlink_to("guides"), "made"),
        CONFLICT,
        "made/new.md",
    ),
    "merge": (stopped("merge", "-q", "topic"), BUSY, "a merge"),
    "merge to be committed": (stopped("merge", "-q", "-s", "ours", "--no-commit", "topic"), BUSY, "a merge"),
    "squash": (stopped("merge", "-q", "--squash", "topic"), BUSY, "unmerged"),
    "rebase": (stopped("rebase", "-q", "topic"), BUSY, "a rebase"),
    "rebase stopped to edit": (stopped_to_edit, BUSY, "a rebase"),
    "rebase in a linked work tree": (rebased_in_a_linked_work_tree, BUSY, "a rebase"),
    "mail": (mail_is_applied, BUSY, "git am"),
    "cherry-pick": (stopped("cherry-pick", "topic"), BUSY, "a cherry-pick"),
    "revert": (stopped("revert", "--no-edit", "HEAD~"), BUSY, "a revert"),
    "bisection": (stopped("bisect", "start", "main", "main~"), BUSY, "a bisection"),
    "sparse": (written({}, "sparse-checkout set guides"), BUSY, "sparse"),
    "sparse with folders in the index": (
        written({}, "sparse-checkout set --cone --sparse-index guides"),
        BUSY,
        "sparse",
    ),
    "split index": (written({}, "update-index --split-index"), BUSY, "split"),
    "damaged index": (written({".git/index": "DIRC nonsense"}), BUSY, "cannot be read"),
    "filter": (written({".gitattributes": "*.md filter=anything\n"}), BUSY, "filter"),
    "encoding": (written({".gitattributes": "*.md working-tree-encoding=UTF-16\n"}), BUSY, "encoding"),
    "two work trees": (twice_checked_out, BUSY, "several work trees"),
    "work tree of another repository": (work_tree_of_another, "UNSUPPORTED_REPO", "victim"),
}


@pytest.mark.parametrize("state", REFUSED)
def test_unsupported_repository_state_refuses_writes(start: Repo, state: str) -> None:
    make, code, reason = REFUSED[state]
    make(start)
    workspace = Workspace.open(start.path, branch="main", durable=False)
    assert b"Text." in workspace.snapshot().read("README.md")
    files_before = all_but_objects(start.path.parent)
    operations = (
        AppendContent(file="README.md", slug="_preamble", content="Ours."),
        CreateDocument(type=builtin_types()["document"], title="New", folder="made"),
    )
    for mode in Mode:
        with pytest.raises(WorkspaceError) as error:
            workspace.write(operations, mode=mode, tool="test", client="test")
        assert error.value.code == code
        assert reason in error.value.message
        assert error.value.fix
        assert str(start.path.parent) not in error.value.message + error.value.fix
    assert all_but_objects(start.path.parent) == files_before


# Paths in the commit that are not documents.

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"


@pytest.fixture
def odd(start: Repo) -> Repo:
    """Return a repository whose commit has links, a submodule and an LFS pointer, named like documents."""
    (start.path / "link.md").symlink_to("README.md")
    (start.path / "folder").symlink_to("guides", target_is_directory=True)
    (start.path / "outside.md").symlink_to("/etc/hostname")
    start.write({"large.md": POINTER})
    part = repositories.normal(start.path.with_name("part"))
    start.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part.path), "part.md")
    start.git("add", "-A")
    start.git("commit", "-q", "-m", "Odd")
    return start


@pytest.mark.parametrize(
    "path", ["link.md", "outside.md", "folder/setup.md", "part.md", "part.md/README.md", "large.md"]
)
def test_non_document_is_not_read_or_written(odd: Repo, path: str) -> None:
    workspace = Workspace.open(odd.path, durable=False)
    snapshot = workspace.snapshot()
    with pytest.raises(DocumentNotFound):
        snapshot.document(path)
    folder, _, name = path.rpartition("/")
    attempts: list[Operation] = [
        AppendContent(file=path, slug="_preamble", content="Ours."),
        RemoveDocument(path=path),
        CreateDocument(type=builtin_types()["document"], title=name.removesuffix(".md"), folder=folder),
    ]
    files_before = all_but_objects(odd.path.parent)
    for attempt in attempts:
        result = workspace.write(
            [attempt], mode=Mode.EACH, tool="test", client="test", base_commit=snapshot.commit
        )
        assert not result.is_committed
        assert result.steps[0].status is StepStatus.FAILED
        assert result.steps[0].error is not None
        assert result.steps[0].error.fix
    assert all_but_objects(odd.path.parent) == files_before
