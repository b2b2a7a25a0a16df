"""Plans: the effect of a batch on an overlay, operation by operation."""

from __future__ import annotations

import pytest

from templates import builtin_types
from tests.repositories import Repo
from tests.workspace.documents import EDIT_CONTEXT
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import AddSection
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.reader import GitReader
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
from workspace.writing.plan import BatchMode, Plan, StepStatus, build_plan

pytestmark = pytest.mark.smoke

README_PATH = "README.md"
APPEND_OPERATION = AppendContent(file=README_PATH, slug="_preamble", content="More.")
INVALID_UPDATE = UpdateContent(file=README_PATH, slug="nothing", content="x")
EQUAL_UPDATE = UpdateContent(file=README_PATH, slug="_preamble", content="Text.")


@pytest.fixture
def snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def plan_operations(
    snapshot: Snapshot, *operations: Operation | WorkspaceError, mode: BatchMode = BatchMode.EACH
) -> Plan:
    return build_plan(snapshot, operations, mode, EDIT_CONTEXT)


def list_statuses(plan_result: Plan) -> list[str]:
    return [step.status.value for step in plan_result.steps]


def test_mode_each_applies_successful_operations(snapshot: Snapshot) -> None:
    result = plan_operations(snapshot, APPEND_OPERATION, INVALID_UPDATE, APPEND_OPERATION)
    assert list_statuses(result) == ["done", "failed", "done"]
    assert result.changes == {README_PATH: b"# Example\n\nText.\n\nMore.\n\nMore.\n"}
    assert len(result.summaries) == 2


def test_mode_all_applies_nothing_after_a_failure(snapshot: Snapshot) -> None:
    result = plan_operations(snapshot, APPEND_OPERATION, INVALID_UPDATE, APPEND_OPERATION, mode=BatchMode.ALL)
    assert list_statuses(result) == ["undone", "failed", "not_run"]
    assert result.changes == {}
    assert result.overlay.document(README_PATH).data == snapshot.read(README_PATH)
    assert result.summaries == ()
    assert list_statuses(
        plan_operations(snapshot, APPEND_OPERATION, APPEND_OPERATION, mode=BatchMode.ALL)
    ) == [
        "done",
        "done",
    ]


def test_later_operations_apply_to_results_of_earlier_operations(snapshot: Snapshot) -> None:
    result = plan_operations(
        snapshot,
        CreateDocument(type=builtin_types()["document"], title="New"),
        AddSection(file="new.md", title="Part"),
        UpdateContent(file="new.md", slug="part", content="Text."),
        RemoveDocument(path=README_PATH),
        AppendContent(file=README_PATH, slug="_preamble", content="x"),
    )
    assert list_statuses(result) == ["done"] * 4 + ["failed"]
    error = result.steps[-1].error
    assert isinstance(error, DocumentNotFound)
    assert "earlier operation" in error.message
    assert result.changes[README_PATH] is None
    new_data = result.changes["new.md"]
    assert new_data is not None
    assert new_data.endswith(b"## Part {#part}\n\nText.\n")


def test_operation_without_effect_makes_no_change(snapshot: Snapshot) -> None:
    result = plan_operations(snapshot, EQUAL_UPDATE)
    assert result.steps[0].status is StepStatus.DONE
    assert (result.changes, result.summaries) == ({}, ())
    create = CreateDocument(type=builtin_types()["document"], title="New")
    assert plan_operations(snapshot, create, RemoveDocument(path="new.md")).changes == {}


def test_unparsable_operation_fails_at_its_position(snapshot: Snapshot) -> None:
    result = plan_operations(snapshot, APPEND_OPERATION, LimitExceeded("too much"), APPEND_OPERATION)
    assert list_statuses(result) == ["done", "failed", "done"]
    assert list_statuses(
        plan_operations(snapshot, LimitExceeded("x"), APPEND_OPERATION, mode=BatchMode.ALL)
    ) == [
        "failed",
        "not_run",
    ]


def test_failed_operation_leaves_the_overlay_unchanged(snapshot: Snapshot) -> None:
    overlay = Overlay(snapshot)
    APPEND_OPERATION.apply(overlay, EDIT_CONTEXT)
    old_changes = dict(overlay.changes())
    for operation in (
        INVALID_UPDATE,
        AddSection(file=README_PATH, title="A", content="```\nopen"),
        AppendContent(file=README_PATH, slug="_preamble", content="x" * 10_000_001),
        AppendContent(file="../up.md", slug="_preamble", content="x"),
        CreateDocument(type=builtin_types()["document"], title="Readme"),
        RemoveDocument(path="gone.md"),
    ):
        with pytest.raises(WorkspaceError):
            operation.apply(overlay, EDIT_CONTEXT)
        assert overlay.changes() == old_changes


def test_batch_over_the_limit_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(LimitExceeded) as error_info:
        plan_operations(snapshot, *[APPEND_OPERATION] * 201)
    assert error_info.value.details == {"limit": 200, "actual": 201}
    assert plan_operations(snapshot).steps == ()
