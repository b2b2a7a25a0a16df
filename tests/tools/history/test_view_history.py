"""view_history: the history of documents and sections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import API_TEXT, CallTool, make_client
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

TOOLSETS = ("documents", "history")


@pytest.fixture
def call_tool(repo: Repo) -> CallTool:
    workspace = Workspace.open(repo.path, durable=False)
    return make_client(ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False))


def test_section_history_contains_diffs(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    message = "Find more\n\nDocyard-Tool: edit_document\nDocyard-Client: agent"
    second_commit = repo.commit({"api.md": API_TEXT.replace("Finds things.", "Finds more.")}, message)
    data = call_tool("view_history", file="api.md", slug="endpoints/search").data
    assert [change["commit"] for change in data["history"]] == [second_commit, first_commit]
    newest_change = data["history"][0]
    assert newest_change == {
        "commit": second_commit,
        "kind": "changed",
        "author": {"name": "Ada", "email": "ada@example.org"},
        "by": "Ada, by client agent",
        "date": newest_change["date"],
        "client": "agent",
        "tool": "edit_document",
        "subject": "Find more",
        "file": "api.md",
        "slug": "endpoints/search",
        "diff": "@@ -13,4 +13,4 @@\n ### Search\n \n-Finds things.\n+Finds more.\n ",
    }
    assert newest_change["date"].endswith("Z")
    assert (data["file"], data["slug"], data["commit"]) == ("api.md", "endpoints/search", second_commit)
    assert not {"complete", "next_cursor", "next_step"} & data.keys()


def test_document_history_has_diffs_only_on_request(call_tool: CallTool) -> None:
    (change,) = call_tool("view_history", file="api.md").data["history"]
    assert "diff" not in change
    assert change["slug"] is None
    (change,) = call_tool("view_history", file="api.md", diff="true").data["history"]
    assert change["diff"].startswith("@@ -0,0 +1,22 @@\n+---\n")


def test_rename_shows_old_address(call_tool: CallTool, repo: Repo) -> None:
    repo.git("mv", "api.md", "web.md")
    repo.git("commit", "-qm", "Rename")
    change = call_tool("view_history", file="web.md", slug="tasks").data["history"][0]
    assert (change["kind"], change["file"], change["old_file"]) == ("renamed", "web.md", "api.md")
    assert change["diff"] == ""
    assert "old_slug" not in change


def test_old_address_returns_current_address(call_tool: CallTool, repo: Repo) -> None:
    repo.git("mv", "api.md", "web.md")
    repo.git("commit", "-qm", "Rename")
    data = call_tool("view_history", file="api.md", slug="endpoints").data
    assert data["moved_to"] == {"file": "web.md", "slug": "endpoints", "commit": repo.head()}
    assert [change["kind"] for change in data["history"]] == ["renamed", "created"]


def test_task_address_shows_history_of_its_section(call_tool: CallTool) -> None:
    data = call_tool("view_history", file="api.md", slug="tasks[1]").data
    assert data["slug"] == "tasks"
    assert len(data["history"]) == 1


def test_full_address_in_file_is_accepted(call_tool: CallTool) -> None:
    assert call_tool("view_history", file="api.md#endpoints").data["slug"] == "endpoints"


def test_absolute_path_in_work_tree_is_accepted(call_tool: CallTool, repo: Repo) -> None:
    data = call_tool("view_history", file=f"{repo.path}/api.md", slug="endpoints").data
    assert (data["file"], data["slug"]) == ("api.md", "endpoints")


def test_removed_document_is_restored_from_commit_in_its_history(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    repo.git("rm", "-q", "api.md")
    repo.git("commit", "-qm", "Gone")
    data = call_tool("view_history", file="api.md").data
    assert [change["kind"] for change in data["history"]] == ["removed", "created"]
    assert "next_step" not in data
    assert data["history"][1]["commit"] == first_commit
    answer = call_tool("restore_document", file="api.md", ref=data["history"][1]["commit"])
    assert not answer.is_error, answer.data
    assert (repo.path / "api.md").read_text() == API_TEXT


def test_history_starts_at_ref(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"api.md": API_TEXT + "\nMore.\n"})
    data = call_tool("view_history", file="api.md", ref="HEAD~1").data
    assert data["commit"] == first_commit
    assert [change["commit"] for change in data["history"]] == [first_commit]


def test_ref_before_first_version_of_section_returns_error(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"api.md": API_TEXT + "\n## Later\n\nText.\n"})
    answer = call_tool("view_history", file="api.md", slug="later", ref="HEAD~1")
    assert answer.data["code"] == "SECTION_NOT_FOUND"


def test_pages_continue_from_first_page_commit(call_tool: CallTool, repo: Repo) -> None:
    all_commits = [repo.head()]
    all_commits += [repo.commit({"api.md": API_TEXT + f"\nRow {number}.\n"}) for number in range(4)]
    page = call_tool("view_history", file="api.md", limit=2).data
    commits = [change["commit"] for change in page["history"]]
    repo.commit({"api.md": API_TEXT + "\nMeanwhile.\n"})
    while cursor := page.get("next_cursor"):
        assert "next_step" not in page
        page = call_tool("view_history", file="api.md", limit=2, cursor=cursor).data
        assert page["commit"] == all_commits[-1]
        commits += [change["commit"] for change in page["history"]]
    assert commits == all_commits[::-1]


def test_cursor_of_another_list_is_refused(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"api.md": API_TEXT + "\nMore.\n"})
    cursor = call_tool("view_history", file="api.md", limit=1).data["next_cursor"]
    answer = call_tool("view_history", file="api.md", slug="tasks", limit=1, cursor=cursor)
    assert answer.data["code"] == "INVALID_CURSOR"
    assert call_tool("view_history", file="api.md", cursor="x").data["code"] == "INVALID_CURSOR"


def test_cursor_of_missing_commit_is_stale(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"api.md": API_TEXT + "\nMore.\n"})
    cursor = call_tool("view_history", file="api.md", limit=1).data["next_cursor"]
    repo.git("reset", "-q", "--hard", first_commit)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert call_tool("view_history", file="api.md", limit=1, cursor=cursor).data["code"] == "CURSOR_STALE"
    assert call_tool("view_history", file="api.md", limit=1).data["commit"] == first_commit


def test_blame_lists_each_commit_once(call_tool: CallTool, repo: Repo) -> None:
    first_commit = repo.head()
    second_commit = repo.commit({"api.md": API_TEXT.replace("Finds things.", "Finds more.")}, "Find more")
    data = call_tool("view_history", file="api.md", slug="endpoints/search", blame=True).data
    assert data["lines"] == [
        {"line": 13, "end_line": 14, "text": "### Search\n\n", "commit": first_commit},
        {"line": 15, "end_line": 15, "text": "Finds more.\n", "commit": second_commit},
        {"line": 16, "end_line": 16, "text": "\n", "commit": first_commit},
    ]
    assert data["commits"].keys() == {first_commit, second_commit}
    assert data["commits"][second_commit]["subject"] == "Find more"
    assert data["commit"] == second_commit
    assert "history" not in data


def test_long_blame_is_paged(call_tool: CallTool, repo: Repo) -> None:
    text = "# Long\n\n" + "".join(f"Line {number} of a long text.\n" for number in range(5000))
    repo.commit({"long.md": text})
    page = call_tool("view_history", file="long.md", blame=True).data
    joined_text = "".join(run["text"] for run in page["lines"])
    assert len(joined_text) < len(text)
    while cursor := page.get("next_cursor"):
        page = call_tool("view_history", file="long.md", blame=True, cursor=cursor).data
        joined_text += "".join(run["text"] for run in page["lines"])
    assert joined_text == text


def test_history_answer_is_bounded(call_tool: CallTool, repo: Repo) -> None:
    for number in range(8):
        repo.commit({"long.md": "# Long\n\n" + "".join(f"Row {number} {row}.\n" for row in range(4000))})
    data = call_tool("view_history", file="long.md", diff=True).data
    assert len(json.dumps(data)) < 100_000
    assert data["history"][0]["diff"].endswith("more lines")
    assert "smaller limit" in data["history"][-1].get("hint", "") or data["next_cursor"]


def test_texts_over_limit_are_listed_without_diff(call_tool: CallTool, repo: Repo) -> None:
    text = "# Large\n\n" + "A line of a large text.\n" * 380_000
    repo.commit({"large.md": text})
    repo.commit({"large.md": text + "One more.\n"})
    data = call_tool("view_history", file="large.md", diff=True).data
    assert [change["kind"] for change in data["history"]] == ["changed", "created"]
    assert all("not compared" in change["hint"] for change in data["history"])


def test_call_without_arguments_returns_usage(call_tool: CallTool) -> None:
    data = call_tool("view_history").data
    assert "blame" in data["usage"]
    assert data["documents"] == ["api.md", "notes/plain.md"]
    assert data["commit"]
    assert call_tool("view_history", slug="tasks").data["code"] == "INVALID_ARGUMENTS"


@loop_over(
    ("arguments", "code"),
    [
        ({"file": "apy.md"}, "DOCUMENT_NOT_FOUND"),
        ({"file": "../outside.md"}, "INVALID_PATH"),
        ({"file": "/etc/passwd"}, "INVALID_PATH"),
        ({"file": "api.md", "slug": "endpoint"}, "SECTION_NOT_FOUND"),
        ({"file": "api.md", "slug": "端点"}, "SECTION_NOT_FOUND"),
        ({"file": "api.md", "slug": "gone", "blame": True}, "SECTION_NOT_FOUND"),
        ({"file": "api.md", "ref": "nowhere"}, "REF_NOT_FOUND"),
        ({"file": "api.md", "limit": 0}, "INVALID_ARGUMENTS"),
        ({"file": "api.md", "limit": 101}, "INVALID_ARGUMENTS"),
        ({"fil": "api.md"}, "INVALID_ARGUMENTS"),
    ],
)
def test_errors_have_working_example(call_tool: CallTool, arguments: dict[str, object], code: str) -> None:
    answer = call_tool("view_history", **arguments)
    assert (answer.is_error, answer.data["code"]) == (True, code)
    assert answer.data["fix"]
    example = answer.data["example"]
    retry = call_tool("view_history", **{**example, "ref": None} if code == "REF_NOT_FOUND" else example)
    assert not retry.is_error or example["file"] == "search-api.md"


def test_unborn_branch_has_no_history(tmp_path: Path) -> None:
    Repo(tmp_path).git("init", "-q")
    workspace = Workspace.open(tmp_path, durable=False)
    call_tool = make_client(ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False))
    assert call_tool("view_history", file="api.md").data["code"] == "DOCUMENT_NOT_FOUND"
    assert call_tool("view_history").data["commit"] is None


def test_history_follows_renames_and_moves_by_docyard(call_tool: CallTool, repo: Repo) -> None:
    """Rename the section, rename its document twice, and move the section; its link is rewritten."""
    body = "See [plain](../notes/plain.md) first.\n\n" + "".join(f"Step {number}.\n" for number in range(5))
    repo.commit(
        {"a/one.md": f"# One\n\n## Guide\n\n{body}\n## Rest\n\nText.\n", "two.md": "# Two\n"}, "Begin"
    )
    calls: list[dict[str, object]] = [
        {"operation": "rename_section", "file": "a/one.md", "slug": "guide", "new_title": "Handbook"},
        {"operation": "move_document", "file": "a/one.md", "new_path": "b/one.md"},
        {"operation": "move_document", "file": "b/one.md", "new_path": "b/c/first.md"},
        {"operation": "move_section", "file": "b/c/first.md", "slug": "guide", "to_file": "two.md"},
    ]
    for call in calls:
        answer = call_tool("edit_document", **call, base_commit=repo.head())
        assert not answer.is_error, answer.data
    call_tool("edit_document", operation="append_content", file="two.md", slug="guide", content="At last.")
    data = call_tool("view_history", file="two.md", slug="guide").data
    kinds = [(change["kind"], change["file"]) for change in data["history"]]
    assert kinds == [
        ("changed", "two.md"),
        ("moved", "two.md"),
        ("renamed", "b/c/first.md"),
        ("renamed", "b/one.md"),
        ("renamed", "a/one.md"),
        ("created", "a/one.md"),
    ]
    assert [change.get("tool") for change in data["history"]] == ["edit_document"] * 5 + [None]
    assert {change.get("client") for change in data["history"]} == {"tester", None}
    blame = call_tool("view_history", file="two.md", slug="guide", blame=True).data
    assert blame["commits"][data["history"][-1]["commit"]]["subject"] == "Begin"
    assert blame["commits"][data["history"][0]["commit"]]["tool"] == "edit_document"


def test_invisible_characters_in_commit_message_are_escaped(call_tool: CallTool, repo: Repo) -> None:
    message = "Say\u202ething\n\nDocyard-Client: " + "x\u200b" * 200
    repo.commit({"api.md": API_TEXT + "\nMore.\n"}, message)
    change = call_tool("view_history", file="api.md", limit=1).data["history"][0]
    assert change["subject"] == "Say\\u202ething"
    assert change["client"].startswith("x\\u200bx")
    assert len(change["client"]) < 1000


def test_line_longer_than_page_is_cut(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"wide.md": "word " * 100_000 + "\n"})
    [line] = call_tool("view_history", file="wide.md", blame=True).data["lines"]
    assert (len(line["text"]), line["truncated"]) == (50_000, True)
