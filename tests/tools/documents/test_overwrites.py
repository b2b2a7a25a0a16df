"""Overwriting: unread text is returned first, and text that has changed since is a conflict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import API_TEXT, CallTool, make_client
from tools.dispatcher import ToolDispatcher
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens

pytestmark = pytest.mark.smoke

UPDATE = {
    "operation": "update_content",
    "file": "api.md",
    "slug": "endpoints/search",
    "content": "Finds all.",
}
REMOVE = {"file": "api.md", "slug": "endpoints"}
APPEND = {"operation": "append_content", "file": "api.md", "slug": "endpoints/search", "content": "More."}
MAX_TEXT_TOKENS = Limits().text_tokens
FULL_VIEW = {"file": "api.md", "slug": "_preamble", "include_subsections": True}


@pytest.mark.parametrize(
    ("tool", "call", "current"),
    [
        ("edit_document", UPDATE, "### Search\n\nFinds things.\n\n"),
        ("remove_document", REMOVE, API_TEXT[API_TEXT.index("## Endpoints") : API_TEXT.index("## Tasks")]),
        ("remove_document", {"path": "api.md"}, API_TEXT[API_TEXT.index("# API") :]),
    ],
    ids=["update_content", "remove_section", "remove_document"],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_unread_text_is_shown_and_second_call_succeeds(
    call_tool: CallTool, repo: Repo, tool: str, call: dict[str, Any], current: str, dry_run: bool
) -> None:
    head_before = repo.head()
    refusal = call_tool(tool, **call, dry_run=dry_run)
    assert refusal.is_error
    assert refusal.data["code"] == "READ_FIRST"
    assert refusal.data["current"].strip() == current.strip()
    assert refusal.data["commit"] == head_before == repo.head()
    assert refusal.data["example"] == (call | {"dry_run": True} if dry_run else call)
    assert {"error", "fix", "file", "slugs"} <= refusal.data.keys()
    assert "usage" not in refusal.data
    assert "things" not in refusal.data["error"] + refusal.data["fix"]
    result = call_tool(tool, **refusal.data["example"])
    assert not result.is_error, result.data
    assert result.data["commit"] == repo.head()
    assert (repo.head() == head_before) == dry_run


@pytest.mark.parametrize("content", ["", "Long. " * 300, "Long. " * 3000])
def test_example_after_a_read_refusal_overwrites_with_no_placeholder(
    call_tool: CallTool, content: str
) -> None:
    refusal = call_tool("edit_document", **{**UPDATE, "content": content})
    assert refusal.data["code"] == "READ_FIRST"
    assert refusal.data["example"].get("content") == (content if len(content) < 4_000 else None)


def test_batch_reports_operations_that_need_a_read(call_tool: CallTool, repo: Repo) -> None:
    task = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "Rest"}
    first_answer = call_tool("edit_document", operations=[UPDATE, task])
    refusal, result = first_answer.data["batch_results"]
    assert (refusal["code"], result["success"]) == ("READ_FIRST", True)
    assert refusal["current"] == "### Search\n\nFinds things.\n\n"
    assert {"error", "code", "fix", "example"} <= refusal.keys()
    assert not call_tool("edit_document", **UPDATE).is_error


@pytest.mark.parametrize("dry_run", [False, True])
def test_mode_all_commits_nothing_until_all_is_read(call_tool: CallTool, repo: Repo, dry_run: bool) -> None:
    head_before = repo.head()
    calls = [APPEND, UPDATE, {**APPEND, "slug": "endpoints"}]
    first_answer = call_tool("edit_document", operations=calls, mode="all", dry_run=dry_run)
    assert first_answer.is_error
    assert [entry["code"] for entry in first_answer.data["batch_results"]] == [
        "UNDONE",
        "READ_FIRST",
        "NOT_RUN",
    ]
    assert first_answer.data["batch_results"][1]["fix"]
    assert first_answer.data["fix"] == "Fix the failed operation, and send the whole batch again."
    assert first_answer.data.get("diff") == ("" if dry_run else None)
    assert repo.head() == head_before
    second_answer = call_tool("edit_document", operations=calls, mode="all")
    assert not second_answer.is_error
    assert "More." not in call_tool("view_document", file="api.md", slug="endpoints/search").data["content"]


READ_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a section": ("view_document", {"file": "api.md", "slug": "endpoints/search"}),
    "a section with all below it": (
        "view_document",
        {"file": "api.md", "slug": "endpoints", "include_subsections": True},
    ),
    "the whole document": ("view_document", FULL_VIEW),
    "one of several views": (
        "view_document",
        {"operations": [{"file": "no.md"}, {"file": "api.md", "slug": "endpoints/search"}]},
    ),
    "a chunk": ("get_doc", {"chunk_id": "api.md#endpoints/search"}),
    "a neighbour of a chunk": ("get_doc", {"chunk_id": "api.md#tasks", "context": 1}),
    "a dry run of its removal": ("remove_document", {**REMOVE, "slug": "endpoints/search", "dry_run": True}),
}
OTHER_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "an outline": ("view_document", {"file": "api.md"}),
    "another section": ("view_document", {"file": "api.md", "slug": "endpoints"}),
    "a task": ("view_document", {"file": "api.md", "slug": "tasks[0]"}),
    "a part of the section": ("view_document", {"file": "api.md", "slug": "endpoints/search", "offset": 5}),
    "a list": ("list_documents", {}),
    "snippets": ("search_docs", {"query": "finds things"}),
    "previews": ("search_documents", {"query": "finds things"}),
    "an appended text": ("edit_document", APPEND),
    "a new title of the section": (
        "edit_document",
        {"file": "api.md", "slug": "endpoints/search", "new_title": "Seek"},
    ),
}


@pytest.mark.parametrize("name", [*READ_CALLS, *OTHER_CALLS])
def test_only_full_views_count_as_read(call_tool: CallTool, name: str) -> None:
    tool, arguments = {**READ_CALLS, **OTHER_CALLS}[name]
    call_tool(tool, **arguments)
    answer = call_tool("edit_document", **UPDATE)
    assert answer.is_error == (name in OTHER_CALLS)
    assert not answer.is_error or answer.data["code"] == "READ_FIRST"


def test_client_may_overwrite_own_text(call_tool: CallTool) -> None:
    creation = call_tool(
        "create_document", doc_type="document", title="Mine", initial_content="Words.\n\n## Part\n\nWords."
    )
    call_tool("edit_document", file=creation.data["path"], title="More", content="Words.")
    for slug in ("_preamble", "part", "more"):
        answer = call_tool(
            "edit_document",
            file=creation.data["path"],
            slug=slug,
            content="Others.",
            operation="update_content",
        )
        assert not answer.is_error, slug
    assert not call_tool("remove_document", path=creation.data["path"]).is_error


def test_dry_run_text_does_not_count_as_written(call_tool: CallTool, dispatcher: ToolDispatcher) -> None:
    section = {"file": "api.md", "title": "Part", "content": "Words."}
    call_tool("edit_document", **section, dry_run=True)
    make_client(dispatcher)("edit_document", **section)
    answer = call_tool("remove_document", file="api.md", slug="part")
    assert answer.data["code"] == "READ_FIRST"


def test_client_without_session_passes_base_commit(dispatcher: ToolDispatcher, repo: Repo) -> None:
    def call_tool(tool: str, /, **arguments: object) -> Any:
        return dispatcher.call(tool, arguments, client="web")

    call_tool("view_document", **FULL_VIEW)
    refusal = call_tool("edit_document", **UPDATE)
    assert refusal.data["code"] == "READ_FIRST"
    assert "base_commit" in refusal.data["fix"]
    assert refusal.data["example"] == {**UPDATE, "base_commit": repo.head()}
    assert not call_tool("edit_document", **refusal.data["example"]).is_error


def test_cut_text_does_not_count_as_read(call_tool: CallTool, repo: Repo) -> None:
    text = "word " * (MAX_TEXT_TOKENS + 1_000)
    repo.commit({"long.md": f"# Long\n\n## Short\n\nWords.\n\n## Long\n\n{text}\n\n## Last\n\nOthers.\n"})
    removal = {"path": "long.md"}
    refusal = call_tool("remove_document", **removal)
    assert refusal.data["slugs"] == ["short", "long", "last"]
    assert refusal.data["truncated"] is True
    assert count_tokens(refusal.data["current"]) <= MAX_TEXT_TOKENS + 1
    assert "truncated" in refusal.data["fix"]
    second_refusal = call_tool("remove_document", **removal)
    assert second_refusal.data["slugs"] == ["long", "last"]
    call_tool("get_doc", chunk_id="long.md#long", context=1)
    view = call_tool("view_document", file="long.md", slug="long").data
    call_tool("view_document", file="long.md", slug="long", offset=view["offset"])
    assert call_tool("remove_document", **removal).data["slugs"] == ["long"]
    assert second_refusal.data["example"] == {**removal, "base_commit": repo.head()}
    assert not call_tool("remove_document", **second_refusal.data["example"]).is_error


def test_texts_of_one_answer_share_one_limit(call_tool: CallTool, repo: Repo) -> None:
    repo.commit(
        {f"{name}.md": f"# {name}\n\n{'word ' * (MAX_TEXT_TOKENS * 2 // 3)}{name}\n" for name in "abc"}
    )
    answer = call_tool("remove_document", operations=[{"path": f"{name}.md"} for name in "abc"])
    results = answer.data["batch_results"]
    assert sum(count_tokens(entry["current"]) for entry in results) <= MAX_TEXT_TOKENS + 3
    assert ["truncated" in entry for entry in results] == [False, True, True]
    are_errors = [call_tool("remove_document", path=f"{name}.md").is_error for name in "abc"]
    assert are_errors == [False, True, True]


def test_client_must_read_text_of_other_client(dispatcher: ToolDispatcher, repo: Repo) -> None:
    first_client, second_client = make_client(dispatcher), make_client(dispatcher)
    for client in (first_client, second_client):
        view = client("view_document", **FULL_VIEW)
    base = view.data["commit"]
    assert not first_client("edit_document", **UPDATE, base_commit=base).is_error
    # The second client has read the earlier text, and not the text that the first client wrote.
    edit = {**UPDATE, "content": "Finds nothing."}
    read_refusal = second_client("edit_document", **edit)
    assert read_refusal.data["code"] == "READ_FIRST"
    assert read_refusal.data["current"] == "### Search\n\nFinds all.\n\n"
    changed_in = repo.head()
    assert (
        f"the text has changed since this client read it (commit {changed_in[:8]})"
        in (read_refusal.data["error"])
    )
    assert read_refusal.data["changed_in"] == changed_in
    assert not second_client("edit_document", **{**edit, "slug": "endpoints"}, base_commit=base).is_error
    # The first client may overwrite its own text with any base commit.
    assert not first_client("edit_document", **{**UPDATE, "content": "Finds it."}, base_commit=base).is_error
    head_before = repo.head()
    refusal = second_client("edit_document", **edit, base_commit=base)
    assert refusal.is_error
    assert repo.head() == head_before
    conflict = {name: refusal.data[name] for name in ("code", "slugs", "base", "theirs", "ours", "commit")}
    assert conflict == {
        "code": "CONFLICT",
        "slugs": ["endpoints/search"],
        "base": "### Search\n\nFinds things.\n\n",
        "theirs": "### Search\n\nFinds it.\n\n",
        "ours": "### Search\n\nFinds nothing.\n\n",
        "commit": head_before,
    }
    assert "Finds" not in refusal.data["error"] + refusal.data["fix"]
    # The repeated call is refused again: only the current commit as the base resolves the conflict.
    assert second_client("edit_document", **edit, base_commit=base).data["code"] == "CONFLICT"
    assert refusal.data["example"] == {**edit, "base_commit": head_before}
    assert not second_client("edit_document", **refusal.data["example"]).is_error
    assert repo.status() == repo.fsck() == ""


def test_removal_of_changed_text_is_a_conflict(dispatcher: ToolDispatcher, repo: Repo) -> None:
    base = repo.head()
    make_client(dispatcher)("edit_document", **APPEND)
    refusal = make_client(dispatcher)("remove_document", **REMOVE, base_commit=base)
    assert refusal.data["code"] == "CONFLICT"
    assert (refusal.data["slugs"], refusal.data["ours"]) == (["endpoints/search"], "")


def test_read_task_is_completed_after_it_moved(dispatcher: ToolDispatcher, repo: Repo) -> None:
    first_client, second_client = make_client(dispatcher), make_client(dispatcher)
    base = second_client("view_document", file="api.md", slug="tasks").data["commit"]
    task = {
        "operation": "add_task",
        "file": "api.md",
        "slug": "tasks",
        "title": "First",
        "before": "tasks[0]",
    }
    first_client("edit_document", **task)
    completion = second_client("complete_task", file="api.md", slug="tasks[1]", base_commit=base)
    assert completion.data["slug"] == "tasks[2]"
    assert "- [x] Write tests" in repo.git("show", "HEAD:api.md")
    assert second_client("complete_task", file="api.md", slug="tasks[1]").data["already_completed"] is True
    repo.commit({"api.md": repo.git("show", "HEAD:api.md").replace("- [ ] Ship it\n", "")})
    removed_task_answer = second_client("complete_task", file="api.md", slug="tasks[2]", base_commit=base)
    assert removed_task_answer.data["code"] == "TASK_NOT_FOUND"
    assert "is missing" in removed_task_answer.data["error"]
    repo.commit({"api.md": repo.git("show", "HEAD:api.md") + "- [ ] Write tests\n"})
    ambiguous_task_answer = second_client("reopen_task", file="api.md", slug="tasks[1]", base_commit=base)
    assert ambiguous_task_answer.data["code"] == "CONFLICT"
    assert ambiguous_task_answer.data["candidates"] == ["tasks[2]", "tasks[3]"]
    assert ambiguous_task_answer.data["example"] == {"file": "api.md", "slug": "tasks[2]"}


@loop_over("commit", ["HEAD", "0" * 40, "abc", ""])
@loop_over(
    ("tool", "fields"),
    [
        ("edit_document", UPDATE),
        ("complete_task", {"file": "api.md", "slug": "tasks[1]"}),
        ("tag_document", {"file": "api.md", "tags": ["a"]}),
        ("create_document", {"doc_type": "document", "title": "New"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_base_commit_is_refused(
    call_tool: CallTool, repo: Repo, tool: str, fields: dict[str, Any], commit: str
) -> None:
    head_before = repo.head()
    answer = call_tool(tool, **fields, base_commit=commit)
    assert answer.is_error
    assert (answer.data["code"], repo.head()) == ("UNKNOWN_COMMIT", head_before)
    assert "base_commit" not in answer.data["example"]


def test_setting_allows_any_overwrite(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"docyard.toml": 'overwrite = "any"\n'})
    assert not call_tool("edit_document", **UPDATE).is_error
    assert not call_tool("remove_document", path="api.md").is_error
