"""The workspace: reading the served branch, and writing batches to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from templates import builtin_types
from tests import repositories
from tests.repositories import Repo
from workspace.branch import BranchNotFound
from workspace.document.splices import EditContext
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation, Outcome, RemovedTexts
from workspace.edits.sections import AddSection
from workspace.edits.tasks import AddTask, CompleteTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git.store import ReadOnly
from workspace.publishing import locks
from workspace.snapshot.overlay import Overlay
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, StepStatus
from workspace.writing.write import DetachedHead, SigningRequired, WriteResult

pytestmark = pytest.mark.smoke

README_PATH = "README.md"
APPEND_OPERATION = AppendContent(file=README_PATH, slug="_preamble", content="More.")
INVALID_UPDATE = UpdateContent(file=README_PATH, slug="nothing", content="x")


def open_workspace(repo: Repo, **options: Any) -> Workspace:
    return Workspace.open(repo.path, durable=False, **options)


def write_batch(
    workspace: Workspace, *operations: Operation, mode: BatchMode = BatchMode.EACH, **options: Any
) -> WriteResult:
    return workspace.write(operations, mode=mode, tool="edit_document", client="agent", **options)


def is_clean(repo: Repo) -> bool:
    """Return True if there are no uncommitted changes and no damaged objects."""
    return repo.status() == "" and repo.fsck() == ""


def test_batch_is_one_commit_with_author_message_and_trailers(repo: Repo) -> None:
    workspace = open_workspace(repo)
    first_commit = repo.head()
    result = write_batch(workspace, APPEND_OPERATION, AddSection(file=README_PATH, title="Part"))
    assert result.is_committed
    assert result.commit == repo.head() == workspace.tip() == workspace.snapshot().commit
    assert repo.git("rev-parse", "HEAD^").strip() == first_commit
    assert repo.git("log", "-1", "--format=%an %ae %cn").strip() == "Ada ada@example.org Ada"
    assert repo.git("log", "-1", "--format=%B").strip().splitlines() == [
        "Edit README.md: 2 changes",
        "",
        "- Append to the introduction of README.md",
        "- Add section part to README.md",
        "",
        "Docyard-Tool: edit_document",
        "Docyard-Client: agent",
    ]
    assert repo.git("log", "-1", "--format=%(trailers:only,valueonly)").split() == ["edit_document", "agent"]
    assert (repo.path / README_PATH).read_text() == "# Example\n\nText.\n\nMore.\n\n## Part {#part}\n"
    assert is_clean(repo)


def test_message_of_caller_is_the_subject(repo: Repo) -> None:
    write_batch(open_workspace(repo), APPEND_OPERATION, message="Why this is done")
    assert repo.git("log", "-1", "--format=%s").strip() == "Why this is done"


def test_batch_without_changes_makes_no_commit(repo: Repo) -> None:
    workspace, head_before = open_workspace(repo), repo.head()
    equal_update = UpdateContent(file=README_PATH, slug="_preamble", content="Text.")
    restoring_update = UpdateContent(file=README_PATH, slug="_preamble", content="Text.")
    for operations in ([equal_update], [APPEND_OPERATION, restoring_update], [INVALID_UPDATE], []):
        result = write_batch(workspace, *operations, base_commit=head_before)
        assert (result.is_committed, result.commit, repo.head()) == (False, head_before, head_before)


def test_failed_operation_rolls_back_only_mode_all(repo: Repo) -> None:
    workspace = open_workspace(repo)
    head_before = repo.head()
    result = write_batch(workspace, APPEND_OPERATION, INVALID_UPDATE, mode=BatchMode.ALL)
    assert [step.status for step in result.steps] == [StepStatus.ROLLED_BACK, StepStatus.FAILED]
    assert (result.is_committed, repo.head()) == (False, head_before)
    result = write_batch(workspace, APPEND_OPERATION, INVALID_UPDATE)
    assert [step.status for step in result.steps] == [StepStatus.DONE, StepStatus.FAILED]
    assert result.is_committed
    assert is_clean(repo)


def test_dry_run_returns_result_and_commits_nothing(repo: Repo) -> None:
    head_before = repo.head()
    result = write_batch(open_workspace(repo), APPEND_OPERATION, dry_run=True)
    assert (result.is_committed, result.commit, repo.head()) == (False, head_before, head_before)
    assert result.changes == {README_PATH: b"# Example\n\nText.\n\nMore.\n"}
    document = result.document(README_PATH)
    assert document is not None
    assert document.data == result.changes[README_PATH]
    assert is_clean(repo)


def test_removed_document_is_deleted(repo: Repo) -> None:
    result = write_batch(open_workspace(repo), RemoveDocument(path="guides/deep/only.md"))
    assert result.document("guides/deep/only.md") is None
    assert not (repo.path / "guides/deep").exists()
    assert is_clean(repo)


class ConcurrentOperation(Operation):
    """An operation that calls a function on each new commit, at most `max_calls` times."""

    name: ClassVar[str] = "run_callback"

    def __init__(
        self, wrapped_operation: Operation, callback: Callable[[], object], max_calls: int = 1
    ) -> None:
        self.wrapped_operation, self.callback, self.max_calls = wrapped_operation, callback, max_calls
        self.commits: list[str | None] = []

    @property
    def run_count(self) -> int:
        """Return the number of commits on which the operation ran, including the planned commit."""
        return len(self.commits)

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        return self.wrapped_operation.find_removed_texts(overlay)

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        if overlay.snapshot.commit not in self.commits:
            self.commits.append(overlay.snapshot.commit)
            if self.run_count <= self.max_calls:
                self.callback()
        return self.wrapped_operation.apply(overlay, context)


def test_operations_are_rerun_after_concurrent_commit(repo: Repo) -> None:
    workspace = open_workspace(repo)
    operation = ConcurrentOperation(
        AddSection(file=README_PATH, title="Ours"),
        lambda: repo.commit({README_PATH: "# Example\n\nText.\n\n## Theirs\n\nx\n"}),
    )
    result = write_batch(workspace, operation)
    assert operation.run_count == 2
    assert (
        repo.path / README_PATH
    ).read_text() == "# Example\n\nText.\n\n## Theirs\n\nx\n\n## Ours {#ours}\n"
    assert repo.git("log", "--format=%s").splitlines() == [
        "Add section ours to README.md",
        "A person's commit",
        "First",
    ]
    assert result.commit == repo.head()
    assert is_clean(repo)


def test_two_workspaces_write_one_branch_without_loss(repo: Repo) -> None:
    first_workspace, second_workspace = open_workspace(repo), open_workspace(repo)
    operation = ConcurrentOperation(
        AddTask(file=README_PATH, slug="_preamble", title="ours"),
        lambda: write_batch(second_workspace, AddTask(file=README_PATH, slug="_preamble", title="theirs")),
    )
    write_batch(first_workspace, operation)
    assert operation.run_count == 2
    assert (repo.path / README_PATH).read_text() == "# Example\n\nText.\n\n- [ ] theirs\n- [ ] ours\n"
    assert is_clean(repo)


def test_operation_that_fails_on_new_tip_is_not_committed(repo: Repo) -> None:
    workspace = open_workspace(repo)
    result = write_batch(
        workspace,
        ConcurrentOperation(APPEND_OPERATION, lambda: (repo.git("rm", "-q", README_PATH), repo.commit({}))),
    )
    assert not result.is_committed
    error = result.steps[0].error
    assert error is not None
    assert error.code == "DOCUMENT_NOT_FOUND"


def test_writer_late_twice_commits_on_third_attempt(repo: Repo) -> None:
    numbers = iter(range(100))

    def commit_with_git() -> None:
        repo.write({"x.txt": str(next(numbers))})
        repo.git("add", "-A", check=False)
        repo.git("commit", "-qm", "With git", check=False)

    operation = ConcurrentOperation(APPEND_OPERATION, commit_with_git, max_calls=100)
    assert write_batch(open_workspace(repo), operation).is_committed
    assert operation.run_count == 3
    assert (repo.path / README_PATH).read_text().startswith("# Example\n\nText.\n\n")
    assert repo.git("rev-list", "--count", "HEAD").strip() == "4"
    assert repo.status() == " M x.txt\n"
    assert repo.fsck() == ""


def test_writer_waiting_too_long_is_busy(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WAIT_FOR_DOCYARD_S", 0.05)
    workspace = open_workspace(repo)
    with locks.docyard_lock(repo.path / ".git"), pytest.raises(locks.AnotherWriter) as error_info:
        write_batch(workspace, APPEND_OPERATION)
    assert error_info.value.code == "BUSY"
    assert error_info.value.details["retry_after_ms"]
    assert is_clean(repo)
    assert write_batch(workspace, APPEND_OPERATION).is_committed


def test_many_concurrent_writers_lose_and_duplicate_no_edit(repo: Repo) -> None:
    failures: list[WorkspaceError] = []
    writer_names, tasks_per_writer = "abc", 4

    def add_tasks(name: str) -> None:
        workspace = open_workspace(repo)
        for number in range(tasks_per_writer):
            try:
                write_batch(workspace, AddTask(file=README_PATH, slug="_preamble", title=f"{name}{number}"))
            except WorkspaceError as error:
                failures.append(error)

    threads = [threading.Thread(target=add_tasks, args=(name,)) for name in writer_names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    titles = [task.title for task in open_workspace(repo).snapshot().document(README_PATH).all_tasks]
    assert len(titles) + len(failures) == len(writer_names) * tasks_per_writer
    assert len(set(titles)) == len(titles)
    assert len(repo.git("log", "--format=%h").split()) == 1 + len(titles)
    assert is_clean(repo)


def test_first_write_creates_unborn_branch(tmp_path: Path) -> None:
    repo = repositories.create_empty_repository(tmp_path / "r")
    workspace = open_workspace(repo)
    assert (workspace.tip(), workspace.branch, workspace.snapshot().commit) == (None, "main", None)
    result = write_batch(workspace, CreateDocument(type=builtin_types()["document"], title="First"))
    assert result.commit == repo.head()
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"
    assert is_clean(repo)


def test_bare_repository_is_read_and_written(tmp_path: Path) -> None:
    repo = repositories.create_bare_repository(tmp_path / "r.git")
    workspace = open_workspace(repo)
    assert (workspace.repository_name, workspace.branch) == ("r", "main")
    write_batch(workspace, APPEND_OPERATION)
    assert repo.git("show", "main:README.md") == "# Example\n\nText.\n\nMore.\n"
    assert repo.fsck() == ""


def test_detached_head_is_readable_but_not_writable(tmp_path: Path) -> None:
    repo = repositories.create_detached_repository(tmp_path / "r")
    workspace, head_before = open_workspace(repo), repo.head()
    assert workspace.branch is None
    assert workspace.snapshot().commit == head_before
    with pytest.raises(DetachedHead):
        write_batch(workspace, APPEND_OPERATION)
    assert write_batch(workspace, APPEND_OPERATION, dry_run=True).changes
    result = write_batch(open_workspace(repo, branch="main"), APPEND_OPERATION)
    assert repo.git("rev-parse", "main").strip() == result.commit
    assert repo.head() == head_before
    assert is_clean(repo)


def test_switch_changes_served_branch(repo: Repo) -> None:
    workspace, branch_workspace = open_workspace(repo), open_workspace(repo, branch="refs/heads/main")
    main_commit = repo.head()
    repo.git("switch", "-q", "-c", "other")
    other_commit = repo.commit({README_PATH: "# Other\n"})
    assert (workspace.branch, workspace.snapshot().commit) == ("other", other_commit)
    assert (branch_workspace.branch, branch_workspace.snapshot().commit) == ("main", main_commit)
    repo.git("reset", "-q", "--hard", main_commit)
    assert workspace.snapshot().document(README_PATH).title == "Example"
    assert workspace.snapshot(other_commit).document(README_PATH).title == "Other"
    assert workspace.snapshot() is workspace.snapshot()
    assert workspace.has_commit(other_commit)
    assert not workspace.has_commit("0" * 40)


def test_unknown_branch_is_refused(repo: Repo) -> None:
    with pytest.raises(BranchNotFound) as error_info:
        open_workspace(repo, branch="mian")
    assert "main" in error_info.value.fix


def test_read_only_workspace_refuses_writes(repo: Repo) -> None:
    workspace = open_workspace(repo, read_only=True)
    assert workspace.read_only
    assert not hasattr(workspace.git, "put_blob")
    for dry_run in (False, True):
        with pytest.raises(ReadOnly):
            write_batch(workspace, APPEND_OPERATION, dry_run=dry_run)


def test_write_is_refused_if_signing_is_required(repo: Repo) -> None:
    repo.git("config", "commit.gpgsign", "true")
    head_before = repo.head()
    with pytest.raises(SigningRequired):
        write_batch(open_workspace(repo), APPEND_OPERATION)
    assert repo.head() == head_before
    repo.git("config", "commit.gpgsign", "false")
    repo.commit({"docyard.toml": 'signing = "off"\n'})
    repo.git("config", "commit.gpgsign", "true")
    assert write_batch(open_workspace(repo), APPEND_OPERATION).is_committed


def test_missing_identity_uses_docyard_author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repositories.create_repository(tmp_path / "r")
    repo.git("config", "--unset", "user.name")
    repo.git("config", "--unset", "user.email")
    workspace = open_workspace(repo)
    monkeypatch.setattr(workspace.git, "identity", lambda: None)
    write_batch(workspace, APPEND_OPERATION)
    assert repo.git("log", "-1", "--format=%an <%ae>").strip() == "Docyard <docyard@localhost>"


def test_settings_of_served_commit_apply(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\nanchors = "html"\n[limits]\noperations = 1\n'})
    workspace = open_workspace(repo)
    result = write_batch(workspace, CreateDocument(type=builtin_types()["document"], title="New"))
    assert list(result.changes) == ["guides/new.md"]
    assert b'<a id="new"></a>New' in (repo.path / "guides/new.md").read_bytes()
    with pytest.raises(WorkspaceError, match="at most 1"):
        write_batch(workspace, APPEND_OPERATION, APPEND_OPERATION)
    step = write_batch(workspace, APPEND_OPERATION).steps[0]
    assert step.error is not None
    assert step.error.code == "DOCUMENT_NOT_FOUND"
    repo.commit({"docyard.toml": "root = "})
    with pytest.raises(InvalidConfig):
        write_batch(workspace, APPEND_OPERATION)
    assert is_clean(repo)


def test_uncommitted_change_to_same_file_refuses_batch(repo: Repo) -> None:
    repo.write({README_PATH: "# Mine\n"})
    head_before = repo.head()
    with pytest.raises(WorkspaceError) as error_info:
        write_batch(open_workspace(repo), APPEND_OPERATION)
    assert error_info.value.code == "WORKTREE_CONFLICT"
    assert (repo.path / README_PATH).read_text() == "# Mine\n"
    assert repo.head() == head_before


def test_create_edit_and_complete_preserve_user_text(repo: Repo) -> None:
    workspace = open_workspace(repo)
    steps: Sequence[Operation] = (
        CreateDocument(type=builtin_types()["process_checklist"], title="Release", content="How we release."),
        AddSection(file="release.md", title="Rollout"),
        AddTask(file="release.md", slug="rollout", title="Announce", criteria="Posted"),
    )
    assert write_batch(workspace, *steps).is_committed
    text = (repo.path / "release.md").read_text()
    repo.commit({"release.md": text.replace("How we release.", "How *I* release.\n\n*  odd  bullet  ")})
    write_batch(workspace, CompleteTask(file="release.md", slug="rollout[0]", note="Done"))
    new_text = (repo.path / "release.md").read_text()
    assert "How *I* release.\n\n*  odd  bullet  \n" in new_text
    lines = new_text.splitlines()[-4:]
    assert lines[:2] == ["- [x] Announce", "  - Criteria: Posted"]
    assert lines[2].startswith("  - Completed: 20")
    assert lines[3] == "  - Note: Done"
    assert is_clean(repo)
