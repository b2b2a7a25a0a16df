"""Long chunks through a client, in both protocol versions: limits in tokens, and parts by offset."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import ProtocolMode, Server, ToolResponse, serve_repository
from tests.repositories import create_repository
from workspace.texts.tokens import count_tokens

BLOCK = "```\n" + "code\n" * 6 + "```\n\n"
LONG_SECTION = f"## One\n\n{BLOCK * 4_000}"
FILES = {
    "long.md": f"# Long\n\n{LONG_SECTION}\n## Two\n\nText.\n",
    "chinese.md": f"# 文\n\n## 长\n\n{'文档工作区的长段落。' * 4_000}\n",
}


def read_next_call(response: ToolResponse) -> tuple[str, dict[str, Any]]:
    """Return the call that the next step of a response names."""
    match = re.search(r"(\w+) (\{.*\})", response.data["next_step"])
    assert match, response.data["next_step"]
    return match[1], json.loads(match[2])


def read_to_end(server: Server, chunk_id: str) -> tuple[str, list[ToolResponse]]:
    """Return the text of a chunk and the responses; each call after the first is suggested by a response."""
    responses = [server.call("get_doc", chunk_id=chunk_id)]
    while responses[-1].data.get("truncated"):
        tool, arguments = read_next_call(responses[-1])
        assert (tool, arguments["chunk_id"]) == ("get_doc", chunk_id)
        assert arguments["offset"] == responses[-1].data["offset"]
        responses.append(server.call(tool, **arguments))
    return "".join(response.data["chunks"][0]["text"] for response in responses), responses


def test_chunk_over_limit_is_readable_with_search_tools_only(server: Server) -> None:
    text, responses = read_to_end(server, "long.md#one")
    assert text == f"{LONG_SECTION}\n"
    assert len(responses) > 2
    for response in responses:
        assert count_tokens(response.text) <= 25_000
        assert response.text.startswith("--- Chunk: long.md#one (Chunk 2 of 3) (Target) ---\n")
        assert response.text.count("(Target)") == 1
        assert len([line for line in response.text.splitlines() if line == "```"]) % 2 == 0
    assert "next_step" not in responses[-1].data


def test_limit_counts_tokens(server: Server) -> None:
    text, responses = read_to_end(server, "chinese.md#长")
    assert text == FILES["chinese.md"][len("# 文\n\n") :]
    assert all(count_tokens(response.text) <= 25_000 for response in responses)


def test_offset_after_end_or_with_context_is_refused(server: Server) -> None:
    response = server.call("get_doc", chunk_id="long.md#two", offset=10_000)
    assert (response.is_error, response.data["code"]) == (True, "INVALID_ARGUMENTS")
    assert "after the end" in response.text
    context_response = server.call("get_doc", chunk_id="long.md#one", offset=10, context=1)
    assert (context_response.is_error, context_response.data["field"]) == (True, "context")


def test_truncated_neighbours_are_readable_separately(server: Server) -> None:
    response = server.call("get_doc", chunk_id="long.md#two", context=2)
    assert count_tokens(response.text) <= 25_000
    assert [chunk.get("truncated", False) for chunk in response.data["chunks"]] == [False, True, False]
    tool, arguments = read_next_call(response)
    assert (tool, arguments["chunk_id"]) == ("get_doc", "long.md#one")
    next_response = server.call(tool, **arguments)
    truncated_text = response.data["chunks"][1]["text"]
    assert LONG_SECTION.startswith(truncated_text + next_response.data["chunks"][0]["text"])


@pytest.mark.parametrize("source", ["option", "settings"])
def test_operator_sets_limit_of_texts_in_tokens(
    tmp_path: Path, home: Path, protocol: ProtocolMode, source: str
) -> None:
    settings = {"docyard.toml": "[limits]\ntext_tokens = 300\n"} if source == "settings" else {}
    repo = create_repository(tmp_path / "docs", {**FILES, **settings})
    options = ("--text-tokens", "300") if source == "option" else ()
    with serve_repository(
        repo.path, home, "--toolsets", "search,documents,reading", *options, protocol=protocol
    ) as server:
        chunk = server.call("get_doc", chunk_id="long.md#one")
        assert chunk.data["truncated"] is True
        assert 100 < count_tokens(chunk.text) <= 300
        for tool, arguments in (
            ("view_document", {"file": "long.md", "slug": "one"}),
            ("read_section", {"file_path": "long.md", "section_heading": "one"}),
            ("smart_read", {"file_path": "long.md", "mode": "full"}),
        ):
            data = server.call(tool, **arguments).data
            assert data["truncated"] is True
            assert 70 < count_tokens(data["content"]) <= 300
        response = server.call(
            "edit_document", operation="update_content", file="chinese.md", slug="长", content="New."
        )
        assert response.data["truncated"] is True
        assert count_tokens(response.data["current"]) <= 301
