"""Retries: a call with a key is answered as the first time, whatever has happened since, and done once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import Ask
from tools.registry import Toolbox
from tools.tool import Answer
from tools.toolsets import DEFAULT_TOOLSETS, all_tools
from workspace.workspace import Workspace
from workspace.writing.idempotency import MAX_RESULT

pytestmark = pytest.mark.smoke

TASK = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "New"}
WRONG = {**TASK, "slug": "nowhere", "title": "Secret words"}
TOOLSETS = [*DEFAULT_TOOLSETS, "history"]
OF_EACH_TOOL: dict[str, dict[str, Any]] = {
    "create_document": {"doc_type": "api_spec", "title": "Search"},
    "edit_document": TASK,
    "remove_document": {"path": "notes/plain.md"},
    "complete_task": {"file": "api.md", "slug": "tasks[1]", "note": "Done"},
    "reopen_task": {"file": "api.md", "slug": "tasks[0]"},
    "tag_document": {"file": "api.md", "tags": ["a"]},
    "restore_document": {"undo": "HEAD"},
}


def count(repo: Repo) -> int:
    return int(repo.git("rev-list", "--count", "HEAD"))


@pytest.fixture
def toolbox(repo: Repo) -> Toolbox:
    workspace = Workspace.open(repo.path, durable=False)
    return Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False)


@pytest.fixture
def restarted(repo: Repo) -> Callable[[], Ask]:
    """Return calls of a server that was started anew."""

    def start() -> Ask:
        workspace = Workspace.open(repo.path, durable=False)
        toolbox = Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False)

        def ask(tool: str, /, **arguments: object) -> Answer:
            return toolbox.call(tool, arguments, client="another")

        return ask

    return start


def told(answer: Answer) -> dict[str, Any]:
    """Return an answer without the fields that a retry changes."""
    return {name: value for name, value in answer.data.items() if name not in ("next_step", "repeated")}


def test_every_tool_that_writes_takes_a_key() -> None:
    writers = [tool for tool in all_tools() if tool.writes]
    assert all("idempotency_key" in tool.arguments.model_fields for tool in writers)
    assert set(OF_EACH_TOOL) == {tool.name for tool in writers if tool.toolset != "proposals"}


@pytest.mark.parametrize("form", ["single", "batch"])
@pytest.mark.parametrize("tool", OF_EACH_TOOL)
def test_a_retry_gets_the_first_answer(
    ask: Ask, restarted: Callable[[], Ask], repo: Repo, tool: str, form: str
) -> None:
    fields = OF_EACH_TOOL[tool]
    sent: dict[str, Any] = fields if form == "single" else {"operations": [fields]}
    ask("view_document", file="notes/plain.md", slug="_preamble")
    first = ask(tool, **sent, idempotency_key="key")
    assert not first.is_error
    assert "repeated" not in first.data
    for again in (ask, restarted()):
        retried = again(tool, **sent, idempotency_key="key")
        assert not retried.is_error
        assert told(retried) == told(first)
        assert retried.data["repeated"] is True
        assert "was not repeated" in retried.data["next_step"]
    assert count(repo) == 2
    assert repo.status() == repo.fsck() == ""


def test_a_retry_is_answered_although_its_document_is_gone(ask: Ask, repo: Repo) -> None:
    edit = {**TASK, "idempotency_key": "key"}
    first = ask("edit_document", **edit)
    assert 'view_document {"file": "api.md"}' in ask("edit_document", **edit).data["next_step"]
    ask("remove_document", path="api.md", base_commit=repo.head())
    retried = ask("edit_document", **edit)
    assert told(retried) == told(first)
    assert "list_documents {}" in retried.data["next_step"]
    # Such a call cannot even be read, now that its type is gone.
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
    made = ask("create_document", **memo)
    assert made.data["path"] == "one.md"
    repo.git("rm", "-q", "-r", type_folder)
    repo.git("commit", "-q", "-m", "No memos")
    assert told(ask("create_document", **memo)) == told(made)
    unkeyed = ask("create_document", doc_type="memo", title="One")
    assert unkeyed.data["code"] == "UNKNOWN_TYPE"


def test_what_failed_in_a_batch_is_told_again_without_what_was_sent(ask: Ask, repo: Repo) -> None:
    sent = {"operations": [TASK, WRONG, {**TASK, "title": "Other"}], "idempotency_key": "key"}
    first = ask("edit_document", **sent)
    retried = ask("edit_document", **sent)
    failed, again = first.data["batch_results"][1], retried.data["batch_results"][1]
    assert again == {name: failed[name] for name in ("success", "error", "code", "fix", "usage")}
    assert retried.data["batch_results"][::2] == first.data["batch_results"][::2]
    assert "failed operations (1)" in retried.data["next_step"]
    assert "new key" in retried.data["next_step"]
    assert "Secret" not in repo.git("log", "-1", "--format=%B")
    assert count(repo) == 2


def test_hints_are_kept(ask: Ask) -> None:
    deep = {"file": "notes/plain.md", "title": "A", "content": "### B\n\n#### C\n\n##### D\n\nText.\n"}
    first = ask("edit_document", **deep, idempotency_key="key")
    assert first.data["hints"]
    assert told(ask("edit_document", **deep, idempotency_key="key")) == told(first)


def test_the_same_call_in_another_dress(ask: Ask, repo: Repo) -> None:
    first = ask("edit_document", operations=[TASK, {**TASK, "title": "B"}], idempotency_key="key")
    dresses: list[dict[str, Any]] = [
        {"operations": json.dumps([TASK, {**TASK, "title": "B"}])},
        {"operations": [json.dumps(TASK), {**TASK, "title": "B", "before": None}]},
        {"operations": [dict(reversed(TASK.items())), {**TASK, "title": "B"}], "message": None},
        {"operations": [TASK, {**TASK, "title": "B"}], "dry_run": "false"},
    ]
    for dress in dresses:
        retried = ask("edit_document", **dress, idempotency_key="key")
        assert told(retried) == told(first)
    assert count(repo) == 2


@pytest.mark.parametrize(
    ("tool", "other"),
    [
        ("edit_document", {**TASK, "title": "Other"}),
        ("edit_document", {**TASK, "message": "Why"}),
        ("edit_document", {"operations": [TASK]}),
        ("tag_document", {"file": "api.md", "tags": ["a"]}),
    ],
)
def test_a_key_that_was_used_for_another_call(ask: Ask, repo: Repo, tool: str, other: dict[str, Any]) -> None:
    first = ask("edit_document", **TASK, idempotency_key="key")
    repo.commit({"notes/plain.md": "# A person went on\n"})
    answer = ask(tool, **other, idempotency_key="key")
    assert (answer.is_error, answer.data["code"]) == (True, "IDEMPOTENCY_KEY_REUSED")
    assert "new idempotency_key" in answer.data["fix"]
    assert answer.data["usage"]
    assert (answer.data["used_in"], answer.data["commit"]) == (first.data["commit"], repo.head())
    assert count(repo) == 3


@loop_over("key", ["", "two words", "line\nbreak", "é", "x" * 201, 7])
def test_what_is_no_key(ask: Ask, repo: Repo, key: object) -> None:
    answer = ask("edit_document", **TASK, idempotency_key=key)
    assert answer.is_error
    assert answer.data["field"] == "idempotency_key"
    assert answer.data["usage"]
    assert count(repo) == 1


def test_a_key_within_an_operation_is_no_key(ask: Ask, repo: Repo) -> None:
    tick = {"file": "api.md", "slug": "tasks[1]"}
    answer = ask("complete_task", operations=[{**tick, "idempotency_key": "key"}, {**tick, "dry_run": True}])
    assert answer.is_error
    assert [entry["field"] for entry in answer.data["batch_results"]] == ["idempotency_key", "dry_run"]
    assert count(repo) == 1


def test_a_dry_run_neither_uses_a_key_up_nor_answers_from_it(ask: Ask, repo: Repo) -> None:
    dry = ask("edit_document", **TASK, idempotency_key="key", dry_run=True)
    assert dry.data["dry_run"] is True
    assert count(repo) == 1
    wet = ask("edit_document", **TASK, idempotency_key="key")
    assert "repeated" not in wet.data
    dry = ask("edit_document", **TASK, idempotency_key="key", dry_run=True)
    assert "repeated" not in dry.data
    assert dry.data["task_index"] == wet.data["task_index"] + 1
    assert count(repo) == 2


def test_a_call_that_made_no_commit_runs_again(ask: Ask, repo: Repo) -> None:
    refused = ask("edit_document", **WRONG, idempotency_key="key")
    assert refused.data["code"] == "SECTION_NOT_FOUND"
    repo.commit({"api.md": "# API\n\n## Nowhere\n"})
    done = ask("edit_document", **WRONG, idempotency_key="key")
    assert (done.is_error, done.data["commit"]) == (False, repo.head())
    repo.git("reset", "-q", "--hard", "HEAD^")
    anew = ask("edit_document", **WRONG, idempotency_key="key")
    assert "repeated" not in anew.data, "the branch holds no such commit any more"
    assert anew.data["commit"] == repo.head()


@pytest.mark.slow
def test_an_answer_that_is_too_long_to_keep_is_refused_before_anything_is_written(
    ask: Ask, repo: Repo
) -> None:
    sections = "".join(f"### {number} {'x' * 190}\n\n" for number in range(MAX_RESULT // 180))
    call = {"file": "notes/plain.md", "title": "Big", "content": sections}
    answer = ask("edit_document", **call, idempotency_key="key")
    assert (answer.is_error, answer.data["code"]) == (True, "LIMIT_EXCEEDED")
    assert "without idempotency_key" in answer.data["fix"]
    assert count(repo) == 1
    assert repo.status() == ""


def test_what_a_retry_was_told_of_is_found(ask: Ask, restarted: Callable[[], Ask]) -> None:
    write = {"file": "api.md", "title": "Rate limits", "content": "A leaky bucket.", "idempotency_key": "key"}
    ask("edit_document", **write)
    again = restarted()
    assert again("edit_document", **write).data["repeated"] is True
    assert again("search_docs", query="leaky bucket").data["hits"][0]["chunk_id"] == "api.md#rate-limits"
