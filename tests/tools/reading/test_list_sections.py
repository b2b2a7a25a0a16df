"""list_sections: addresses in order, a page at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, make_client
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

SECTION_COUNT = 1_203
FILES: dict[str, str | bytes] = {
    "api.md": "# API\n\nText.\n\n## Endpoints\n\n### Search\n\n### Add {#add}\n\n## Errors\n",
    "many.md": "# Many\n\n" + "".join(f"## Part {number}\n\n" for number in range(SECTION_COUNT)),
    "bare.md": "## First\n\nText.\n",
    "empty.md": "",
    "notes.txt": "Words.\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def call_tool(repo: Repo) -> CallTool:
    workspace = Workspace.open(repo.path, durable=False)
    return make_client(ToolDispatcher(workspace, SearchIndex(workspace), None, True))


def test_addresses_are_listed_in_order_with_titles(call_tool: CallTool, repo: Repo) -> None:
    data = call_tool("list_sections", file_path="api.md").data
    assert data["sections"] == ["_preamble", "endpoints", "endpoints/search", "add", "errors"]
    assert (data["count"], data["type"], data["path"]) == (5, "toc", "api.md")
    assert data["commit"] == repo.head()
    assert [
        (entry["title"], entry["level"], entry["number"], entry["lines"]) for entry in data["outline"]
    ] == [
        ("API", 1, "", [1, 4]),
        ("Endpoints", 2, "1", [5, 10]),
        ("Search", 3, "1.1", [7, 8]),
        ("Add", 3, "1.2", [9, 10]),
        ("Errors", 2, "2", [11, 11]),
    ]
    assert "cursor" not in data


def test_sections_below_one_section_are_listed(call_tool: CallTool) -> None:
    data = call_tool("list_sections", file_path="api.md#endpoints").data
    assert (data["sections"], data["count"]) == (["endpoints", "endpoints/search", "add"], 3)


def test_pages_list_all_sections(call_tool: CallTool) -> None:
    addresses: list[str] = []
    answer = call_tool("list_sections", file_path="many.md", limit=400)
    while True:
        assert answer.data["count"] == SECTION_COUNT + 1
        assert f"of {SECTION_COUNT + 1:,}" in answer.data["note"]
        assert "next_step" not in answer.data
        addresses += answer.data["sections"]
        if "cursor" not in answer.data:
            break
        answer = call_tool("list_sections", file_path="many.md", limit=400, cursor=answer.data["cursor"])
    assert addresses == ["_preamble", *(f"part-{number}" for number in range(SECTION_COUNT))]


def test_cursor_of_another_list_is_refused(call_tool: CallTool, repo: Repo) -> None:
    cursor = call_tool("list_sections", file_path="many.md").data["cursor"]
    answer = call_tool("list_sections", file_path="api.md", cursor=cursor)
    assert (answer.data["code"], answer.data["type"]) == ("INVALID_CURSOR", "error")
    repo.commit({"unrelated.md": "# New\n"})
    assert not call_tool("list_sections", file_path="many.md", cursor=cursor).is_error
    repo.commit({"many.md": "# Many\n"})
    assert call_tool("list_sections", file_path="many.md", cursor=cursor).data["code"] == "CURSOR_STALE"


@pytest.mark.parametrize("file", list(FILES))
def test_listed_section_is_read_without_next_step(call_tool: CallTool, file: str) -> None:
    answer = call_tool("list_sections", file_path=file)
    assert answer.data["count"] >= 1
    assert "next_step" not in answer.data
    for address in (answer.data["sections"][0], answer.data["sections"][-1]):
        section = call_tool("read_section", file_path=file, section_heading=address)
        assert (section.data["section"], "next_step" in section.data) == (address, False)


@pytest.mark.parametrize(
    "fields",
    [{"file_path": "apy.md"}, {}, {"file_path": "api.md", "limit": 0}, {"file_path": "api.md", "depth": 2}],
)
def test_error_has_contract_fields(call_tool: CallTool, fields: dict[str, object]) -> None:
    answer = call_tool("list_sections", **fields)
    assert answer.is_error
    assert answer.data["type"] == "error"
    assert isinstance(answer.data["error"], str)
    assert not call_tool("list_sections", **answer.data["example"]).is_error


TRICKY_TEXT = (
    "Before.\n\n# Title *one* {#top}\n\n```\n# fenced\n```\n\n    # indented\n\nSetext `x`\n---\n\n"
    "> ## quoted\n\n- ## in a list\n\n<!--\n## commented\n-->\n\n####### seven\n\n#no space\n\n"
    "## Closed ##\n\n\\## escaped\n\ntext\n# Interrupts\n\n***\n\n| a |\n|---|\n\n"
    "Two\nlines\n===\n\n#\n\n###### Deep\n"
)


def test_list_agrees_with_parser_on_every_heading(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"tricky.md": TRICKY_TEXT})
    tokens = MarkdownIt("commonmark").enable("table").parse(TRICKY_TEXT)
    parsed_headings = [
        (int(token.tag[1]), token.map[0] + 1)
        for token in tokens
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    outline = call_tool("list_sections", file_path="tricky.md").data["outline"]
    # The first heading, if it is an H1, is the title and belongs to the preamble.
    assert (outline[0]["address"], outline[0]["title"]) == ("_preamble", "Title one")
    assert [(entry["level"], entry["lines"][0]) for entry in outline[1:]] == parsed_headings[1:]
    titles = ["Setext x", "Closed", "Interrupts", "Two lines", "", "Deep"]
    assert [entry["title"] for entry in outline[1:]] == titles


def test_answer_is_bounded_for_any_headings(call_tool: CallTool, repo: Repo) -> None:
    text = "# " + "title " * 5_000 + "\n\n## " + "far " * 5_000 + "\n\nText.\n\n"
    text += "".join(f"## {'long' * 200} {number}\n\n" for number in range(200))
    repo.commit({"wide.md": text})
    answer = call_tool("list_sections", file_path="wide.md")
    assert len(str(answer.data)) < 200_000
    addresses = answer.data["sections"]
    while "cursor" in answer.data:
        answer = call_tool("list_sections", file_path="wide.md", cursor=answer.data["cursor"])
        addresses += answer.data["sections"]
    assert len(addresses) == answer.data["count"] == 202
    # The number replaces an address that is far too long.
    assert addresses[:2] == ["_preamble", "1"]
    section = call_tool("read_section", file_path="wide.md", section_heading="1").data
    assert (section["section"], section["heading"][:7]) == ("1", "far far")
    assert len(str(section)) < 2 * len("far " * 5_000)
    preamble = call_tool("smart_read", file_path="wide.md", mode="summary").data["_preamble"]
    assert len(preamble) < 1_000
