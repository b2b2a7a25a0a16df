"""Replay: a call after a concurrent commit has the same meaning, and overwrites no unread text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.repositories import Repo, bare, normal
from tests.workspace.publishing.interrupted import Interrupted
from workspace.document.section_text import compute_digest
from workspace.edits import AddTask, AppendContent, CompleteTask, RemoveSection, UpdateContent
from workspace.edits.operation import Operation
from workspace.workspace import Workspace
from workspace.writing.plan import Mode
from workspace.writing.read_before_write import SeenTexts
from workspace.writing.write import WriteResult

pytestmark = pytest.mark.smoke

PAGE = "page.md"
TEXT = "# Page\n\n## Errors\n\nOne.\n\n## Tasks\n\n- [ ] Write\n- [ ] Ship\n"


@pytest.fixture(params=["checked out", "bare"])
def repo(request: pytest.FixtureRequest, tmp_path: Any) -> Repo:
    return (normal if request.param == "checked out" else bare)(tmp_path / "repo", {PAGE: TEXT})


@pytest.fixture
def ours(repo: Repo) -> Workspace:
    return Workspace.open(repo.path, durable=False)


@pytest.fixture
def theirs(repo: Repo) -> Callable[..., WriteResult]:
    """Return the write function of another writer, who has read everything."""
    other_workspace = Workspace.open(repo.path, durable=False)

    def write(*operations: Operation) -> WriteResult:
        return other_workspace.write(
            operations, mode=Mode.ALL, tool="edit_document", client="b", base_commit=other_workspace.tip()
        )

    return write


def read_page(workspace: Workspace) -> SeenTexts:
    """Return the seen texts of a client that has read the whole page."""
    document, seen_texts = workspace.snapshot().document(PAGE), SeenTexts()
    seen_texts.add(compute_digest(document, section) for section in document.sections)
    return seen_texts


def write_concurrently(
    ours: Workspace, theirs: Callable[[], object], *operations: Operation, **options: Any
) -> WriteResult:
    """Write a batch while another writer commits between its plan and its publication."""
    batch = [Interrupted(theirs), *operations]
    return ours.write(batch, mode=Mode.EACH, tool="edit_document", client="a", **options)


def text(repo: Repo) -> str:
    return repo.git("show", f"HEAD:{PAGE}")


def test_task_address_refers_to_the_tip_at_the_call(
    repo: Repo, ours: Workspace, theirs: Callable[..., WriteResult]
) -> None:
    first = AddTask(file=PAGE, slug="tasks", title="First", before="tasks[0]")
    result = write_concurrently(ours, lambda: theirs(first), CompleteTask(file=PAGE, slug="tasks[0]"))
    assert result.is_committed
    assert "- [ ] First\n- [x] Write\n" in text(repo)
    outcome = result.steps[1].outcome
    assert outcome is not None
    assert outcome.result["slug"] == "tasks[1]"
    assert repo.git("rev-list", "--count", "HEAD").strip() == "3"


def test_two_tasks_of_the_same_title_are_a_conflict(
    repo: Repo, ours: Workspace, theirs: Callable[..., WriteResult]
) -> None:
    duplicate = AddTask(file=PAGE, slug="tasks", title="Write", before="tasks[0]")
    result = write_concurrently(ours, lambda: theirs(duplicate), CompleteTask(file=PAGE, slug="tasks[0]"))
    assert not result.is_committed
    assert result.steps[1].error is not None
    assert result.steps[1].error.code == "CONFLICT"
    assert "[x]" not in text(repo)


def test_section_is_found_after_a_new_duplicate_title(repo: Repo, ours: Workspace) -> None:
    def another_comes_first() -> None:
        changed = TEXT.replace("## Errors\n\nOne.", "## Errors\n\nZero.\n\n## Errors\n\nOne.").encode()
        _commit(repo, changed)

    append = AppendContent(file=PAGE, slug="errors", content="And a half.")
    assert write_concurrently(ours, another_comes_first, append).is_committed
    assert "Zero.\n\n## Errors\n\nOne.\n\nAnd a half.\n" in text(repo)


@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize(
    "operation",
    [UpdateContent(file=PAGE, slug="errors", content="Ours."), RemoveSection(file=PAGE, slug="errors")],
    ids=lambda operation: operation.name,
)
def test_concurrent_edit_of_another_writer_is_not_overwritten(
    repo: Repo, ours: Workspace, theirs: Callable[..., WriteResult], operation: Operation, with_base: bool
) -> None:
    evidence = {"base_commit": repo.head()} if with_base else {"seen_texts": read_page(ours)}
    append = AppendContent(file=PAGE, slug="errors", content="Theirs.")
    result = write_concurrently(ours, lambda: theirs(append), operation, **evidence)
    assert not result.is_committed
    error = result.steps[1].error
    assert error is not None
    assert error.code == ("CONFLICT" if with_base else "READ_FIRST")
    [current] = error.details["theirs" if with_base else "current"]
    assert "Theirs." in current.source
    assert "One.\n\nTheirs.\n" in text(repo)


def test_unchanged_section_is_overwritten_after_a_concurrent_commit(
    repo: Repo, ours: Workspace, theirs: Callable[..., WriteResult]
) -> None:
    task = AddTask(file=PAGE, slug="tasks", title="Theirs")
    update = UpdateContent(file=PAGE, slug="errors", content="Ours.")
    assert write_concurrently(ours, lambda: theirs(task), update, seen_texts=read_page(ours)).is_committed
    assert "## Errors\n\nOurs.\n" in text(repo)
    assert "- [ ] Theirs\n" in text(repo)


def test_only_committed_text_counts_as_written(
    repo: Repo, ours: Workspace, theirs: Callable[..., WriteResult]
) -> None:
    seen_texts = read_page(ours)
    known = len(seen_texts)
    update = UpdateContent(file=PAGE, slug="errors", content="Ours.")
    append = AppendContent(file=PAGE, slug="errors", content="Theirs.")
    assert not write_concurrently(ours, lambda: theirs(append), update, seen_texts=seen_texts).is_committed
    assert len(seen_texts) == known
    task = AddTask(file=PAGE, slug="tasks", title="Ours")
    assert write_concurrently(ours, lambda: None, task, seen_texts=seen_texts).is_committed
    assert len(seen_texts) == known + 1


def _commit(repo: Repo, data: bytes) -> None:
    """Commit the page as a person, also without a work tree."""
    if (repo.path / ".git").exists():
        repo.commit({PAGE: data})
        return
    clone = repo.path.with_name("clone")
    repo.git("clone", "-q", ".", str(clone))
    person = Repo(clone)
    person.git("config", "user.name", "Ben")
    person.git("config", "user.email", "ben@example.org")
    person.commit({PAGE: data})
    person.git("push", "-q", "origin", "HEAD:main")
