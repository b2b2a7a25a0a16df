"""Plans: the effect of a batch on an overlay, operation by operation."""

from __future__ import annotations

import pytest

from templates import builtin_types
from tests.repositories import Repo
from tests.workspace.documents import EDIT_CONTEXT
from workspace.edits import AddSection, AppendContent, CreateDocument, RemoveDocument, UpdateContent
from workspace.edits.operation import Operation
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.reader import GitReader
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
from workspace.writing.plan import Mode, Plan, StepStatus, plan

pytestmark = pytest.mark.smoke

README = "README.md"
GOOD = AppendContent(file=README, slug="_preamble", content="More.")
BAD = UpdateContent(file=README, slug="nothing", content="x")
SAME = UpdateContent(file=README, slug="_preamble", content="Text.")


@pytest.fixture
def snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def run(snapshot: Snapshot, *operations: Operation | WorkspaceError, mode: Mode = Mode.EACH) -> Plan:
    return plan(snapshot, operations, mode, EDIT_CONTEXT)


def statuses(planned: Plan) -> list[str]:
    return [step.status.value for step in planned.steps]


def test_mode_each_applies_successful_operations(snapshot: Snapshot) -> None:
    result = run(snapshot, GOOD, BAD, GOOD)
    assert statuses(result) == ["done", "failed", "done"]
    assert result.changes == {README: b"# Example\n\nText.\n\nMore.\n\nMore.\n"}
    assert len(result.summaries) == 2


def test_mode_all_applies_nothing_after_a_failure(snapshot: Snapshot) -> None:
    result = run(snapshot, GOOD, BAD, GOOD, mode=Mode.ALL)
    assert statuses(result) == ["undone", "failed", "not_run"]
    assert result.changes == {}
    assert result.overlay.document(README).data == snapshot.read(README)
    assert result.summaries == ()
    assert statuses(run(snapshot, GOOD, GOOD, mode=Mode.ALL)) == ["done", "done"]


def test_later_operations_see_earlier_ones(snapshot: Snapshot) -> None:
    result = run(
        snapshot,
        CreateDocument(type=builtin_types()["document"], title="New"),
        AddSection(file="new.md", title="Part"),
        UpdateContent(file="new.md", slug="part", content="Text."),
        RemoveDocument(path=README),
        AppendContent(file=README, slug="_preamble", content="x"),
    )
    assert statuses(result) == ["done"] * 4 + ["failed"]
    error = result.steps[-1].error
    assert isinstance(error, DocumentNotFound)
    assert "earlier operation" in error.message
    assert result.changes[README] is None
    new = result.changes["new.md"]
    assert new is not None
    assert new.endswith(b"## Part {#part}\n\nText.\n")


def test_operation_without_effect_makes_no_change(snapshot: Snapshot) -> None:
    result = run(snapshot, SAME)
    assert result.steps[0].status is StepStatus.DONE
    assert (result.changes, result.summaries) == ({}, ())
    created = CreateDocument(type=builtin_types()["document"], title="New")
    assert run(snapshot, created, RemoveDocument(path="new.md")).changes == {}


def test_unparsable_operation_fails_at_its_position(snapshot: Snapshot) -> None:
    result = run(snapshot, GOOD, LimitExceeded("too much"), GOOD)
    assert statuses(result) == ["done", "failed", "done"]
    assert statuses(run(snapshot, LimitExceeded("x"), GOOD, mode=Mode.ALL)) == ["failed", "not_run"]


def test_failed_operation_leaves_the_overlay_unchanged(snapshot: Snapshot) -> None:
    overlay = Overlay(snapshot)
    GOOD.apply(overlay, EDIT_CONTEXT)
    before = dict(overlay.changes())
    for operation in (
        BAD,
        AddSection(file=README, title="A", content="```\nopen"),
        AppendContent(file=README, slug="_preamble", content="x" * 10_000_001),
        AppendContent(file="../up.md", slug="_preamble", content="x"),
        CreateDocument(type=builtin_types()["document"], title="Readme"),
        RemoveDocument(path="gone.md"),
    ):
        with pytest.raises(WorkspaceError):
            operation.apply(overlay, EDIT_CONTEXT)
        assert overlay.changes() == before


def test_batch_over_the_limit_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(LimitExceeded) as caught:
        run(snapshot, *[GOOD] * 201)
    assert caught.value.details == {"limit": 200, "actual": 201}
    assert run(snapshot).steps == ()
