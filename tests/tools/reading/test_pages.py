"""Reading: lists by page and filter, views of documents, sections and tasks, and texts that are too long."""

from __future__ import annotations

import json
import re
from typing import Any

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.dispatcher import ToolDispatcher
from tools.pages import count_fitting_characters, cut_text
from tools.toolsets import all_tools
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens
from workspace.workspace import Workspace

MAX_TEXT_TOKENS = Limits().text_tokens
TOOL_NAMES = {tool.name for tool in all_tools()}


def test_lists_are_read_page_by_page(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({f"many/{number:02}.md": f"# Number {number}\n" for number in range(7)})
    paths: list[str] = []
    cursor = None
    while True:
        page = call_tool("list_documents", path="many", limit=3, cursor=cursor)
        paths += [entry["path"] for entry in page.data["documents"]]
        assert page.data["total"] == 7
        assert "next_step" not in page.data
        cursor = page.data.get("next_cursor")
        if cursor is None:
            break
    assert "next_cursor" not in page.data
    assert paths == [f"many/{number:02}.md" for number in range(7)]


def test_cursor_of_another_list_or_commit_is_refused(call_tool: CallTool, repo: Repo) -> None:
    cursor = call_tool("list_documents", limit=1).data["next_cursor"]
    assert call_tool("list_documents", path="notes", cursor=cursor).data["code"] == "INVALID_CURSOR"
    assert call_tool("search_docs", query="things", cursor=cursor).data["code"] == "INVALID_CURSOR"
    repo.commit({"new.md": "# New\n"})
    assert call_tool("list_documents", limit=1, cursor=cursor).data["code"] == "CURSOR_STALE"


def test_lists_are_filtered(call_tool: CallTool) -> None:
    def list_paths(**filters: object) -> list[str]:
        return [entry["path"] for entry in call_tool("list_documents", **filters).data["documents"]]

    assert list_paths() == ["api.md", "notes/plain.md"]
    assert (
        list_paths(type="api_spec")
        == list_paths(has_open_tasks=True)
        == list_paths(path="api.md")
        == ["api.md"]
    )
    assert list_paths(has_open_tasks="false") == list_paths(path="notes/") == ["notes/plain.md"]
    assert list_paths(tag="none") == []


def test_outline_section_and_task_are_viewed(call_tool: CallTool) -> None:
    outline = call_tool("view_document", file="api.md").data
    assert outline["sections"]["tasks"] == {
        "total": 3,
        "completed": 1,
        "active": ["tasks[1]", "tasks[2]"],
        "titles": {"tasks[0]": "Define schemas", "tasks[1]": "Write tests", "tasks[2]": "Ship it"},
    }
    assert outline["sections"]["endpoints"] == {"count": 1, "slugs": ["endpoints/search"]}
    section = call_tool("view_document", file="api.md", slug="endpoints").data
    assert section["content"] == "## Endpoints\n\nPaths begin with /v1.\n\n"
    assert (section["subsections"], section["parent"]) == (["search"], None)
    task = call_tool("view_document", file="api.md", slug="tasks[0]").data
    assert task["task"]["criteria"] == "OpenAPI"
    assert task["content"].startswith("- [x] Define schemas")
    preamble = call_tool("view_document", file="api.md", slug="_preamble").data
    assert preamble["content"].lstrip().startswith("# API\n\nIntroduction.")


def test_batch_returns_each_view(call_tool: CallTool) -> None:
    views = [{"file": "api.md", "slug": "tasks"}, {"file": "nothing.md"}, {"file": "notes/plain.md"}]
    answer = call_tool("view_document", operations=views)
    assert [result["success"] for result in answer.data["batch_results"]] == [True, False, True]
    assert not answer.is_error
    assert call_tool("view_document", operations=[views[1]]).is_error
    assert call_tool("view_document", operations=[views[0]] * 51).data["code"] == "INVALID_ARGUMENTS"


def test_long_section_is_read_in_parts(call_tool: CallTool, repo: Repo) -> None:
    body = "".join(f"Paragraph {number} with words.\n\n" for number in range(8_000))
    repo.commit({"long.md": f"# Long\n\n## Body\n\n{body}"})
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        data = call_tool("view_document", file="long.md", slug="body", offset=offset).data
        parts.append(data["content"])
        assert count_tokens(data["content"]) <= MAX_TEXT_TOKENS
        offset = data.get("offset")
    assert "".join(parts) == f"## Body\n\n{body}"
    chunk = call_tool("get_doc", chunk_id="long.md#body")
    assert chunk.text is not None
    assert count_tokens(chunk.text) <= MAX_TEXT_TOKENS
    assert chunk.data["truncated"] is True
    match = re.search(r"get_doc (\{.*\})", chunk.data["next_step"])
    assert match
    assert not call_tool("get_doc", **json.loads(match[1])).is_error


@loop_over(
    "text",
    ["word " * 4_000, "文档工作区" * 2_000, "x" * 9_000, " " * 9_000, "-" * 9_000, "👩\u200d💻" * 999, "ab"],
)
@loop_over("tokens", [200, 1_000, 3_999])
def test_fitting_prefix_respects_token_limit(text: str, tokens: int) -> None:
    for offset in (0, 1):
        size = count_fitting_characters(text, offset, tokens)
        assert 1 <= size <= len(text) - offset
        assert count_tokens(text[offset : offset + size]) <= tokens
        longer_text = text[offset : offset + size + size // 5 + 1]
        if size < len(text) - offset:
            assert count_tokens(longer_text) > tokens or size == tokens * 32


def test_text_is_cut_between_blocks() -> None:
    assert cut_text("abc", 1, 2) == ("bc", None)
    assert cut_text("one\n\ntwo\n\nthree", 0, 12) == ("one\n\ntwo\n\n", 10)
    assert cut_text("one\ntwo\nthree", 0, 10) == ("one\ntwo\n", 8)
    assert cut_text("x" * 20, 5, 10) == ("x" * 10, 15)


COMPLETE_READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_documents", {}),
    ("list_documents", {"limit": 1}),
    ("view_document", {"file": "api.md"}),
    ("view_document", {"file": "api.md", "slug": "tasks"}),
    ("view_document", {"file": "api.md", "slug": "tasks[0]"}),
    ("view_document", {"file": "api.md", "slug": "endpoints/search"}),
    ("view_document", {"file": "notes/plain.md"}),
    ("view_document", {"file": "notes/plain.md", "slug": "_preamble"}),
    ("view_document", {"operations": [{"file": "api.md"}, {"file": "nothing.md"}]}),
    ("search_documents", {"query": "things"}),
    ("search_docs", {"query": "things"}),
    ("search_docs", {"query": "things", "limit": 1}),
    ("get_doc", {"chunk_id": "api.md#endpoints"}),
    ("get_doc", {"chunk_id": "api.md", "context": 5}),
)
READS_WITH_NEXT_STEP: tuple[tuple[str, dict[str, Any]], ...] = (
    ("view_document", {}),
    ("view_document", {"file": "long.md", "slug": "body"}),
    ("list_documents", {"type": "none"}),
    ("search_documents", {"query": "nowhere"}),
    ("search_docs", {"query": "nowhere"}),
    ("search_docs", {"query": "thingz"}),
    ("get_doc", {"chunk_id": "long.md#body"}),
    ("smart_read", {"file_path": "long.md", "mode": "full"}),
    ("read_section", {"file_path": "long.md", "section_heading": "body"}),
)
LONG_DOCUMENT = "# Long\n\n## Body\n\n" + "A paragraph with words.\n\n" * 8_000


def test_complete_read_has_no_next_step(call_tool: CallTool) -> None:
    for tool, arguments in COMPLETE_READS:
        answer = call_tool(tool, **arguments)
        assert not answer.is_error, answer.data
        assert "next_step" not in answer.data, (tool, arguments)


def test_cursor_of_next_page_is_in_one_field(call_tool: CallTool) -> None:
    for tool, arguments in (("list_documents", {}), ("search_docs", {"query": "things api"})):
        answer = call_tool(tool, **arguments, limit=1)
        cursor = answer.data["next_cursor"]
        assert json.dumps(answer.data).count(cursor) == 1
        assert answer.text is None or answer.text.count(cursor) == 1


def test_last_search_page_has_cursor_and_hint_as_null(call_tool: CallTool) -> None:
    data = call_tool("search_docs", query="things").data
    assert (data["next_cursor"], data["hint"]) == (None, None)


def test_every_call_in_next_step_succeeds(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": LONG_DOCUMENT})
    first_calls: list[tuple[str, dict[str, Any]]] = [
        *READS_WITH_NEXT_STEP[:-2],  # the default tools
        ("create_document", {}),
        ("create_document", {"doc_type": "runbook", "title": "Restart"}),
        ("edit_document", {"file": "api.md", "title": "Extra"}),
        ("tag_document", {"file": "api.md", "tags": ["x"]}),
        ("complete_task", {"file": "api.md", "slug": "tasks[1]"}),
    ]
    for tool, arguments in first_calls:
        answer = call_tool(tool, **arguments)
        assert answer.data["next_step"]
        for _ in range(4):
            assert not answer.is_error, answer.data
            if "next_step" not in answer.data:
                break
            match = re.search(r"(\w+) (\{.*?\})(?:[ ,;:]|$)", answer.data["next_step"])
            if not match or match[1] not in TOOL_NAMES or "…" in match[2]:
                break
            answer = call_tool(match[1], **json.loads(match[2]))


def test_next_step_names_offered_tools_only(repo: Repo) -> None:
    repo.commit({"long.md": LONG_DOCUMENT})
    workspace = Workspace.open(repo.path, read_only=True)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), None, True)
    offered_tools = {tool["name"] for tool in dispatcher.definitions()}
    for tool, arguments in READS_WITH_NEXT_STEP:
        if tool not in offered_tools:
            continue
        step = dispatcher.call(tool, arguments, client="tester").data["next_step"]
        assert not {name for name in TOOL_NAMES - offered_tools if re.search(rf"\b{name}\b", step)}, step


def test_section_is_read_with_its_subsections(call_tool: CallTool) -> None:
    section = call_tool("view_document", file="api.md", slug="endpoints").data
    full_section = call_tool("view_document", file="api.md", slug="endpoints", include_subsections=True).data
    subsection = call_tool("view_document", file="api.md", slug="endpoints/search").data
    assert full_section["content"] == section["content"] + subsection["content"]
    assert full_section["lines"] == [section["lines"][0], subsection["lines"][1]]
    document = call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True).data
    assert full_section["content"] in document["content"]


def test_title_that_differs_from_address_is_shown(call_tool: CallTool) -> None:
    assert "titles" not in call_tool("view_document", file="api.md").data
    result = call_tool("edit_document", file="api.md", slug="endpoints/search", new_title="Find").data
    assert result["hints"] == ["the address stays 'endpoints/search', so no link breaks"]
    assert call_tool("view_document", file="api.md").data["titles"] == {"endpoints/search": "Find"}


def test_filtered_list_counts_its_matches(call_tool: CallTool) -> None:
    assert call_tool("list_documents").data["total"] == 2
    assert call_tool("list_documents", type="api_spec").data["total"] == 1
    assert call_tool("list_documents", tag="none").data["total"] == 0
