"""Operations have the results of the examples: a document before, the request, and a document or an error."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.loops import loop_over
from tests.workspace.cases import CASES_FOLDER, Case, read_cases
from workspace.document.document import Document
from workspace.document.splices import EditContext
from workspace.edits.edit_operations import EDIT_OPERATIONS
from workspace.edits.metadata import TagDocument
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import RemoveSection
from workspace.edits.tasks import CompleteTask, ReopenTask
from workspace.errors import WorkspaceError
from workspace.markdown.attribute_lists import AnchorForm

pytestmark = pytest.mark.smoke

OTHER_OPERATIONS: tuple[type[DocumentOperation], ...] = (CompleteTask, RemoveSection, ReopenTask, TagDocument)
CASE_FILES = ("edits.md", "tasks.md", "task_edits.md", "tags.md", "replace_text.md", "metadata.md")
# Tested separately, because each case has several documents.
FILES_WITH_SEVERAL_DOCUMENTS = ("move_section.md", "move_document.md")
CASES = [case for file in CASE_FILES for case in read_cases(file)]
OPERATIONS = {operation.name: operation for operation in (*EDIT_OPERATIONS, *OTHER_OPERATIONS)}


def perform_operation(case: Case) -> tuple[bytes, dict[str, object]]:
    """Perform the operation of a case, and return the document's bytes and the operation's result."""
    fields = case.json("json")
    context = EditContext(AnchorForm(fields.pop("anchors", "braces")), "2025-09-19")
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    operation = OPERATIONS[fields.pop("operation")](**{"file": "doc.md", **fields})
    document, edit = operation.revise(Document.parse(case.data("before"), "doc.md"), context)
    return document.data, dict(edit.result)


@loop_over("case", CASES)
def test_operation_has_the_result_of_its_example(case: Case) -> None:
    if "error" in case.fences:
        code, _, message_part = case.fences["error"].strip().partition(": ")
        with pytest.raises(WorkspaceError) as error_info:
            perform_operation(case)
        assert (error_info.value.code, message_part in error_info.value.message) == (code, True), (
            error_info.value.message
        )
        assert error_info.value.fix
        return
    data, result = perform_operation(case)
    expected = case.data("before" if "after" not in case.fences else "after")
    assert data.decode() == expected.decode()
    if "answer" in case.fences:
        expected_fields = case.json("answer")
        assert {key: result.get(key) for key in expected_fields} == expected_fields


def test_every_operation_has_an_example() -> None:
    tested_operations = {case.values[0].json("json")["operation"] for case in CASES}
    for file in FILES_WITH_SEVERAL_DOCUMENTS:
        tested_operations.update(
            re.findall(r'"operation": "(\w+)"', (CASES_FOLDER / file).read_text(encoding="utf-8"))
        )
    assert tested_operations >= set(OPERATIONS)


def test_operations_are_documented_dataclasses() -> None:
    for operation in OPERATIONS.values():
        assert dataclasses.is_dataclass(operation)
        assert operation.__doc__
