"""Declared taxonomy keys: their schemas, their filters and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.test_hostile_arguments import check_answer
from tests.tools.test_schema import check_schema
from tools.dispatcher import ToolDispatcher
from tools.search.search_docs import TOOL

SETTINGS = """\
[taxonomy.language]
description = "Filter results by programming language."

[taxonomy.Sdk-version]

[taxonomy.unused]
"""
FILES = {
    "docyard.toml": SETTINGS,
    "guides/.taxonomy.toml": (
        "[metadata]\nlanguage = 'Go'\ntype = 'guide'\n"
        "[[override]]\nmatch = 'old'\nmetadata = { language = ['java', 'Go'], tags = 'Old' }\n"
    ),
    "guides/new.md": "# New\n\nA quagga.\n",
    "guides/old/a.md": "---\nSdk-version: 1.10\nlevel: hard\n---\n# Old\n\nA quagga.\n",
    "guides/own.md": "---\nlanguage: c\n---\n# Own\n\nA quagga.\n",
}


@pytest.fixture
def repo_with_taxonomy(repo: Repo) -> Repo:
    repo.commit(FILES)
    return repo


def read_search_properties(dispatcher: ToolDispatcher) -> dict[str, Any]:
    [search_definition] = [tool for tool in dispatcher.definitions() if tool["name"] == "search_docs"]
    schema = search_definition["inputSchema"]
    # Keys of a taxonomy may have more characters than the names of fields, and every host accepts them.
    check_schema(schema, "[A-Za-z0-9_.-]{1,64}")
    assert schema["required"] == ["query"]
    schema_properties: dict[str, Any] = schema["properties"]
    return schema_properties


def search_paths(call_tool: CallTool, **filters: object) -> list[str]:
    answer = call_tool("search_docs", query="quagga", **filters)
    assert not answer.is_error, answer.data
    return sorted(hit["filepath"] for hit in answer.data["hits"])


def test_key_schema_is_an_enum_of_its_values(
    repo_with_taxonomy: Repo, dispatcher: ToolDispatcher, call_tool: CallTool
) -> None:
    properties_before = read_search_properties(dispatcher)
    assert properties_before["language"] == {
        "type": "string",
        "description": "Filter results by programming language.",
    }
    call_tool("search_docs", query="quagga")
    properties_after = read_search_properties(dispatcher)
    assert list(properties_after)[:4] == ["query", "limit", "cursor", "ref"]
    assert properties_after["language"]["enum"] == ["Go", "c", "java"]
    assert properties_after["language"]["description"] == "Filter results by programming language."
    # A key without a description gets a default one, and its enum has no entry that means "any value".
    assert properties_after["Sdk-version"] == {
        "type": "string",
        "description": "Filter results by Sdk-version.",
        "enum": ["1.1"],
    }
    assert properties_after["type"]["enum"] == ["api_spec", "guide"]
    assert properties_after["tags"]["enum"] == ["Old"]
    # An undeclared key is not a field, and a key without values is a plain string.
    assert "level" not in properties_after
    assert "enum" not in properties_after["unused"]


def test_key_with_many_values_is_plain_string_with_hint(
    repo_with_taxonomy: Repo, dispatcher: ToolDispatcher, call_tool: CallTool
) -> None:
    files = {f"n/{number}.md": f"---\nlanguage: l{number}\n---\n# N\n" for number in range(513)}
    repo_with_taxonomy.commit(files)
    assert len(search_paths(call_tool)) == 3
    language = read_search_properties(dispatcher)["language"]
    assert "enum" not in language
    assert language["description"].startswith("Filter results by programming language. Not all values are")
    assert search_paths(call_tool, language="Go") == ["guides/new.md", "guides/old/a.md"]
    answer = call_tool("search_docs", query="quagga", language="l5122")
    assert answer.data["code"] == "UNKNOWN_FILTER_VALUE"
    assert "l512" in answer.data["nearest"]
    assert (len(answer.data["known"]), answer.data["known_total"]) == (50, 516)


def test_filter_returns_documents_with_value(repo_with_taxonomy: Repo, call_tool: CallTool) -> None:
    assert search_paths(call_tool) == ["guides/new.md", "guides/old/a.md", "guides/own.md"]
    assert search_paths(call_tool, language="Go") == ["guides/new.md", "guides/old/a.md"]
    assert search_paths(call_tool, language="java", type="guide") == ["guides/old/a.md"]
    assert search_paths(call_tool, language=None, tags="Old") == ["guides/old/a.md"]
    assert search_paths(call_tool, **{"Sdk-version": "1.1"}) == ["guides/old/a.md"]
    [hit] = call_tool("search_docs", query="quagga", language="java").data["hits"]
    assert hit["metadata"] == {
        "language": "java, Go",
        "Sdk-version": "1.1",
        "type": "guide",
        "tags": "Old",
    }


def test_list_filters_agree_with_search_filters(repo_with_taxonomy: Repo, call_tool: CallTool) -> None:
    def list_documents(**filters: object) -> list[dict[str, Any]]:
        documents: list[dict[str, Any]] = call_tool("list_documents", **filters).data["documents"]
        return documents

    guides = list_documents(type="guide")
    assert [entry["path"] for entry in guides] == ["guides/new.md", "guides/old/a.md", "guides/own.md"]
    assert {entry["type"] for entry in guides} == {"guide"}
    assert [(entry["path"], entry["tags"]) for entry in list_documents(tag="old")] == [
        ("guides/old/a.md", ["Old"])
    ]
    assert [entry["path"] for entry in list_documents(type="api_spec")] == ["api.md"]


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"language": "rust"}, "UNKNOWN_FILTER_VALUE", None),
        ({"language": "go"}, "UNKNOWN_FILTER_VALUE", None),
        ({"language": "x" * 200}, "UNKNOWN_FILTER_VALUE", None),
        ({"unused": "x"}, "UNKNOWN_FILTER_VALUE", None),
        ({"language": 5}, "INVALID_ARGUMENTS", "language"),
        ({"language": ["Go"]}, "INVALID_ARGUMENTS", "language"),
        ({"langauge": "Go"}, "INVALID_ARGUMENTS", "langauge"),
        ({"level": "hard"}, "INVALID_ARGUMENTS", "level"),
    ],
)
def test_invalid_filter_returns_error_with_fix(
    repo_with_taxonomy: Repo, call_tool: CallTool, fields: dict[str, object], code: str, field: str | None
) -> None:
    answer = call_tool("search_docs", query="quagga", **fields)
    assert answer.is_error
    check_answer(answer, TOOL)
    assert (answer.data["code"], answer.data.get("field")) == (code, field)
    if code == "UNKNOWN_FILTER_VALUE":
        assert answer.data["known"] == ([] if "unused" in fields else ["Go", "c", "java"])
        assert len(answer.data["error"]) < 150
    elif field != "language":
        assert set(answer.data["known"]) >= {"query", "type", "tags", "language", "Sdk-version", "unused"}


def test_misspelt_key_returns_nearest_key(repo_with_taxonomy: Repo, call_tool: CallTool) -> None:
    assert call_tool("search_docs", query="quagga", langauge="Go").data["nearest"] == ["language"]


def test_key_removed_from_settings_is_refused_as_filter(
    repo_with_taxonomy: Repo, dispatcher: ToolDispatcher, call_tool: CallTool
) -> None:
    assert search_paths(call_tool, language="c") == ["guides/own.md"]
    repo_with_taxonomy.commit({"docyard.toml": "[taxonomy.Sdk-version]\n"})
    assert call_tool("search_docs", query="quagga", language="c").data["code"] == "INVALID_ARGUMENTS"
    assert search_paths(call_tool, **{"Sdk-version": "1.1"}) == ["guides/old/a.md"]
    assert "language" not in read_search_properties(dispatcher)


def test_invalid_settings_leave_default_search_fields(
    repo_with_taxonomy: Repo, dispatcher: ToolDispatcher, call_tool: CallTool
) -> None:
    repo_with_taxonomy.commit({"docyard.toml": "[taxonomy.limit]\n"})
    assert list(read_search_properties(dispatcher)) == [
        "query",
        "limit",
        "cursor",
        "ref",
        "path",
        "since",
        "min_commit",
        "type",
        "tags",
        "max_tokens",
    ]
    answer = call_tool("search_docs", query="quagga", language="c")
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_CONFIG", "taxonomy.limit")


@pytest.mark.parametrize("key", ["text", "key", "title", "facet_text", "properties", "next_cursor"])
def test_key_may_have_name_of_index_field(repo: Repo, call_tool: CallTool, key: str) -> None:
    repo.commit(
        {"docyard.toml": f"[taxonomy.{key}]\n", "a.md": f"---\n{key}: lemur\n---\n# A\n\nA quagga.\n"}
    )
    assert search_paths(call_tool, **{key: "lemur"}) == ["a.md"]
    assert call_tool("search_docs", query="lemur").data["hits"] == []
    assert call_tool("search_docs", query="quagga", **{key: "quagga"}).data["code"] == "UNKNOWN_FILTER_VALUE"
