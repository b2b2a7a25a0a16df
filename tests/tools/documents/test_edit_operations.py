"""The operations of edit_document: their selection, their answers and their errors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client
from tools.arguments import InvalidArguments
from tools.dispatcher import ToolDispatcher
from tools.documents import edit_operations
from workspace.edits.edit_operations import EDIT_OPERATIONS

pytestmark = pytest.mark.smoke

# Fields without an operation, and the operation that they select; if two match, the error names both.
OPERATIONS_OF_FIELDS = [
    ({"title": "New", "slug": "tasks", "criteria": "x"}, ["add_task"]),
    ({"title": "New", "slug": "tasks[0]"}, ["add_task", "update_task"]),
    ({"title": "New", "slug": "tasks[0]", "criteria": "x", "assignee": "y"}, ["add_task", "update_task"]),
    ({"slug": "tasks[0]", "note": "x"}, ["update_task"]),
    ({"slug": "tasks[0]", "criteria": "x"}, ["update_task"]),
    ({"slug": "tasks[0]", "to_slug": "endpoints"}, ["move_task"]),
    ({"slug": "tasks[0]", "before": "tasks[2]"}, ["move_task"]),
    ({"slug": "endpoints", "after": "tasks"}, ["move_section"]),
    ({"slug": "endpoints", "to_file": "notes/plain.md"}, ["move_section"]),
    ({"old": "Finds", "new": "Found"}, ["replace_text"]),
    ({"old": "Finds", "new": "Found", "slug": "endpoints/search", "count": 1}, ["replace_text"]),
    ({"metadata": {"a": 1}}, ["set_metadata"]),
    ({"new_path": "b.md"}, ["move_document"]),
    ({"new_title": "A", "slug": "endpoints"}, ["rename_section"]),
    ({"title": "A"}, ["add_section"]),
]


@loop_over(("fields", "operation_names"), OPERATIONS_OF_FIELDS)
def test_fields_select_one_operation_or_the_error_names_the_matches(
    fields: dict[str, object], operation_names: list[str]
) -> None:
    entry = {"file": "api.md", **fields}
    if len(operation_names) == 1:
        assert edit_operations.resolve_operation(entry) == operation_names[0]
        return
    with pytest.raises(InvalidArguments) as error_info:
        edit_operations.resolve_operation(entry)
    matches = " or ".join(operation_names)
    assert error_info.value.message == f"'operation' is required: the given fields match {matches}"


TYPE_NAMES: dict[object, str] = {str: "string", bool: "boolean", int: "integer", Mapping: "object"}


def list_declared_fields(operation: Any) -> list[tuple[str, str]]:
    """Return the names and types of the fields of an operation's class, in the form of the usage."""
    hints = get_type_hints(operation, localns={"ClassVar": ClassVar})
    fields = []
    for field in dataclasses.fields(operation):
        field_type = hints[field.name]
        if get_origin(field_type) is UnionType:
            [field_type] = (part for part in get_args(field_type) if part is not NoneType)
        name = field.name if field.default is dataclasses.MISSING else f"{field.name}?"
        fields.append((name, TYPE_NAMES[get_origin(field_type) or field_type]))
    return fields


def test_usage_matches_declared_fields() -> None:
    specified_operations = [
        (name, list(edit_operations.SPECIFICATIONS[name].items()))
        for name in edit_operations.load_operation_classes()
    ]
    assert specified_operations == [
        (operation.name, list_declared_fields(operation)) for operation in EDIT_OPERATIONS
    ]


@loop_over("slug", ["tasks", "tasks[0]"])
def test_removal_and_move_require_operation_name(slug: str) -> None:
    with pytest.raises(InvalidArguments, match="the given fields match no operation"):
        edit_operations.resolve_operation({"file": "api.md", "slug": slug})


@pytest.mark.parametrize("name", list(edit_operations.load_operation_classes()))
def test_example_of_operation_has_required_fields(call_tool: CallTool, repo: Repo, name: str) -> None:
    repo.commit({"api.md": "# API\n\nv1\n\n## Endpoints\n\nText.\n\n## Errors\n\n## Tasks\n\n- [ ] One\n"})
    call_tool(
        "view_document", operations=[{"file": "api.md", "slug": slug} for slug in ("endpoints", "tasks")]
    )
    usage = call_tool("edit_document", operation=name).data
    example = json.loads(usage["next_step"].partition("edit_document ")[2])
    assert example["operation"] == name
    answer = call_tool("edit_document", **example)
    assert not answer.is_error, answer.data
    assert answer.data["next_step"]


def test_task_is_changed_moved_and_removed(call_tool: CallTool, repo: Repo) -> None:
    call_tool(
        "view_document", operations=[{"file": "api.md", "slug": slug} for slug in ("tasks", "endpoints")]
    )
    answer = call_tool(
        "edit_document",
        operations=[
            {
                "operation": "update_task",
                "file": "api.md",
                "slug": "tasks[0]",
                "criteria": "JSON",
                "note": "n",
            },
            {"operation": "move_task", "file": "api.md", "slug": "tasks[0]", "to_slug": "endpoints"},
            {"operation": "remove_task", "file": "api.md", "slug": "tasks[1]"},
        ],
    )
    update_result, move_result, removal_result = answer.data["batch_results"]
    assert (update_result["task"], update_result["progress"]) == ("tasks[0]", {"completed": 0, "total": 1})
    assert (move_result["slug"], move_result["task"], move_result["task_index"]) == (
        "endpoints",
        "endpoints[0]",
        0,
    )
    assert move_result["progress"] == {"completed": 1, "total": 1}
    assert (removal_result["removed"], removal_result["progress"]) == ("task", {"completed": 0, "total": 1})
    text = repo.git("show", "HEAD:api.md")
    assert "Paths begin with /v1.\n\n- [x] Define schemas\n  - Criteria: JSON\n  - Note: n\n\n### S" in text
    assert text.rstrip().endswith("## Tasks\n\n- [ ] Write tests")


def test_unread_task_text_is_not_overwritten(dispatcher: ToolDispatcher, repo: Repo) -> None:
    for fields in (
        {"operation": "remove_task"},
        {"operation": "update_task", "criteria": "other"},
        {"operation": "update_task", "title": "Other"},
    ):
        call_tool = make_client(dispatcher)
        refusal = call_tool("edit_document", file="api.md", slug="tasks[0]", **fields)
        assert refusal.data["code"] == "READ_FIRST"
        assert not call_tool("edit_document", file="api.md", slug="tasks[0]", **fields, dry_run=True).is_error
    call_tool = make_client(dispatcher)
    for fields in (
        {"operation": "update_task", "note": "more"},
        {"operation": "move_task", "to_slug": "endpoints"},
    ):
        assert not call_tool("edit_document", file="api.md", slug="tasks[0]", **fields).is_error


def test_quoted_text_counts_as_read(dispatcher: ToolDispatcher, repo: Repo) -> None:
    answer = make_client(dispatcher)("edit_document", file="api.md", old="Finds things.", new="Finds all.")
    assert answer.data["slug"] == "endpoints/search"
    assert "Finds all." in repo.git("show", "HEAD:api.md")


def test_same_text_again_makes_no_commit(call_tool: CallTool, repo: Repo) -> None:
    head_before = repo.head()
    answer = call_tool("edit_document", file="api.md", old="Finds", new="Finds")
    assert (answer.data["changed"], answer.data["commit"]) == (False, head_before)


@pytest.mark.parametrize(("old", "matches"), [("e", 7), ("nowhere", 0)])
def test_wrong_number_of_matches_returns_working_example(call_tool: CallTool, old: str, matches: int) -> None:
    answer = call_tool("edit_document", file="api.md", old=old, new="x", slug="tasks" if matches else None)
    assert (answer.data["code"], answer.data["matches"]) == ("MATCH_COUNT", matches)
    assert len(answer.data["lines"]) == matches
    assert not call_tool("edit_document", **answer.data["example"]).is_error


def test_metadata_as_json_text_is_accepted(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool("edit_document", file="api.md", metadata='{"owner": {"name": "Ada"}, "type": null}')
    assert (answer.data["keys_set"], answer.data["keys_removed"]) == (["owner"], ["type"])
    assert repo.git("show", "HEAD:api.md").startswith("---\nowner:\n  name: Ada\n---\n\n# API")


@pytest.mark.parametrize("metadata", ["", "[1]", "{", "5", "{" * 5000])
def test_text_that_is_not_an_object_returns_error(call_tool: CallTool, metadata: str) -> None:
    answer = call_tool("edit_document", file="api.md", metadata=metadata)
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "metadata")
    assert "object" in answer.data["fix"]


@loop_over("count", [0, -1, "0", 1.5, "two", 10**30])
def test_invalid_count_returns_error(call_tool: CallTool, count: object) -> None:
    assert call_tool("edit_document", file="api.md", old="Finds", new="x", count=count).is_error


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("delete_task", "remove_task"),
        ("rename_file", "move_document"),
        ("set_front_matter", "set_metadata"),
        ("update_section", "update_content"),
        ("replace_section", "update_content"),
        ("append_section", "append_content"),
        ("create_task", "add_task"),
        ("tick_task", "complete_task"),
        ("add_tag", "tag_document"),
        ("replace_txt", "replace_text"),
        ("delete_section", "remove_document"),
    ],
)
def test_wrong_operation_name_suggests_the_right_one(call_tool: CallTool, name: str, operation: str) -> None:
    assert operation in call_tool("edit_document", operation=name, file="api.md").data["fix"]
