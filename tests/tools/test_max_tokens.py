"""`max_tokens` of calls: its range, and the form of answers that are cut."""

from __future__ import annotations

import json

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tools.budgets.shrink import shrink_fields, shrink_value
from tools.dispatcher import ToolDispatcher
from tools.pages import measure_tokens
from workspace.texts.token_bound import count_tokens_at_most
from workspace.writing.read_before_write import SeenTexts

LONG = "# Long\n\n## Words\n\n" + "Some words of a long text, one line after the other.\n" * 2_000


@loop_over("value", [0, 1, 199, -5, "many", "", "1e9", True, 250.5, [300], {}])
def test_invalid_budget_returns_range(call_tool: CallTool, value: object) -> None:
    answer = call_tool("search_docs", query="things", max_tokens=value)
    assert answer.data["code"] == "INVALID_ARGUMENTS"
    assert answer.data["error"] == "'max_tokens' must be a whole number of at least 200"
    assert answer.data["fix"] == "Give 200 to 25,000; a larger number means 25,000."
    assert (answer.data["ge"], answer.data["le"]) == (200, 25_000)


@loop_over("value", [10**9, "1" * 50, "300", 300.0, 200, None])
def test_valid_budget_is_accepted(call_tool: CallTool, value: object) -> None:
    assert not call_tool("search_docs", query="things", max_tokens=value).is_error


def test_shortest_answer_has_a_hit(call_tool: CallTool) -> None:
    [hit] = call_tool("search_docs", query="things", max_tokens=200).data["hits"]
    assert hit["chunk_id"] == "api.md#endpoints/search"
    assert hit["snippet"]


@pytest.mark.parametrize("limit", [300, 3_000, None])
def test_smallest_limit_counts(repo: Repo, dispatcher: ToolDispatcher, limit: int | None) -> None:
    repo.commit({"long.md": LONG, "docyard.toml": "[limits]\ntext_tokens = 5000\n"})
    fields = {"file": "long.md", "slug": "words", "max_tokens": 1_000}
    data = dispatcher.call("view_document", fields, client="tester", max_tokens=limit).data
    size = count_tokens_at_most(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    assert 0.6 * min(limit or 1_000, 1_000) < size <= min(limit or 1_000, 1_000)
    assert (
        measure_tokens(dispatcher.call("view_document", {**fields, "max_tokens": 10**9}, client="t").data)
        <= 5_000
    )


def test_next_step_has_budget_of_call(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": LONG})
    answer = call_tool("view_document", file="long.md", slug="words", max_tokens=1_500)
    tool, fields = parse_next_call(answer)
    assert (tool, fields["max_tokens"], fields["offset"]) == ("view_document", 1_500, answer.data["offset"])


def test_batch_ends_after_a_result(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": LONG})
    operations = [{"file": "long.md", "slug": "words"}, {"file": "api.md"}, {"file": "notes/plain.md"}] * 4
    remaining_operations, count = operations, 0
    while remaining_operations:
        data = call_tool("view_document", operations=remaining_operations, max_tokens=400).data
        count += len(data["batch_results"])
        assert all(result["success"] for result in data["batch_results"])
        next_operation = data.get("next_operation", len(remaining_operations))
        remaining_operations = remaining_operations[next_operation:]
    assert count == len(operations)


def test_operation_of_a_batch_has_a_budget_but_no_operations(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": LONG})
    view = {"file": "long.md", "slug": "words"}
    operations = [{**view, "max_tokens": 400}, {**view, "operations": [view]}]
    short, refused = call_tool("view_document", operations=operations).data["batch_results"]
    [long] = call_tool("view_document", operations=[view]).data["batch_results"]
    assert measure_tokens(short) <= 600 < 2_000 < measure_tokens(long)
    assert refused["error"] == "'operations' must not be in an operation: it applies to the whole call"


def test_text_of_a_shorter_answer_is_not_read(dispatcher: ToolDispatcher, repo: Repo) -> None:
    repo.commit({"long.md": LONG})
    seen_texts = SeenTexts()
    call = make_client(dispatcher, seen_texts)
    edit = {"operation": "update_content", "file": "long.md", "slug": "words", "content": "New."}
    call("view_document", file="long.md", slug="words", max_tokens=500)
    assert call("edit_document", **edit).data["code"] == "READ_FIRST"


def test_error_is_within_budget(call_tool: CallTool) -> None:
    answer = call_tool("view_document", file="absent " * 200, max_tokens=200)
    assert answer.is_error
    assert measure_tokens(answer.data) <= 200
    assert answer.data["code"] == "DOCUMENT_NOT_FOUND"


def test_shortened_fields_are_named() -> None:
    data = {"commit": "0a" * 20, "title": "word " * 500, "tags": ["tag"] * 500, "lines": [1, 2]}
    short_data = shrink_fields(data, 150, {"commit"})
    assert short_data["cut"] == ["title", "tags"]
    assert short_data["commit"] == data["commit"]
    assert short_data["title"].endswith("…")
    assert measure_tokens(short_data) <= 150 + measure_tokens({"commit": "0a" * 20})


@loop_over("tokens", [20, 30, 45, 60])
def test_names_are_shown_in_full_or_left_out(tokens: int) -> None:
    entry = {"slug": "a" * 8, "chunk_id": "a.md#b", "title": "word " * 50, "metadata": {"key": "v " * 90}}
    short_entry = shrink_value(entry, tokens)
    assert measure_tokens(short_entry) <= tokens
    assert short_entry
    for name in {"slug", "chunk_id"} & {*short_entry}:
        assert short_entry[name] == entry[name]


@loop_over("value", [5, None, True, [], {}])
def test_short_value_is_unchanged(value: object) -> None:
    assert shrink_value(value, 0) == value
