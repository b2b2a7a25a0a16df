"""A call that is replayed after a concurrent commit has the same meaning, and overwrites no unread text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.repositories import Repo, create_bare_repository, create_repository
from tests.workspace.publishing.callback_operation import CallbackOperation
from workspace.document.section_text import compute_digest
from workspace.edits.operation import Operation
from workspace.edits.sections import RemoveSection
from workspace.edits.tasks import AddTask, CompleteTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode
from workspace.writing.read_before_write import SeenTexts
from workspace.writing.write import WriteResult

pytestmark = pytest.mark.smoke

PAGE_PATH = "page.md"
PAGE_TEXT = "# Page\n\n## Errors\n\nOne.\n\n## Tasks\n\n- [ ] Write\n- [ ] Ship\n"


@pytest.fixture(params=["checked out", "bare"])
def repo(request: pytest.FixtureRequest, tmp_path: Any) -> Repo:
    return (create_repository if request.param == "checked out" else create_bare_repository)(
        tmp_path / "repo", {PAGE_PATH: PAGE_TEXT}
    )


@pytest.fixture
def our_workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path, durable=False)


@pytest.fixture
def write_as_other(repo: Repo) -> Callable[..., WriteResult]:
    """Return the write function of another writer, who has read everything."""
    other_workspace = Workspace.open(repo.path, durable=False)

    def write(*operations: Operation) -> WriteResult:
        return other_workspace.write(
            operations,
            mode=BatchMode.ALL,
            tool="edit_document",
            client="b",
            base_commit=other_workspace.tip(),
        )

    return write


def read_page(workspace: Workspace) -> SeenTexts:
    """Return the seen texts of a client that has read the whole page."""
    document, seen_texts = workspace.snapshot().document(PAGE_PATH), SeenTexts()
    seen_texts.add(compute_digest(document, section) for section in document.sections)
    return seen_texts


def write_concurrently(
    our_workspace: Workspace, commit_as_other: Callable[[], object], *operations: Operation, **options: Any
) -> WriteResult:
    """Write a batch; another writer commits after the batch is planned and before it is published."""
    batch = [CallbackOperation(commit_as_other), *operations]
    return our_workspace.write(batch, mode=BatchMode.EACH, tool="edit_document", client="a", **options)


def read_head_page(repo: Repo) -> str:
    return repo.git("show", f"HEAD:{PAGE_PATH}")


def test_task_address_refers_to_the_tip_at_the_call(
    repo: Repo, our_workspace: Workspace, write_as_other: Callable[..., WriteResult]
) -> None:
    add_first = AddTask(file=PAGE_PATH, slug="tasks", title="First", before="tasks[0]")
    result = write_concurrently(
        our_workspace, lambda: write_as_other(add_first), CompleteTask(file=PAGE_PATH, slug="tasks[0]")
    )
    assert result.is_committed
    assert "- [ ] First\n- [x] Write\n" in read_head_page(repo)
    outcome = result.steps[1].outcome
    assert outcome is not None
    assert outcome.result["slug"] == "tasks[1]"
    assert repo.git("rev-list", "--count", "HEAD").strip() == "3"


def test_two_tasks_of_the_same_title_are_a_conflict(
    repo: Repo, our_workspace: Workspace, write_as_other: Callable[..., WriteResult]
) -> None:
    duplicate = AddTask(file=PAGE_PATH, slug="tasks", title="Write", before="tasks[0]")
    result = write_concurrently(
        our_workspace, lambda: write_as_other(duplicate), CompleteTask(file=PAGE_PATH, slug="tasks[0]")
    )
    assert not result.is_committed
    assert result.steps[1].error is not None
    assert result.steps[1].error.code == "CONFLICT"
    assert "[x]" not in read_head_page(repo)


def test_section_is_found_after_a_new_duplicate_title(repo: Repo, our_workspace: Workspace) -> None:
    def commit_as_other() -> None:
        new_data = PAGE_TEXT.replace("## Errors\n\nOne.", "## Errors\n\nZero.\n\n## Errors\n\nOne.").encode()
        _commit_page(repo, new_data)

    append = AppendContent(file=PAGE_PATH, slug="errors", content="And a half.")
    assert write_concurrently(our_workspace, commit_as_other, append).is_committed
    assert "Zero.\n\n## Errors\n\nOne.\n\nAnd a half.\n" in read_head_page(repo)


@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize(
    "operation",
    [
        UpdateContent(file=PAGE_PATH, slug="errors", content="Ours."),
        RemoveSection(file=PAGE_PATH, slug="errors"),
    ],
    ids=lambda operation: operation.name,
)
def test_concurrent_edit_of_another_writer_is_not_overwritten(
    repo: Repo,
    our_workspace: Workspace,
    write_as_other: Callable[..., WriteResult],
    operation: Operation,
    has_base: bool,
) -> None:
    evidence = {"base_commit": repo.head()} if has_base else {"seen_texts": read_page(our_workspace)}
    append = AppendContent(file=PAGE_PATH, slug="errors", content="Theirs.")
    result = write_concurrently(our_workspace, lambda: write_as_other(append), operation, **evidence)
    assert not result.is_committed
    error = result.steps[1].error
    assert error is not None
    assert error.code == ("CONFLICT" if has_base else "READ_FIRST")
    [current_text] = error.details["theirs" if has_base else "current"]
    assert "Theirs." in current_text.source
    assert "One.\n\nTheirs.\n" in read_head_page(repo)


def test_unchanged_section_is_overwritten_after_a_concurrent_commit(
    repo: Repo, our_workspace: Workspace, write_as_other: Callable[..., WriteResult]
) -> None:
    task = AddTask(file=PAGE_PATH, slug="tasks", title="Theirs")
    update = UpdateContent(file=PAGE_PATH, slug="errors", content="Ours.")
    assert write_concurrently(
        our_workspace, lambda: write_as_other(task), update, seen_texts=read_page(our_workspace)
    ).is_committed
    assert "## Errors\n\nOurs.\n" in read_head_page(repo)
    assert "- [ ] Theirs\n" in read_head_page(repo)


def test_only_committed_text_counts_as_written(
    repo: Repo, our_workspace: Workspace, write_as_other: Callable[..., WriteResult]
) -> None:
    seen_texts = read_page(our_workspace)
    seen_count = len(seen_texts)
    update = UpdateContent(file=PAGE_PATH, slug="errors", content="Ours.")
    append = AppendContent(file=PAGE_PATH, slug="errors", content="Theirs.")
    assert not write_concurrently(
        our_workspace, lambda: write_as_other(append), update, seen_texts=seen_texts
    ).is_committed
    assert len(seen_texts) == seen_count
    task = AddTask(file=PAGE_PATH, slug="tasks", title="Ours")
    assert write_concurrently(our_workspace, lambda: None, task, seen_texts=seen_texts).is_committed
    assert len(seen_texts) == seen_count + 1


def _commit_page(repo: Repo, data: bytes) -> None:
    """Commit the page with git; a bare repository gets the commit by a push from a clone."""
    if (repo.path / ".git").exists():
        repo.commit({PAGE_PATH: data})
        return
    clone = repo.path.with_name("clone")
    repo.git("clone", "-q", ".", str(clone))
    clone_repo = Repo(clone)
    clone_repo.git("config", "user.name", "Ben")
    clone_repo.git("config", "user.email", "ben@example.org")
    clone_repo.commit({PAGE_PATH: data})
    clone_repo.git("push", "-q", "origin", "HEAD:main")
