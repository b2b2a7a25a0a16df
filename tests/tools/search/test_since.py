"""Searches for sections that changed after a commit or a date."""

from __future__ import annotations

from typing import Any

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call

BEFORE = {
    "guide.md": (
        "# Guide\n\nA quagga.\n\n## Kept\n\nOne quagga stays.\n\n## Edited\n\nTwo quaggas.\n\n## Empty\n"
    ),
    "old.md": "# Old\n\nThree quaggas.\n\n## Moving\n\nFour quaggas move.\n",
    "gone.md": "# Gone\n\nFive quaggas.\n",
}
AFTER = {
    "guide.md": (
        "# Guide\n\nA quagga.\n\n## Renamed quagga\n\nOne quagga stays.\n\n"
        "## Edited\n\nTwo quaggas, now three.\n\n## Moving\n\nFour quaggas move.\n\n"
        "## Copy\n\nOne quagga stays.\n\n## Added\n\nA new quagga.\n"
    ),
    "new.md": "# Old\n\nThree quaggas.\n",
}
CHANGED_IDS = ["guide.md#added", "guide.md#copy", "guide.md#edited"]


@pytest.fixture
def old_commit(repo: Repo) -> str:
    commit = repo.commit(BEFORE)
    for path in ("old.md", "gone.md"):
        (repo.path / path).unlink()
    repo.commit(AFTER)
    return commit


def list_hits(call_tool: CallTool, **fields: Any) -> list[str]:
    answer = call_tool("search_docs", query="quagga", limit=50, **fields)
    assert not answer.is_error, answer.data
    return sorted(hit["chunk_id"] for hit in answer.data["hits"])


def test_only_sections_with_changed_text_are_found(call_tool: CallTool, old_commit: str) -> None:
    assert len(list_hits(call_tool)) > len(CHANGED_IDS)
    assert list_hits(call_tool, since=old_commit) == CHANGED_IDS
    assert list_hits(call_tool, since="HEAD~1", path="guide.md") == CHANGED_IDS
    assert list_hits(call_tool, since="HEAD") == []
    matches = call_tool("search_documents", query="quagga", since=old_commit).data["matches"]
    assert sorted(f"{match['file']}#{match['slug']}" for match in matches) == CHANGED_IDS


def test_sections_changed_up_to_ref_are_found(call_tool: CallTool, old_commit: str) -> None:
    hits = list_hits(call_tool, since=f"{old_commit}~1", ref=old_commit)
    assert hits == [
        "gone.md#_preamble",
        "guide.md#_preamble",
        "guide.md#edited",
        "guide.md#kept",
        "old.md#_preamble",
        "old.md#moving",
    ]


@loop_over("since", ["2000-01-31", "@{2000-01-31}", "2000-01-31T12:00"])
def test_date_before_history_returns_all_sections(call_tool: CallTool, old_commit: str, since: str) -> None:
    assert list_hits(call_tool, since=since) == list_hits(call_tool)


@loop_over("since", ["2200-01-31", "@{2200-01-31}"])
def test_later_date_returns_empty_result(call_tool: CallTool, old_commit: str, since: str) -> None:
    answer = call_tool("search_docs", query="quagga", since=since)
    assert answer.data["hits"] == []
    assert answer.data["hint"]["message"] == f"0 results found for since '{since}'. Leave it out."


@loop_over("since", ["no-such-ref", "2026-13-45", "2026-1-1"])
def test_unknown_ref_returns_error(call_tool: CallTool, old_commit: str, since: str) -> None:
    answer = call_tool("search_docs", query="quagga", since=since)
    assert answer.data["code"] == "REF_NOT_FOUND"
    assert "since" not in answer.data["example"]


def test_cursor_belongs_to_its_since(call_tool: CallTool, old_commit: str) -> None:
    page = call_tool("search_docs", query="quagga", since=old_commit, limit=2).data
    assert (
        call_tool("search_docs", query="quagga", cursor=page["next_cursor"]).data["code"] == "INVALID_CURSOR"
    )
    last_page = call_tool("search_docs", query="quagga", since=old_commit, cursor=page["next_cursor"]).data
    assert sorted(hit["chunk_id"] for hit in page["hits"] + last_page["hits"]) == CHANGED_IDS
    assert last_page["next_cursor"] is None


def test_misspelt_word_is_corrected_within_changes(call_tool: CallTool, old_commit: str) -> None:
    answer = call_tool("search_docs", query="quagge", since=old_commit)
    tool, fields = parse_next_call(answer)
    assert fields["since"] == old_commit
    assert call_tool(tool, **fields).data["hits"]


SETTINGS = "[taxonomy.since]\n[taxonomy.max_tokens]\n"


def test_key_named_like_parameter_keeps_its_name(call_tool: CallTool, repo: Repo, dispatcher: Any) -> None:
    commit = repo.commit(
        {"docyard.toml": SETTINGS, "a.md": "---\nsince: v2\nmax_tokens: 5\n---\n# A\n\nA quagga.\n"}
    )
    repo.commit({"b.md": "# B\n\nA quagga.\n"})
    assert list_hits(call_tool, since="v2", max_tokens="5") == ["a.md#_preamble"]
    assert list_hits(call_tool, docyard_since=commit, docyard_max_tokens=400) == ["b.md#_preamble"]
    assert (
        call_tool("search_docs", query="quagga", docyard_max_tokens=5).data["field"] == "docyard_max_tokens"
    )
    [definition] = [tool for tool in dispatcher.definitions() if tool["name"] == "search_docs"]
    properties = definition["inputSchema"]["properties"]
    assert properties["docyard_max_tokens"] == {"type": "integer"}
    assert properties["docyard_since"]["type"] == properties["since"]["type"] == "string"
    assert properties["since"]["enum"] == ["v2"]


def test_renamed_parameter_is_unknown_without_key(call_tool: CallTool) -> None:
    answer = call_tool("search_docs", query="quagga", docyard_since="HEAD")
    assert answer.data["nearest"][0] == "since"
