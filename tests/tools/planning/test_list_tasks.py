"""list_tasks: filters, order, pages, refs, and what a task waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tests.tools.planning.conftest import read_pages
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

PLAN = """---
type: plan
---
# Plan

- [ ] Parse {#parse}
  - Assignee: Ana
- [ ] Ship
  - Depends on: #parse, lost.md#gone
- [ ] Announce
  - Blocked: press
- [x] Name
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {"plans/a.md": PLAN, "b.md": "# B\n\n- [ ] Other\n"})


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ("planning", "documents"), False)


def test_open_tasks_of_all_documents_are_listed(call_tool: CallTool, repo: Repo) -> None:
    data = call_tool("list_tasks").data
    assert data["tasks"] == [
        {
            "file": "plans/a.md",
            "slug": "_preamble[0]",
            "title": "Parse",
            "state": "ready",
            "id": "parse",
            "assignee": "Ana",
            "waiting_tasks": 1,
        },
        {"file": "b.md", "slug": "_preamble[0]", "title": "Other", "state": "ready"},
        {
            "file": "plans/a.md",
            "slug": "_preamble[1]",
            "title": "Ship",
            "state": "waiting",
            "waits_for": ["plans/a.md#_preamble[0]"],
            "unknown_dependencies": ["lost.md#gone"],
        },
        {
            "file": "plans/a.md",
            "slug": "_preamble[2]",
            "title": "Announce",
            "state": "blocked",
            "blocked": "press",
        },
    ]
    assert (data["total"], data["commit"]) == (4, repo.head())


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        ({"ready": True}, ["Parse", "Other"]),
        ({"blocked": True}, ["Ship", "Announce"]),
        ({"owner": "ANA"}, ["Parse"]),
        ({"type": "plan", "ready": True}, ["Parse"]),
        ({"path": "plans/"}, ["Parse", "Ship", "Announce"]),
        ({"path": "b.md"}, ["Other"]),
        ({"owner": "nobody"}, []),
    ],
)
def test_filters(call_tool: CallTool, arguments: dict[str, object], titles: list[str]) -> None:
    assert [task["title"] for task in call_tool("list_tasks", **arguments).data["tasks"]] == titles


def test_pages_contain_each_task_once(call_tool: CallTool) -> None:
    whole = call_tool("list_tasks").data["tasks"]
    tasks, cursor = [], None
    for _ in whole:
        page = call_tool("list_tasks", limit=1, **({"cursor": cursor} if cursor else {})).data
        tasks += page["tasks"]
        cursor = page.get("next_cursor")
    assert tasks == whole
    assert cursor is None


def test_cursor_of_other_filters_is_refused(call_tool: CallTool) -> None:
    cursor = call_tool("list_tasks", limit=2).data["next_cursor"]
    assert call_tool("list_tasks", cursor=cursor, owner="Ana").is_error


def test_next_step_reads_the_first_ready_task(call_tool: CallTool) -> None:
    tool, arguments = parse_next_call(call_tool("list_tasks"))
    assert (tool, arguments) == ("view_document", {"file": "plans/a.md", "slug": "_preamble[0]"})
    assert call_tool(tool, **arguments).data["task"]["id"] == "parse"


def test_next_step_without_views_names_the_first_ready_task(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    client = make_client(ToolDispatcher(workspace, SearchIndex(workspace), ("planning",), False))
    assert client("list_tasks").data["next_step"].endswith("done now: plans/a.md#_preamble[0]")


@pytest.mark.parametrize(
    ("ends", "next_step"),
    [
        (
            (" until 2099-02-01T12:00Z", " until 2099-01-01T12:00Z"),
            "; the first claim ends at 2099-01-01T12:00:00Z",
        ),
        (("", ""), ""),
    ],
)
def test_next_step_names_the_first_claim_that_ends(
    call_tool: CallTool, repo: Repo, ends: tuple[str, str], next_step: str
) -> None:
    tasks = "".join(f"- [ ] Task\n  - Claimed by: Bo{end}\n" for end in ends)
    repo.commit({"b.md": f"# B\n\n{tasks}"})
    data = call_tool("list_tasks", path="b.md").data
    assert data["next_step"] == f"All tasks of this list are claimed{next_step}"


def test_unknown_folder_is_an_error_with_the_nearest(call_tool: CallTool) -> None:
    answer = call_tool("list_tasks", path="plan")
    assert answer.is_error
    assert answer.data["code"] == "DOCUMENT_NOT_FOUND"
    assert answer.data["candidates"][0] == "plans"


def test_tasks_of_another_commit_are_listed(call_tool: CallTool, repo: Repo) -> None:
    commit = repo.head()
    call_tool("plan_task", file="b.md", slug="_preamble[0]", blocked="nothing to do")
    assert [task["title"] for task in call_tool("list_tasks", ready=True).data["tasks"]] == ["Parse"]
    old = call_tool("list_tasks", ready=True, ref=commit).data
    assert [task["title"] for task in old["tasks"]] == ["Parse", "Other"]


def test_circles_of_a_merge_are_shown(tmp_path: Path) -> None:
    text = "- [ ] A {#a}\n  - Depends on: #b\n- [ ] B {#b}\n  - Depends on: #a\n"
    workspace = Workspace.open(create_repository(tmp_path / "other", {"a.md": text}).path)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ("planning",), False)
    data = make_client(dispatcher)("list_tasks").data
    assert data["circles"] == [["a.md#_preamble[0]", "a.md#_preamble[1]"]]
    assert [task["state"] for task in data["tasks"]] == ["waiting", "waiting"]


def test_pages_within_few_tokens_contain_each_task(call_tool: CallTool, repo: Repo) -> None:
    repo.commit(
        {"b.md": "# B\n\n" + "".join(f"- [ ] Task {number} {'x ' * number}\n" for number in range(60))}
    )
    entries = read_pages(call_tool, "list_tasks", "tasks", path="b.md", limit=200, max_tokens=300)
    assert [entry["slug"] for entry in entries] == [f"_preamble[{number}]" for number in range(60)]
