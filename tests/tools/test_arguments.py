"""Lenient parsing of arguments, and the operation that fields imply."""

from __future__ import annotations

import json

import pytest

from tests.loops import loop_over
from tests.tools.conftest import CallTool

pytestmark = pytest.mark.smoke

TASK = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "New"}


def test_array_as_json_text_is_accepted(call_tool: CallTool) -> None:
    assert call_tool("tag_document", file="api.md", tags='["a", "b"]').data["tags_applied"] == ["a", "b"]
    batch_answer = call_tool("edit_document", operations=json.dumps([TASK, TASK]))
    assert [result["task_index"] for result in batch_answer.data["batch_results"]] == [3, 4]
    single_answer = call_tool("edit_document", operations=[json.dumps(TASK)])
    assert single_answer.data["batch_results"][0]["success"] is True


@loop_over("text", ["", "[", "{}", "5", "null", "a, b", "[" * 5_000])
def test_text_that_is_not_an_array_returns_error(call_tool: CallTool, text: str) -> None:
    for answer in (
        call_tool("tag_document", file="api.md", tags=text),
        call_tool("edit_document", operations=text),
    ):
        assert answer.is_error
        assert answer.data["code"] == "INVALID_ARGUMENTS"
        assert answer.data["field"] in ("tags", "operations")


@pytest.mark.parametrize("limit", [2, "2", 2.0, " 2 "])
def test_whole_number_in_any_form_is_accepted(call_tool: CallTool, limit: object) -> None:
    assert not call_tool("search_docs", query="things", limit=limit).is_error


@loop_over("limit", ["two", 2.5, True, [2], "2" * 40, "٢²"])
def test_invalid_number_returns_error(call_tool: CallTool, limit: object) -> None:
    answer = call_tool("search_docs", query="things", limit=limit)
    assert (answer.data.get("code"), answer.data.get("field")) == ("INVALID_ARGUMENTS", "limit")


def test_number_out_of_range_returns_error_with_range(call_tool: CallTool) -> None:
    data = call_tool("search_docs", query="things", limit=51).data
    assert data["le"] == 50
    assert "50" in data["error"]
    assert "51" not in data["error"]


def test_boolean_as_text_is_accepted(call_tool: CallTool) -> None:
    assert call_tool("edit_document", **TASK, dry_run="true").data["dry_run"] is True
    assert "dry_run" not in call_tool("edit_document", **TASK, dry_run="False").data
    assert call_tool("edit_document", **TASK, dry_run="perhaps").is_error


def test_null_equals_missing_argument(call_tool: CallTool) -> None:
    assert not call_tool("search_docs", query="things", cursor=None, path=None, limit=None).is_error
    answer = call_tool("edit_document", **TASK, criteria=None, operations=None, before=None, message=None)
    assert answer.data["updated"] is True
    assert call_tool("create_document", doc_type=None, title=None).data["doc_types"]
    inner_answer = call_tool("edit_document", operations=[{**TASK, "criteria": None}])
    assert inner_answer.data["batch_results"][0]["success"] is True


def test_unknown_field_returns_nearest_name(call_tool: CallTool) -> None:
    data = call_tool("edit_document", operation="add_section", file="api.md", titel="Limits").data
    assert data["fix"] == "Did you mean 'title'?"
    assert data["example"] == {"operation": "add_section", "file": "api.md", "title": "Limits"}
    assert call_tool("search_docs", query="x", lang="en").data["code"] == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    ("tool", "fields", "fix"),
    [
        ("edit_document", {**TASK, "content": "Done when green"}, "Did you mean 'criteria'?"),
        ("tag_document", {"file": "api.md", "tag": "backend"}, "Did you mean 'tags'?"),
        ("tag_document", {"file": "api.md", "tags": "a, b"}, 'Give \'tags\' as a list, such as ["a", "b"].'),
        ("search_docs", {"querry": "things"}, "Did you mean 'query'?"),
        ("view_document", {"file": "api.md", "offset": -1}, "Give 'offset' within the limits of the schema."),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_common_mistakes_of_models_return_a_fix_and_a_working_example(
    call_tool: CallTool, tool: str, fields: dict[str, object], fix: str
) -> None:
    answer = call_tool(tool, **fields)
    assert answer.is_error
    assert answer.data["fix"] == fix
    corrected_answer = call_tool(tool, **answer.data["example"])
    assert not corrected_answer.is_error, corrected_answer.data


def test_single_and_batch_form_together_return_error(call_tool: CallTool) -> None:
    for tool, fields in (
        ("edit_document", TASK),
        ("view_document", {"file": "api.md"}),
        ("complete_task", {"file": "api.md", "slug": "tasks[1]"}),
        ("tag_document", {"file": "api.md", "tags": ["a"]}),
        ("remove_document", {"path": "api.md"}),
    ):
        answer = call_tool(tool, **fields, operations=[fields])
        assert answer.is_error
        assert answer.data["field"] == "operations"


@pytest.mark.parametrize(
    ("fields", "key", "value"),
    [
        ({"slug": "tasks", "title": "T", "criteria": "C"}, "task_index", 3),
        ({"slug": "tasks", "title": "T"}, "task_index", 3),
        ({"slug": "endpoints", "new_title": "Paths"}, "title", "Paths"),
        ({"slug": "endpoints", "content": "New."}, "slug", "endpoints"),
        ({"title": "Limits"}, "slug", "limits"),
        ({"title": "Suggest", "parent_slug": "endpoints"}, "slug", "endpoints/suggest"),
        ({"title": "Limits", "content": "Ten."}, "slug", "limits"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_fields_select_the_operation(
    call_tool: CallTool, fields: dict[str, str], key: str, value: object
) -> None:
    call_tool("view_document", file="api.md", slug="endpoints")
    answer = call_tool("edit_document", file="api.md", **fields)
    assert not answer.is_error, answer.data
    assert answer.data[key] == value


def test_ambiguous_fields_return_error_that_lists_operations(call_tool: CallTool) -> None:
    data = call_tool("edit_document", file="api.md", slug="tasks").data
    assert data["field"] == "operation"
    assert "add_task" in data["valid_operations"]
    assert "add_task" in data["usage"]["operations"]


def test_error_shows_usage_of_likely_operation_only(call_tool: CallTool) -> None:
    exact_answer = call_tool("edit_document", operation="add_task", file="api.md", slug="taskz", title="T")
    guess_answer = call_tool("edit_document", file="api.md", slug="endpoint", content="x")
    misspelt_answer = call_tool("edit_document", operation="add_taks", file="api.md")
    assert exact_answer.data["usage"]["operation"] == misspelt_answer.data["usage"]["operation"] == "add_task"
    assert guess_answer.data["usage"]["operation"] == "update_content"
    assert exact_answer.data["example"]["slug"] == "tasks"
    assert guess_answer.data["example"]["slug"] == "endpoints"


def test_full_address_in_one_field_is_accepted(call_tool: CallTool) -> None:
    assert call_tool("view_document", file="api.md#endpoints/search").data["slug"] == "endpoints/search"
    assert call_tool("view_document", file="./api.md", slug="#endpoints").data["slug"] == "endpoints"
    assert call_tool("complete_task", file="api.md#tasks[1]").data["completed"] is True
    assert call_tool(
        "edit_document", operation="append_content", file="api.md#endpoints", content="More."
    ).data["updated"]
    assert (
        call_tool("view_document", file="api.md#endpoints", slug="tasks").data["code"] == "INVALID_ARGUMENTS"
    )
