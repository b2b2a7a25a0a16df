"""The tools that a server offers, and errors for unknown tools and arguments."""

from __future__ import annotations

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.dispatcher import ToolDispatcher, UnknownTool
from tools.tool import Tool
from tools.toolsets import (
    DEFAULT_TOOLSETS,
    TOOLSETS,
    UnknownToolset,
    all_tools,
    load_toolset,
    parse_toolsets,
)
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke

DEFAULT_TOOLS = [
    "create_document",
    "edit_document",
    "remove_document",
    "list_documents",
    "search_documents",
    "view_document",
    "complete_task",
    "reopen_task",
    "tag_document",
    "search_docs",
    "get_doc",
]


def list_offered_tools(repo: Repo, toolsets: tuple[str, ...] | None, read_only: bool) -> list[str]:
    workspace = Workspace.open(repo.path, read_only=read_only)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), toolsets, read_only)
    return [tool["name"] for tool in dispatcher.definitions()]


def test_default_tools_have_fixed_order(repo: Repo) -> None:
    assert list_offered_tools(repo, None, False) == DEFAULT_TOOLS
    assert list_offered_tools(repo, DEFAULT_TOOLSETS[::-1], False) == DEFAULT_TOOLS


def test_toolsets_select_their_tools(repo: Repo) -> None:
    assert list_offered_tools(repo, ("search",), False) == ["search_docs", "get_doc"]
    assert list_offered_tools(repo, ("tasks",), False) == ["complete_task", "reopen_task", "tag_document"]


def test_read_only_server_offers_reading_tools_only(repo: Repo) -> None:
    assert list_offered_tools(repo, None, True) == [
        "list_documents",
        "view_document",
        "search_docs",
        "get_doc",
        "smart_read",
        "read_section",
        "list_sections",
        "search_table",
    ]
    assert list_offered_tools(repo, ("documents", "tasks"), True) == [
        "list_documents",
        "search_documents",
        "view_document",
    ]


def test_read_only_server_rejects_writing_tools(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, read_only=True)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ("documents", "tasks", "search"), True)
    for tool in all_tools():
        if tool.writes:
            with pytest.raises(UnknownTool):
                dispatcher.call(tool.name, {}, client="tester")
    assert not hasattr(workspace.git, "put_blob")


def test_unknown_tool_returns_nearest_names(call_tool: CallTool) -> None:
    with pytest.raises(UnknownTool) as error_info:
        call_tool("search_doc")
    assert error_info.value.nearest[0] == "search_docs"


def test_arguments_must_be_an_object(dispatcher: ToolDispatcher) -> None:
    answer = dispatcher.call("list_documents", ["a"], client="tester")
    assert answer.is_error
    assert answer.data["code"] == "INVALID_ARGUMENTS"
    assert not dispatcher.call("list_documents", None, client="tester").is_error


def test_toolset_names_are_parsed_and_checked() -> None:
    assert parse_toolsets(None) is None
    assert parse_toolsets(" search , tasks,search") == ("search", "tasks")
    for names in ("serch", "", ",", "search,all"):
        with pytest.raises(UnknownToolset) as error_info:
            parse_toolsets(names)
        assert "search" in error_info.value.fix


def test_tool_names_are_unique_and_match_their_toolset() -> None:
    tools = all_tools()
    assert len({tool.name for tool in tools}) == len(tools)
    assert all(tool.toolset == name for name in TOOLSETS for tool in load_toolset(name))


@pytest.mark.parametrize("tool", all_tools(), ids=lambda tool: tool.name)
def test_call_without_arguments_returns_usage_or_result(repo: Repo, tool: Tool) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)
    answer = dispatcher.call(tool.name, {}, client="tester")
    assert answer.data["commit"] == repo.head()
    if answer.is_error:
        assert {"error", "code", "usage", "example"} <= answer.data.keys()
    elif tool.name == "list_documents":  # a complete list, not a usage
        assert "next_step" not in answer.data
    else:
        assert answer.data["next_step"]


def test_tool_of_a_toolset_that_is_off_names_the_toolset(repo: Repo) -> None:
    workspace = Workspace.open(repo.path)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), None, False)
    for name, toolset in (("smart_read", "reading"), ("nothing_alike", None)):
        with pytest.raises(UnknownTool) as error_info:
            dispatcher.call(name, {}, client="tester")
        assert error_info.value.toolset == toolset
    read_only = ToolDispatcher(workspace, SearchIndex(workspace), None, True)
    with pytest.raises(UnknownTool) as error_info:
        read_only.call("edit_document", {}, client="tester")
    assert error_info.value.toolset is None


@pytest.mark.parametrize(
    ("tool", "fields", "code", "fix"),
    [
        (
            "complete_task",
            {"file": "notes/plain.md", "slug": "tasks[0]"},
            "SECTION_NOT_FOUND",
            "notes/plain.md has no tasks. Add one with edit_document and the operation add_task.",
        ),
        (
            "create_document",
            {"doc_type": "document", "title": "x", "path": "guides/t.txt"},
            "INVALID_PATH",
            "End the path with .md: `guides/t.md`.",
        ),
        (
            "search_docs",
            {"query": "x", "type": "zz"},
            "UNKNOWN_FILTER_VALUE",
            "Use another value, such as 'api_spec'.",
        ),
    ],
)
def test_fix_names_what_works(
    call_tool: CallTool, tool: str, fields: dict[str, object], code: str, fix: str
) -> None:
    answer = call_tool(tool, **fields)
    assert (answer.data["code"], answer.data["fix"]) == (code, fix)
