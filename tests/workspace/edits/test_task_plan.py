"""The operation that writes what a task waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import Repo, create_repository
from workspace.document.addresses import InvalidAddress, TaskNotFound
from workspace.edits.content import InvalidContent
from workspace.edits.task_plan import CircularDependency, PlanTask
from workspace.edits.tasks import AddTask
from workspace.errors import WorkspaceError
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

PLAN = "# Plan\n\n## Tasks\n\n- [ ] Parse *it*\n- [ ] Test it\n  - Note: soon\n- [ ] Ship it {#ship}\n"
GUIDE = "# Guide\r\n\r\n1. [ ] Write `it`  \r\n2. [x] Write it"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {"plan.md": PLAN, "guide.md": GUIDE})


def run(repo: Repo, *operations: PlanTask | AddTask) -> dict[str, str]:
    """Write operations as one batch, and return the documents after it. Raise the error of an operation."""
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write(
        operations, mode=BatchMode.ALL, tool="plan_task", client="tester", base_commit=workspace.tip()
    )
    for step in result.plan.steps:
        if step.error is not None:
            raise step.error
    snapshot = workspace.snapshot()
    return {path: snapshot.read(path).decode() for path in snapshot.documents}


def test_dependency_names_an_id_that_is_written_on_first_reference(repo: Repo) -> None:
    documents = run(
        repo, PlanTask(file="plan.md", slug="tasks[1]", depends_on=("tasks[0]", "guide.md#_preamble[1]"))
    )
    assert documents["plan.md"] == PLAN.replace("Parse *it*", "Parse *it* {#parse-it}").replace(
        "soon\n", "soon\n  - Depends on: #parse-it, guide.md#write-it\n"
    )
    assert documents["guide.md"] == GUIDE + " {#write-it}"
    documents = run(repo, PlanTask(file="plan.md", slug="ship", depends_on=("#parse-it", "plan.md#parse-it")))
    assert documents["plan.md"].endswith("- [ ] Ship it {#ship}\n  - Depends on: #parse-it\n")


def test_ids_are_unique_in_their_document(repo: Repo) -> None:
    documents = run(
        repo,
        PlanTask(
            file="plan.md", slug="tasks[0]", depends_on=("guide.md#_preamble[0]", "guide.md#_preamble[1]")
        ),
    )
    assert (
        documents["guide.md"]
        == "# Guide\r\n\r\n1. [ ] Write `it` {#write-it}  \r\n2. [x] Write it {#write-it-2}"
    )


def test_dependencies_are_added_and_removed(repo: Repo) -> None:
    run(repo, PlanTask(file="plan.md", slug="tasks[0]", depends_on=("ship",)))
    documents = run(
        repo, PlanTask(file="plan.md", slug="tasks[0]", depends_on=("tasks[1]",), remove=("#ship",))
    )
    assert "- [ ] Parse *it*\n  - Depends on: #test-it\n" in documents["plan.md"]
    documents = run(repo, PlanTask(file="plan.md", slug="tasks[0]", remove=("tasks[1]", "lost.md#gone")))
    assert "Depends on" not in documents["plan.md"]


def test_reason_is_written_replaced_and_removed(repo: Repo) -> None:
    assert (
        "  - Blocked: legal\n" in run(repo, PlanTask(file="plan.md", slug="ship", blocked="legal"))["plan.md"]
    )
    changed = run(repo, PlanTask(file="plan.md", slug="ship", blocked="the\npress"))["plan.md"]
    assert "  - Blocked: the press\n" in changed
    assert run(repo, PlanTask(file="plan.md", slug="ship", blocked=""))["plan.md"] == PLAN


def test_circle_is_refused_and_shown(repo: Repo) -> None:
    run(repo, PlanTask(file="plan.md", slug="ship", depends_on=("tasks[1]",)))
    run(repo, PlanTask(file="plan.md", slug="tasks[1]", depends_on=("guide.md#_preamble[0]",)))
    before = Workspace.open(repo.path).tip()
    with pytest.raises(CircularDependency) as refused:
        run(repo, PlanTask(file="guide.md", slug="_preamble[0]", depends_on=("plan.md#ship",)))
    assert refused.value.details["circle"] == [
        "guide.md#write-it",
        "plan.md#ship",
        "plan.md#test-it",
        "guide.md#write-it",
    ]
    assert Workspace.open(repo.path).tip() == before


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (PlanTask(file="plan.md", slug="tasks[0]"), InvalidContent),
        (PlanTask(file="plan.md", slug="tasks[0]", depends_on=("tasks[0]",)), CircularDependency),
        (PlanTask(file="plan.md", slug="tasks[0]", depends_on=("tasks[9]",)), TaskNotFound),
        (PlanTask(file="plan.md", slug="tasks[0]", depends_on=("lost.md#a",)), WorkspaceError),
        (PlanTask(file="plan.md", slug="tasks[0]", depends_on=("guide.md#",)), InvalidAddress),
        (PlanTask(file="plan.md", slug="tasks[0]", depends_on=("tasks",)), InvalidAddress),
        (PlanTask(file="plan.md", slug="tasks[0]", depends_on=("ship",) * 101), WorkspaceError),
        (PlanTask(file="plan.md", slug="tasks[0]", blocked="a\0b"), InvalidContent),
    ],
)
def test_wrong_input_changes_nothing(repo: Repo, operation: PlanTask, error: type[WorkspaceError]) -> None:
    before = Workspace.open(repo.path).tip()
    with pytest.raises(error):
        run(repo, operation)
    assert Workspace.open(repo.path).tip() == before


def test_later_operation_of_a_batch_sees_the_tasks_of_an_earlier_one(repo: Repo) -> None:
    documents = run(
        repo,
        AddTask(file="plan.md", slug="tasks", title="First", before="tasks[0]"),
        PlanTask(file="plan.md", slug="tasks[1]", depends_on=("tasks[0]",)),
    )
    assert "- [ ] First {#first}\n- [ ] Parse *it*\n  - Depends on: #first\n" in documents["plan.md"]
