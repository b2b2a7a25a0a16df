"""get_doc: old chunk ids and long chunks."""

from __future__ import annotations

import re

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tools.dispatcher import ToolDispatcher
from workspace.config.config import Limits
from workspace.texts.tokens import count_tokens
from workspace.workspace import Workspace


def test_old_chunk_id_returns_new_one(call_tool: CallTool, repo: Repo) -> None:
    assert "moved_to" not in call_tool("get_doc", chunk_id="api.md#tasks").data
    repo.git("mv", "api.md", "reference.md")
    moving_commit = repo.commit({})
    repo.commit({"notes/other.md": "# Other\n"})
    answer = call_tool("get_doc", chunk_id="api.md#endpoints/search", context=1)
    assert answer.data["moved_to"] == {"chunk_id": "reference.md#endpoints/search", "commit": moving_commit}
    assert answer.data["commit"] == repo.head()
    assert answer.data["next_step"] == "Use 'reference.md#endpoints/search' from now on: it was moved"
    assert answer.text is not None
    assert answer.text.count("--- Chunk: reference.md#") == 3
    assert "--- Chunk: reference.md#endpoints/search (Chunk 3 of 4) (Target) ---\n### Search" in answer.text
    assert "api.md" not in answer.text


def test_section_renamed_with_git_is_found(call_tool: CallTool, repo: Repo) -> None:
    text = (repo.path / "api.md").read_text()
    moving_commit = repo.commit({"api.md": text.replace("### Search", "### Finding")})
    answer = call_tool("get_doc", chunk_id="api.md#endpoints/search")
    assert answer.data["moved_to"] == {"chunk_id": "api.md#endpoints/finding", "commit": moving_commit}


def test_chunk_read_at_old_address_may_be_overwritten(call_tool: CallTool, repo: Repo) -> None:
    repo.git("mv", "api.md", "reference.md")
    repo.commit({})
    call_tool("get_doc", chunk_id="api.md#endpoints")
    answer = call_tool(
        "edit_document",
        operation="update_content",
        file="reference.md",
        slug="endpoints",
        content="Other words.",
    )
    assert not answer.is_error


@pytest.mark.parametrize("chunk_id", ["api.md#nowhere", "apis.md#tasks", "notes/plane.md"])
def test_unknown_chunk_returns_nearest_ids(call_tool: CallTool, chunk_id: str) -> None:
    answer = call_tool("get_doc", chunk_id=chunk_id)
    assert answer.is_error
    message = f"Chunk ID '{chunk_id}' not found. Use search_docs to discover valid chunk IDs."
    assert answer.text == message
    assert answer.data["nearest"]
    assert not call_tool("get_doc", **answer.data["example"]).is_error


BLOCK = "```\n" + "code\n" * 6 + "```\n\n"


def test_long_chunk_is_cut_between_blocks(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\nShort.\n\n## One\n\n{BLOCK * 3_000}\n## Two\n\n{BLOCK * 3_000}"})
    answer = call_tool("get_doc", chunk_id="long.md#one", context=1)
    assert answer.text is not None
    assert count_tokens(answer.text) <= Limits().text_tokens
    headers = re.findall(r"^--- Chunk: (\S+) \(Chunk \d of 3\) \((.*)\) ---$", answer.text, re.MULTILINE)
    assert headers == [
        ("long.md#_preamble", "Context: -1"),
        ("long.md#one", "Target"),
        ("long.md#two", "Context: +1"),
    ]
    fences = [line for line in answer.text.splitlines() if line == "```"]
    assert len(fences) % 2 == 0
    assert [chunk.get("truncated", False) for chunk in answer.data["chunks"]] == [False, True, True]
    assert answer.data["truncated"] is True
    source = (repo.path / "long.md").read_text()
    for chunk in answer.data["chunks"]:
        assert chunk["text"] in source
        assert chunk["text"].endswith("\n")


def test_rest_of_long_chunk_starts_at_the_cut(call_tool: CallTool, repo: Repo) -> None:
    section = f"## One\n\n{BLOCK * 4_000}"
    read_commit = repo.commit({"long.md": f"# Long\n\n{section}"})
    answer = call_tool("get_doc", chunk_id="long.md#one")
    tool, arguments = parse_next_call(answer)
    assert (tool, arguments["ref"]) == ("get_doc", read_commit)
    repo.commit({"long.md": "# Long\n\n## One\n\nChanged meanwhile.\n"})
    rest_answer = call_tool(tool, **arguments)
    assert rest_answer.data["chunks"][0]["start"] == arguments["offset"]
    joined_text = answer.data["chunks"][0]["text"] + rest_answer.data["chunks"][0]["text"]
    assert section.startswith(joined_text)
    assert count_tokens(joined_text) > Limits().text_tokens


def test_chunk_read_in_parts_does_not_count_as_read(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\n## One\n\n{BLOCK * 4_000}"})
    answer = call_tool("get_doc", chunk_id="long.md#one")
    while answer.data.get("truncated"):
        tool, arguments = parse_next_call(answer)
        answer = call_tool(tool, **arguments)
    assert call_tool("remove_document", file="long.md", slug="one").data["code"] == "READ_FIRST"


def test_rest_that_is_just_over_the_budget_is_cut_in_large_parts(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\n## One\n\n{BLOCK * 4_000}"})
    # Its own count of tokens is lower than the upper bound that limits an answer.
    for offset in range(115_480, 115_500):
        answer = call_tool("get_doc", chunk_id="long.md#one", offset=offset)
        assert len(answer.data["chunks"][0]["text"]) > 10_000


def test_next_step_without_view_tools_names_offered_tools(repo: Repo) -> None:
    repo.commit({"long.md": f"# Long\n\n## One\n\n{BLOCK * 4_000}\n## Two\n\nText.\n"})
    workspace = Workspace.open(repo.path, read_only=True)
    call_tool = make_client(ToolDispatcher(workspace, SearchIndex(workspace), ("search",), True))
    for context in (0, 1):
        answer = call_tool("get_doc", chunk_id="long.md#one", context=context)
        tool, arguments = parse_next_call(answer)
        assert tool == "get_doc"
        assert not call_tool(tool, **arguments).is_error
