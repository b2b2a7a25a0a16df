"""Retries: a repeated call with a key returns the first answer after any later change, and runs once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import DEFAULT_TOOLSETS, all_tools
from workspace.workspace import Workspace
from workspace.writing.idempotency import MAX_RESULT_LENGTH

pytestmark = pytest.mark.smoke

TASK = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "New"}
FAILING_TASK = {**TASK, "slug": "nowhere", "title": "Secret words"}
TOOLSETS = [*DEFAULT_TOOLSETS, "history", "planning"]
CALLS: dict[str, dict[str, Any]] = {
    "create_document": {"doc_type": "api_spec", "title": "Search"},
    "edit_document": TASK,
    "remove_document": {"path": "notes/plain.md"},
    "complete_task": {"file": "api.md", "slug": "tasks[1]", "note": "Done"},
    "reopen_task": {"file": "api.md", "slug": "tasks[0]"},
    "tag_document": {"file": "api.md", "tags": ["a"]},
    "plan_task": {"file": "api.md", "slug": "tasks[2]", "depends_on": ["#tasks[1]"]},
    "restore_document": {"undo": "HEAD"},
}


def count_commits(repo: Repo) -> int:
    return int(repo.git("rev-list", "--count", "HEAD"))


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)


@pytest.fixture
def start_server(repo: Repo) -> Callable[[], CallTool]:
    """Return a function that starts a new server and returns its client."""

    def start() -> CallTool:
        workspace = Workspace.open(repo.path, durable=False)
        dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)

        def call_tool(tool: str, /, **arguments: object) -> Answer:
            return dispatcher.call(tool, arguments, client="another")

        return call_tool

    return start


def exclude_retry_fields(answer: Answer) -> dict[str, Any]:
    """Return an answer without the fields that a retry changes."""
    return {name: value for name, value in answer.data.items() if name not in ("next_step", "repeated")}


def test_every_writing_tool_accepts_a_key() -> None:
    writing_tools = [tool for tool in all_tools() if tool.writes]
    assert all("idempotency_key" in tool.arguments.model_fields for tool in writing_tools)
    # tests/tools/planning/test_claim_task.py tests the retry of a claim, whose secret is not stored, and
    # tests/tools/comments the retries of comments and answers.
    names = {tool.name for tool in writing_tools if tool.toolset not in ("proposals", "comments")}
    assert {*CALLS, "claim_task"} == names


@pytest.mark.parametrize("form", ["single", "batch"])
@pytest.mark.parametrize("tool", CALLS)
def test_retry_returns_first_answer(
    call_tool: CallTool, start_server: Callable[[], CallTool], repo: Repo, tool: str, form: str
) -> None:
    fields = CALLS[tool]
    arguments: dict[str, Any] = fields if form == "single" else {"operations": [fields]}
    call_tool("view_document", file="notes/plain.md", slug="_preamble")
    first_answer = call_tool(tool, **arguments, idempotency_key="key")
    assert not first_answer.is_error
    assert "repeated" not in first_answer.data
    for client in (call_tool, start_server()):
        retry = client(tool, **arguments, idempotency_key="key")
        assert not retry.is_error
        assert exclude_retry_fields(retry) == exclude_retry_fields(first_answer)
        assert retry.data["repeated"] is True
        assert "was not repeated" in retry.data["next_step"]
    assert count_commits(repo) == 2
    assert repo.status() == repo.fsck() == ""


def test_retry_succeeds_after_document_removal(call_tool: CallTool, repo: Repo) -> None:
    edit = {**TASK, "idempotency_key": "key"}
    first_answer = call_tool("edit_document", **edit)
    assert 'view_document {"file": "api.md"}' in call_tool("edit_document", **edit).data["next_step"]
    call_tool("remove_document", path="api.md", base_commit=repo.head())
    retry = call_tool("edit_document", **edit)
    assert exclude_retry_fields(retry) == exclude_retry_fields(first_answer)
    assert "list_documents {}" in retry.data["next_step"]
    # After the removal of its type, the arguments of this call cannot be parsed.
    type_folder = ".docyard/templates/memo"
    lines = (
        'title = "Memo"',
        'summary = "Short."',
        'instructions = ["Write."]',
        'best_practices = ["Rest."]',
    )
    description = "\n".join(lines)
    repo.commit(
        {f"{type_folder}/type.toml": description, f"{type_folder}/document.md": "# {title}\n\n## Body\n"}
    )
    memo = {"doc_type": "memo", "title": "One", "idempotency_key": "memo"}
    creation = call_tool("create_document", **memo)
    assert creation.data["path"] == "one.md"
    repo.git("rm", "-q", "-r", type_folder)
    repo.git("commit", "-q", "-m", "No memos")
    assert exclude_retry_fields(call_tool("create_document", **memo)) == exclude_retry_fields(creation)
    answer = call_tool("create_document", doc_type="memo", title="One")
    assert answer.data["code"] == "UNKNOWN_TYPE"


def test_retry_repeats_batch_errors_without_sent_text(call_tool: CallTool, repo: Repo) -> None:
    arguments = {"operations": [TASK, FAILING_TASK, {**TASK, "title": "Other"}], "idempotency_key": "key"}
    first_answer = call_tool("edit_document", **arguments)
    retry = call_tool("edit_document", **arguments)
    first_error, repeated_error = first_answer.data["batch_results"][1], retry.data["batch_results"][1]
    assert repeated_error == {
        name: first_error[name] for name in ("success", "error", "code", "fix", "usage")
    }
    assert retry.data["batch_results"][::2] == first_answer.data["batch_results"][::2]
    assert "failed operations (1)" in retry.data["next_step"]
    assert "new key" in retry.data["next_step"]
    assert "Secret" not in repo.git("log", "-1", "--format=%B")
    assert count_commits(repo) == 2


def test_retry_preserves_hints(call_tool: CallTool) -> None:
    section = {"file": "notes/plain.md", "title": "A", "content": "### B\n\n#### C\n\n##### D\n\nText.\n"}
    first_answer = call_tool("edit_document", **section, idempotency_key="key")
    assert first_answer.data["hints"]
    assert exclude_retry_fields(
        call_tool("edit_document", **section, idempotency_key="key")
    ) == exclude_retry_fields(first_answer)


def test_equivalent_arguments_are_the_same_call(call_tool: CallTool, repo: Repo) -> None:
    first_answer = call_tool(
        "edit_document", operations=[TASK, {**TASK, "title": "B"}], idempotency_key="key"
    )
    equivalent_calls: list[dict[str, Any]] = [
        {"operations": json.dumps([TASK, {**TASK, "title": "B"}])},
        {"operations": [json.dumps(TASK), {**TASK, "title": "B", "before": None}]},
        {"operations": [dict(reversed(TASK.items())), {**TASK, "title": "B"}], "message": None},
        {"operations": [TASK, {**TASK, "title": "B"}], "dry_run": "false"},
    ]
    for fields in equivalent_calls:
        retry = call_tool("edit_document", **fields, idempotency_key="key")
        assert exclude_retry_fields(retry) == exclude_retry_fields(first_answer)
    assert count_commits(repo) == 2


@pytest.mark.parametrize(
    ("tool", "other_fields"),
    [
        ("edit_document", {**TASK, "title": "Other"}),
        ("edit_document", {**TASK, "message": "Why"}),
        ("edit_document", {"operations": [TASK]}),
        ("tag_document", {"file": "api.md", "tags": ["a"]}),
    ],
)
def test_key_of_another_call_is_refused(
    call_tool: CallTool, repo: Repo, tool: str, other_fields: dict[str, Any]
) -> None:
    first_answer = call_tool("edit_document", **TASK, idempotency_key="key")
    repo.commit({"notes/plain.md": "# A person continued\n"})
    answer = call_tool(tool, **other_fields, idempotency_key="key")
    assert (answer.is_error, answer.data["code"]) == (True, "IDEMPOTENCY_KEY_REUSED")
    assert "new idempotency_key" in answer.data["fix"]
    assert answer.data["usage"]
    assert (answer.data["used_in"], answer.data["commit"]) == (first_answer.data["commit"], repo.head())
    assert count_commits(repo) == 3


@loop_over("key", ["", "two words", "line\nbreak", "é", "x" * 201, 7])
def test_invalid_key_is_refused(call_tool: CallTool, repo: Repo, key: object) -> None:
    answer = call_tool("edit_document", **TASK, idempotency_key=key)
    assert answer.is_error
    assert answer.data["field"] == "idempotency_key"
    assert answer.data["usage"]
    assert count_commits(repo) == 1


def test_key_inside_operation_is_refused(call_tool: CallTool, repo: Repo) -> None:
    task_fields = {"file": "api.md", "slug": "tasks[1]"}
    answer = call_tool(
        "complete_task",
        operations=[{**task_fields, "idempotency_key": "key"}, {**task_fields, "dry_run": True}],
    )
    assert answer.is_error
    assert [entry["field"] for entry in answer.data["batch_results"]] == ["idempotency_key", "dry_run"]
    assert count_commits(repo) == 1


def test_dry_run_ignores_keys(call_tool: CallTool, repo: Repo) -> None:
    preview = call_tool("edit_document", **TASK, idempotency_key="key", dry_run=True)
    assert preview.data["dry_run"] is True
    assert count_commits(repo) == 1
    result = call_tool("edit_document", **TASK, idempotency_key="key")
    assert "repeated" not in result.data
    preview = call_tool("edit_document", **TASK, idempotency_key="key", dry_run=True)
    assert "repeated" not in preview.data
    assert preview.data["task_index"] == result.data["task_index"] + 1
    assert count_commits(repo) == 2


def test_call_without_commit_runs_again(call_tool: CallTool, repo: Repo) -> None:
    refusal = call_tool("edit_document", **FAILING_TASK, idempotency_key="key")
    assert refusal.data["code"] == "SECTION_NOT_FOUND"
    repo.commit({"api.md": "# API\n\n## Nowhere\n"})
    result = call_tool("edit_document", **FAILING_TASK, idempotency_key="key")
    assert (result.is_error, result.data["commit"]) == (False, repo.head())
    repo.git("reset", "-q", "--hard", "HEAD^")
    second_answer = call_tool("edit_document", **FAILING_TASK, idempotency_key="key")
    assert "repeated" not in second_answer.data, "the branch no longer contains the commit of the first call"
    assert second_answer.data["commit"] == repo.head()


@pytest.mark.slow
def test_answer_too_long_to_store_is_refused_before_write(call_tool: CallTool, repo: Repo) -> None:
    sections = "".join(f"### {number} {'x' * 190}\n\n" for number in range(MAX_RESULT_LENGTH // 180))
    call = {"file": "notes/plain.md", "title": "Big", "content": sections}
    answer = call_tool("edit_document", **call, idempotency_key="key")
    assert (answer.is_error, answer.data["code"]) == (True, "LIMIT_EXCEEDED")
    assert "without idempotency_key" in answer.data["fix"]
    assert count_commits(repo) == 1
    assert repo.status() == ""


def test_write_of_retry_is_searchable(call_tool: CallTool, start_server: Callable[[], CallTool]) -> None:
    write = {"file": "api.md", "title": "Rate limits", "content": "A leaky bucket.", "idempotency_key": "key"}
    call_tool("edit_document", **write)
    call_new_server = start_server()
    assert call_new_server("edit_document", **write).data["repeated"] is True
    assert (
        call_new_server("search_docs", query="leaky bucket").data["hits"][0]["chunk_id"]
        == "api.md#rate-limits"
    )
