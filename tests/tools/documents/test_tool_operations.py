"""The operations of other writing tools in a batch of edit_document."""

from __future__ import annotations

import json

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.arguments import list_field_names
from tools.documents.edit_operations import (
    SPECIFICATIONS,
    get_operation_fields,
    load_operation_classes,
    load_writing_tool,
    resolve_operation,
)
from tools.writer import WriteFields

pytestmark = pytest.mark.smoke

TOOL_OPERATIONS = [name for name in SPECIFICATIONS if load_writing_tool(name)]


def test_operation_without_class_is_operation_of_another_tool() -> None:
    assert [name for name in SPECIFICATIONS if name not in load_operation_classes()] == TOOL_OPERATIONS


@loop_over("name", TOOL_OPERATIONS)
def test_tool_operation_has_fields_of_its_tool(name: str) -> None:
    writing_tool = load_writing_tool(name)
    assert writing_tool
    fields = set(list_field_names(writing_tool.tool.arguments)) - set(list_field_names(WriteFields))
    assert {field.name for field in get_operation_fields(name)} == fields


def test_one_batch_creates_edits_completes_tags_and_removes(call_tool: CallTool, repo: Repo) -> None:
    call_tool("view_document", operations=[{"file": "notes/plain.md", "slug": "_preamble"}])
    operations = [
        {"operation": "create_document", "doc_type": "process_checklist", "title": "Release"},
        {"operation": "add_task", "file": "release.md", "slug": "tasks", "title": "Tag it"},
        {"operation": "complete_task", "file": "release.md", "slug": "tasks[0]", "note": "v2"},
        {"operation": "reopen_task", "file": "release.md", "slug": "tasks[0]"},
        {"operation": "tag_document", "file": "release.md", "tags": ["ops"]},
        {"operation": "restore_document", "file": "api.md", "ref": "HEAD"},
        {"operation": "remove_document", "path": "notes/plain.md"},
    ]
    data = call_tool("edit_document", operations=operations, mode="all").data
    created, _, completed, reopened, tagged, restored, removed = data["batch_results"]
    assert (created["path"], created["created"]) == ("release.md", True)
    progress = {"total": 1, "completed": 0}  # after the batch
    assert (completed["completed"], completed["progress"]) == (True, progress)
    assert (reopened["reopened"], reopened["progress"]) == (True, progress)
    assert tagged["tags_applied"] == ["ops"]
    assert restored["changed"] is False
    assert removed["removed"] == "document"
    assert repo.git("log", "--format=%(trailers:key=Docyard-Tool,valueonly)", "-1").strip() == "edit_document"
    assert repo.git("show", "--name-status", "--format=", "HEAD").split() == [
        *("D", "notes/plain.md"),
        *("A", "release.md"),
    ]


@loop_over(
    ("fields", "operation"),
    [
        ({"doc_type": "runbook", "title": "Deploy"}, "create_document"),
        ({"file": "api.md", "tags": ["a"]}, "tag_document"),
        ({"undo": "HEAD"}, "restore_document"),
        ({"file": "api.md", "slug": "endpoints", "ref": "HEAD"}, "restore_document"),
        ({"file": "api.md", "slug": "tasks[0]", "note": "x"}, "update_task"),
        ({"operation": "complete_task", "file": "api.md", "slug": "tasks[0]"}, "complete_task"),
    ],
)
def test_fields_imply_the_operation(fields: dict[str, object], operation: str) -> None:
    assert resolve_operation(fields) == operation


def test_removal_or_completion_without_operation_name_is_refused(call_tool: CallTool, repo: Repo) -> None:
    for fields in ({"path": "api.md"}, {"file": "api.md", "slug": "tasks[0]"}):
        assert call_tool("edit_document", **fields).data["code"] == "INVALID_ARGUMENTS"
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"


@loop_over("name", TOOL_OPERATIONS)
def test_error_has_the_fields_and_an_example_of_the_operation(call_tool: CallTool, name: str) -> None:
    data = call_tool("edit_document", operation=name, file="missing.md", slug="tasks[9]", unknown=1).data
    assert data["error"] == "unknown field 'unknown'"
    data = call_tool("edit_document", operation=name, new_title="A").data
    assert data["error"] == f"'new_title' is not a field of {name}"
    assert data["usage"] == {"operation": name, **SPECIFICATIONS[name]}
    assert data["example"]["operation"] == name
    usage = call_tool("edit_document", operation=name).data
    assert json.loads(usage["next_step"].partition("edit_document ")[2])["operation"] == name


def test_unknown_operation_in_long_batch_names_the_nearest(call_tool: CallTool, repo: Repo) -> None:
    operations: list[dict[str, object]] = [
        {"operation": "add_section", "file": "api.md", "title": f"Part {number}"} for number in range(39)
    ]
    operations.insert(20, {"operation": "delete_file", "path": "api.md"})
    data = call_tool("edit_document", operations=operations, mode="all").data
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"
    failure = data["batch_results"][20]
    assert (failure["error"], failure["fix"]) == (
        "unknown operation 'delete_file'",
        "Did you mean 'remove_document'?",
    )


def test_next_step_after_removal_lists_the_remaining_documents(call_tool: CallTool, repo: Repo) -> None:
    call_tool("view_document", file="notes/plain.md", slug="_preamble")
    answer = call_tool("edit_document", operation="remove_document", path="notes/plain.md")
    assert answer.data["next_step"] == "See the remaining documents with list_documents {}"


def test_example_of_failed_operation_is_valid_in_a_batch(call_tool: CallTool, repo: Repo) -> None:
    operations = [{"operation": "remove_document", "path": "plain.md"}]
    [failure] = call_tool("edit_document", operations=operations).data["batch_results"]
    [result] = call_tool("edit_document", operations=[failure["example"]]).data["batch_results"]
    assert result.get("code") in (None, "READ_FIRST")


def test_complete_task_batch_accepts_own_name_as_operation(call_tool: CallTool) -> None:
    operations = [{"operation": "complete_task", "file": "api.md", "slug": "tasks[1]"}]
    [result] = call_tool("complete_task", operations=operations).data["batch_results"]
    assert result["completed"] is True


@loop_over("name", ["delete_document", "delete_file", "remove_section"])
def test_wrong_name_of_removal_suggests_remove_document(call_tool: CallTool, name: str) -> None:
    answer = call_tool("edit_document", operation=name, path="api.md")
    assert answer.data["fix"] == "Did you mean 'remove_document'?"
    assert answer.data["example"]["operation"] == "remove_document"


@loop_over("title", ["😀", "T {#x}", "a\nb", "", "x" * 10_000, "API"])
@loop_over("operation", ["move_section", "move_document"])
def test_example_after_invalid_title_of_a_move_works(call_tool: CallTool, operation: str, title: str) -> None:
    fields = {"operation": operation, "file": "api.md", "to_title": title}
    if operation == "move_section":
        fields["slug"] = "endpoints"
    answer = call_tool("edit_document", **fields)
    if operation == "move_document" and title == "API":
        assert answer.data["changed"] is False
        return
    assert answer.is_error
    corrected_answer = call_tool("edit_document", **answer.data["example"])
    assert not corrected_answer.is_error, (answer.data, corrected_answer.data)


def test_new_document_is_created_at_its_path_unless_the_path_exists(call_tool: CallTool) -> None:
    fields = {"doc_type": "document", "title": "Outbox", "path": "decisions/0002-outbox"}
    for answer in (
        call_tool("create_document", **fields),
        call_tool("edit_document", operations=[{**fields, "path": "decisions/0003-outbox.md"}]),
    ):
        assert not answer.is_error
    answer_to_both = call_tool("create_document", **fields, folder="decisions")
    assert (answer_to_both.data["code"], answer_to_both.data["field"]) == ("INVALID_ARGUMENTS", "path")
    answer_to_existing_path = call_tool("create_document", **fields)
    assert answer_to_existing_path.data["code"] == "PATH_EXISTS"
    assert not call_tool("create_document", **answer_to_existing_path.data["example"]).is_error
