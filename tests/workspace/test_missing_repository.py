"""A repository, a linked work tree or a branch that is deleted while it is served is reported as missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from templates import builtin_types
from tests.loops import loop_over
from tests.repositories import (
    Repo,
    add_work_tree,
    create_bare_repository,
    create_empty_repository,
    create_repository,
)
from tests.workspace.publishing.callback_operation import CallbackOperation
from workspace.branch import BranchNotFound
from workspace.edits.documents import CreateDocument
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.git.repository import RepositoryMissing
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.write import WriteResult

pytestmark = pytest.mark.smoke

APPEND_OPERATION = AppendContent(file="README.md", slug="_preamble", content="More.")
CREATE_OPERATION = CreateDocument(type=builtin_types()["document"], title="New")


def write_batch(workspace: Workspace, *operations: Operation) -> WriteResult:
    return workspace.write(operations, mode=BatchMode.ALL, tool="edit_document", client="agent")


def check_calls_refused(workspace: Workspace, error_type: type[WorkspaceError], message_part: str) -> None:
    """Check that reads and writes raise an error with this message, a fix, and no absolute path."""
    for call in (workspace.tip, workspace.snapshot, lambda: write_batch(workspace, CREATE_OPERATION)):
        with pytest.raises(error_type) as error_info:
            call()
        assert message_part in error_info.value.message
        assert error_info.value.fix
        assert str(workspace.git.common_dir) not in error_info.value.message + error_info.value.fix


@loop_over("is_read_first", [True, False])
@loop_over("branch", [None, "main"])
@loop_over("create", [create_repository, create_bare_repository, create_empty_repository])
def test_moved_repository_is_refused_until_it_is_moved_back(
    tmp_path: Path, create: Callable[[Path], Repo], branch: str | None, is_read_first: bool
) -> None:
    repo = create(tmp_path / "repo")
    workspace = Workspace.open(repo.path, branch=branch, durable=False)
    tip = workspace.tip() if is_read_first else None
    repo.path.rename(tmp_path / "moved")
    check_calls_refused(workspace, RepositoryMissing, "the repository is missing")
    assert not repo.path.exists()
    repo.path.mkdir()  # a mount point that remains, and is empty
    check_calls_refused(workspace, RepositoryMissing, "the repository is missing")
    assert list(repo.path.iterdir()) == []
    repo.path.rmdir()
    (tmp_path / "moved").rename(repo.path)
    if is_read_first:
        assert workspace.tip() == tip
    result = write_batch(workspace, CREATE_OPERATION)
    assert result.commit == workspace.tip() == repo.head()
    assert repo.fsck() == ""


def test_missing_repository_is_refused_in_read_only_workspace(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo")
    workspace = Workspace.open(repo.path, read_only=True)
    shutil.rmtree(repo.path)
    with pytest.raises(RepositoryMissing):
        workspace.snapshot()
    assert not repo.path.exists()


def test_removed_linked_work_tree_is_refused_until_recreated(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo")
    linked_repo = add_work_tree(repo, tmp_path / "tree", "side")
    workspace = Workspace.open(linked_repo.path, durable=False)
    repo.git("worktree", "remove", str(linked_repo.path))
    check_calls_refused(workspace, RepositoryMissing, "the served linked work tree is missing")
    assert not linked_repo.path.exists()
    repo.git("worktree", "add", "-q", str(linked_repo.path), "side")
    assert write_batch(workspace, APPEND_OPERATION).commit == linked_repo.head()
    assert linked_repo.status() == repo.status() == repo.fsck() == ""


@pytest.mark.parametrize("command", [("branch", "-D", "side"), ("branch", "-m", "side", "other")])
def test_calls_are_refused_after_the_served_branch_is_deleted_or_renamed(
    repo: Repo, command: tuple[str, ...]
) -> None:
    repo.git("branch", "side")
    workspace = Workspace.open(repo.path, branch="side", durable=False)
    repo.git(*command)
    check_calls_refused(workspace, BranchNotFound, "'side', which is served, was deleted or renamed")
    assert repo.git("branch", "--list", "side") == ""
    repo.git("branch", "side", "main")
    assert write_batch(workspace, APPEND_OPERATION).is_committed
    assert repo.git("rev-list", "--count", "side").strip() == "2"


def test_deleted_checked_out_branch_is_refused(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    repo.git("update-ref", "-d", "refs/heads/main")
    check_calls_refused(workspace, BranchNotFound, "'main', which is checked out, was deleted or renamed")
    repo.git("commit", "-qm", "The branch again")
    assert write_batch(workspace, APPEND_OPERATION).is_committed


def test_unborn_branch_gets_its_first_commit(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    repo.git("switch", "-q", "--orphan", "fresh")
    assert workspace.tip() is None
    assert write_batch(workspace, CREATE_OPERATION).is_committed
    assert repo.git("rev-list", "--count", "fresh").strip() == "1"


def test_branch_deleted_during_planning_is_not_recreated(repo: Repo) -> None:
    repo.git("branch", "side")
    workspace = Workspace.open(repo.path, branch="side", durable=False)
    with pytest.raises(BranchNotFound, match="deleted or renamed"):
        write_batch(workspace, CallbackOperation(lambda: repo.git("branch", "-D", "side")), CREATE_OPERATION)
    assert repo.git("branch", "--list", "side") == ""
    assert repo.status() == repo.fsck() == ""


def test_switch_during_planning_does_not_change_target_branch(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    main_commit = repo.head()

    def switch() -> None:
        repo.git("switch", "-q", "-c", "other")
        repo.git("commit", "-q", "--allow-empty", "-m", "On other")
        repo.git(
            "branch",
            "-f",
            "main",
            repo.git("commit-tree", "main^{tree}", "-p", main_commit, "-m", "On main").strip(),
        )

    result = write_batch(workspace, CallbackOperation(switch), APPEND_OPERATION)
    assert repo.git("rev-parse", "main").strip() == result.commit
    assert repo.git("log", "--format=%s", "main").splitlines()[1:] == ["On main", "First"]
    assert repo.git("show", "other:README.md") == "# Example\n\nText.\n"
    assert repo.status() == repo.fsck() == ""


def test_repository_deleted_during_planning_is_not_recreated(repo: Repo, tmp_path: Path) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    with pytest.raises(WorkspaceError) as error_info:
        write_batch(
            workspace, CREATE_OPERATION, CallbackOperation(lambda: repo.path.rename(tmp_path / "moved"))
        )
    assert error_info.value.code in ("REPOSITORY_GONE", "CANNOT_WRITE")
    assert not repo.path.exists()
