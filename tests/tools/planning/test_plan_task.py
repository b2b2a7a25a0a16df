"""plan_task: dependencies and reasons through a call, and its errors."""

from __future__ import annotations

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ("planning", "documents", "tasks"), False)


def test_dependency_is_written_and_listed(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool("plan_task", file="api.md", slug="tasks[2]", depends_on=["#tasks[1]"])
    assert answer.data["depends_on"] == ["api.md#write-tests"]
    text = Workspace.open(repo.path).snapshot().read("api.md").decode()
    assert "- [ ] Write tests {#write-tests}\n- [ ] Ship it\n  - Depends on: #write-tests\n" in text
    assert parse_next_call(answer) == ("list_tasks", {"ready": True})
    [task] = call_tool("list_tasks", ready=True).data["tasks"]
    assert task["id"] == "write-tests"
    call_tool("complete_task", file="api.md", slug="write-tests")
    [task] = call_tool("list_tasks", ready=True).data["tasks"]
    assert task["title"] == "Ship it"
    call_tool("complete_task", file=task["file"], slug=task["slug"])
    assert call_tool("list_tasks").data["next_step"] == "There are no open tasks"


def test_batch_plans_several_tasks_in_one_commit(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool(
        "plan_task",
        operations=[
            {"file": "api.md", "slug": "tasks[1]", "blocked": "waiting for the design"},
            {"file": "api.md", "slug": "tasks[2]", "depends_on": ["tasks[1]"]},
        ],
    )
    assert not answer.is_error
    assert [task["state"] for task in call_tool("list_tasks").data["tasks"]] == ["blocked", "waiting"]


def test_text_below_a_field_is_preserved(call_tool: CallTool, repo: Repo) -> None:
    fields = "  - Depends on: lost.md#x\n  - Depends on: #a\n    - because\n    - [ ] ask\n"
    repo.commit({"p.md": f"# P\n\n- [ ] A {{#a}}\n- [ ] B {{#b}}\n- [ ] T {{#t}}\n{fields}"})
    call_tool("plan_task", file="p.md", slug="t", depends_on=["#b"], remove=["lost.md#x"])
    text = Workspace.open(repo.path).snapshot().read("p.md").decode()
    assert text.endswith("- [ ] T {#t}\n  - Depends on: #a, #b\n    - because\n    - [ ] ask\n")
    error = call_tool("plan_task", file="p.md", slug="t", remove=["#a", "#b"]).data
    assert error["code"] == "INVALID_CONTENT"
    assert Workspace.open(repo.path).snapshot().read("p.md").decode() == text


def test_path_with_a_comma_is_refused_and_an_unknown_dependency_named(
    call_tool: CallTool, repo: Repo
) -> None:
    repo.commit({"p, q.md": "# P\n\n- [ ] A {#a}\n"})
    error = call_tool("plan_task", file="api.md", slug="tasks[1]", depends_on=["p, q.md#a"]).data
    assert error["code"] == "INVALID_CONTENT"
    assert "a comma" in str(error)
    answer = call_tool("plan_task", file="api.md", slug="tasks[1]", remove=["lost.md#x"])
    assert "the task did not depend on: lost.md#x" in str(answer.data)


def test_circle_is_refused_with_the_circle(call_tool: CallTool) -> None:
    call_tool("plan_task", file="api.md", slug="tasks[2]", depends_on=["tasks[1]"])
    error = call_tool("plan_task", file="api.md", slug="tasks[1]", depends_on=["tasks[2]"]).data
    assert error["code"] == "CIRCULAR_DEPENDENCY"
    assert error["circle"] == ["api.md#write-tests", "api.md#ship-it", "api.md#write-tests"]


def test_task_addresses_refer_to_the_base_commit(call_tool: CallTool, repo: Repo) -> None:
    base = repo.head()
    call_tool(
        "edit_document", operation="add_task", file="api.md", slug="tasks", title="First", before="tasks[0]"
    )
    answer = call_tool("plan_task", file="api.md", slug="tasks[2]", depends_on=["tasks[1]"], base_commit=base)
    assert answer.data["depends_on"] == ["api.md#write-tests"]


def test_call_without_a_task_shows_the_usage(call_tool: CallTool) -> None:
    data = call_tool("plan_task").data
    assert "dependencies" in data["usage"]
