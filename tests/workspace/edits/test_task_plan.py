"""The operation that writes what a task waits for."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repositories import Repo, create_repository
from tests.workspace.documents import EDIT_CONTEXT, FILE
from tests.workspace.edits.test_task_edits import documents_with_tasks, list_task_addresses
from workspace.document.addresses import InvalidAddress, TaskNotFound, resolve_task
from workspace.document.document import Document
from workspace.document.tasks import Claim
from workspace.edits.content import InvalidContent
from workspace.edits.task_claim import ClaimAction, ClaimTask, make_claim_secret
from workspace.edits.task_plan import CircularDependency, PlanTask
from workspace.edits.tasks import AddTask
from workspace.errors import WorkspaceError
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot
from workspace.task_graph import list_references
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
reasons = st.sampled_from([None, "", "legal", "two\nlines", "- a list", "`code`", "数据", "```", "Note: x"])
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


@cache
def create_empty_snapshot() -> Snapshot:
    return Workspace.open(create_repository(Path(tempfile.mkdtemp()) / "docs", {}).path).snapshot()


@given(documents_with_tasks, st.data())
def test_planning_a_task_changes_only_its_fields_and_the_ids(document: Document, data: st.DataObject) -> None:
    addresses = list_task_addresses(document)
    slug, *names = data.draw(st.lists(st.sampled_from(addresses), min_size=2, max_size=3, unique=False))
    overlay = Overlay(create_empty_snapshot())
    overlay.put(document)
    operation = PlanTask(file=FILE, slug=slug, depends_on=tuple(names), blocked=data.draw(reasons))
    try:
        outcome = operation.apply(overlay, EDIT_CONTEXT)
    except WorkspaceError:
        return
    new_document = overlay.document(FILE)
    assert len(new_document.all_tasks) == len(document.all_tasks)
    for old, new in zip(document.all_tasks, new_document.all_tasks, strict=True):
        assert (old.title, old.is_done, old.index) == (new.title, new.is_done, new.index)
    _, task = resolve_task(new_document, slug)
    required = {resolve_task(new_document, name)[1].id for name in names}
    assert {f"#{id}" for id in required} <= set(task.dependencies)
    assert outcome.result["depends_on"] == list(list_references(FILE, task.dependencies))
    position = [item.start for item in new_document.all_tasks].index(task.start)
    for number, (old, new) in enumerate(zip(document.all_tasks, new_document.all_tasks, strict=True)):
        if number != position:
            assert [(field.name, field.value) for field in old.fields] == [
                (field.name, field.value) for field in new.fields
            ]
    sections = [(section.key, section.title) for section in document.sections]
    assert sections == [(section.key, section.title) for section in new_document.sections]


@given(documents_with_tasks, st.data())
def test_claim_and_release_restore_the_document(document: Document, data: st.DataObject) -> None:
    slug = data.draw(st.sampled_from(list_task_addresses(document)))
    fields = {"file": FILE, "slug": slug, "time": NOW, "until": NOW + timedelta(hours=1), "key": b"key"}
    overlay = Overlay(create_empty_snapshot())
    overlay.put(document)
    try:
        outcome = ClaimTask(action=ClaimAction.CLAIM, claimant="Ana", **fields).apply(overlay, EDIT_CONTEXT)
    except WorkspaceError:
        return
    id, claim = str(outcome.result["id"]), str(outcome.result["claimed_by"])
    assert resolve_task(overlay.document(FILE), slug)[1].claim == Claim("Ana", NOW + timedelta(hours=1))
    secret = make_claim_secret(b"key", id, claim)
    ClaimTask(action=ClaimAction.RELEASE, secret=secret, **fields).apply(overlay, EDIT_CONTEXT)
    released = overlay.document(FILE)
    if document.all_tasks[0].id is None and released.data != document.data:
        assert released.data.replace(f" {{#{id}}}".encode(), b"", 1) == document.data
