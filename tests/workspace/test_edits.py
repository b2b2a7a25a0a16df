"""Operations, by examples: a document before, what is asked, and the document after (or the error)."""

from __future__ import annotations

import dataclasses

import pytest

from tests.workspace.cases import Case, read_cases
from workspace.anchors import AnchorForm
from workspace.document import Document
from workspace.edits import (
    EDIT_OPERATIONS,
    CompleteTask,
    DocumentOperation,
    RemoveSection,
    ReopenTask,
    TagDocument,
)
from workspace.edits.edit import Style
from workspace.errors import WorkspaceError

pytestmark = pytest.mark.smoke

OTHERS: tuple[type[DocumentOperation], ...] = (CompleteTask, RemoveSection, ReopenTask, TagDocument)
OPERATIONS = {operation.name: operation for operation in (*EDIT_OPERATIONS, *OTHERS)}


def perform(case: Case) -> tuple[bytes, dict[str, object]]:
    """The bytes after the operation of a case, and its answer."""
    fields = case.json("json")
    style = Style(AnchorForm(fields.pop("anchors", "braces")), "2025-09-19")
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    operation = OPERATIONS[fields.pop("operation")](**{"file": "doc.md", **fields})
    document, edit = operation.revise(Document.parse(case.data("before"), "doc.md"), style)
    return document.data, dict(edit.answer)


@pytest.mark.parametrize("case", [*read_cases("edits.md"), *read_cases("tasks.md"), *read_cases("tags.md")])
def test_an_operation(case: Case) -> None:
    if "error" in case.fences:
        code, _, words = case.fences["error"].strip().partition(": ")
        with pytest.raises(WorkspaceError) as caught:
            perform(case)
        assert (caught.value.code, words in caught.value.message) == (code, True), caught.value.message
        assert caught.value.fix
        return
    data, answer = perform(case)
    expected = case.data("before" if "after" not in case.fences else "after")
    assert data.decode() == expected.decode()
    if "answer" in case.fences:
        wanted = case.json("answer")
        assert {key: answer.get(key) for key in wanted} == wanted


def test_every_operation_has_an_example() -> None:
    cases = [*read_cases("edits.md"), *read_cases("tasks.md"), *read_cases("tags.md")]
    shown = {case.values[0].json("json")["operation"] for case in cases}
    assert shown == set(OPERATIONS)


def test_operations_are_values() -> None:
    for operation in OPERATIONS.values():
        assert dataclasses.is_dataclass(operation)
        assert operation.__doc__
