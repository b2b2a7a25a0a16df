"""Declared keys: what a host sees of them, how they filter, and what a wrong one is answered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask
from tests.tools.test_hostile_arguments import holds
from tests.tools.test_schema import lint
from tools.registry import Toolbox
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
def declared(repo: Repo) -> Repo:
    repo.commit(FILES)
    return repo


def properties(toolbox: Toolbox) -> dict[str, Any]:
    [search] = [tool for tool in toolbox.definitions() if tool["name"] == "search_docs"]
    schema = search["inputSchema"]
    lint(schema, "[A-Za-z0-9_.-]{1,64}")  # what every host takes; our own fields keep to less
    assert schema["required"] == ["query"]
    found: dict[str, Any] = schema["properties"]
    return found


def found(ask: Ask, **filters: object) -> list[str]:
    answer = ask("search_docs", query="quagga", **filters)
    assert not answer.is_error, answer.data
    return sorted(hit["filepath"] for hit in answer.data["hits"])


def test_each_key_is_an_enum_of_its_values(declared: Repo, toolbox: Toolbox, ask: Ask) -> None:
    before = properties(toolbox)
    assert before["language"] == {"type": "string", "description": "Filter results by programming language."}
    ask("search_docs", query="quagga")
    after = properties(toolbox)
    assert list(after)[:4] == ["query", "limit", "cursor", "ref"]
    assert after["language"]["enum"] == ["Go", "c", "java"]
    assert after["language"]["description"] == "Filter results by programming language."
    # Without a description of its own, and nothing that stands for any value.
    assert after["Sdk-version"] == {
        "type": "string",
        "description": "Filter results by Sdk-version.",
        "enum": ["1.1"],
    }
    assert after["type"]["enum"] == ["api_spec", "guide"]
    assert after["tags"]["enum"] == ["Old"]
    # What is not declared is none, and what has no value yet is a plain string.
    assert "level" not in after
    assert "enum" not in after["unused"]


def test_a_key_with_many_values_is_a_plain_string_with_a_hint(
    declared: Repo, toolbox: Toolbox, ask: Ask
) -> None:
    many = {f"n/{number}.md": f"---\nlanguage: l{number}\n---\n# N\n" for number in range(513)}
    declared.commit(many)
    assert len(found(ask)) == 3
    language = properties(toolbox)["language"]
    assert "enum" not in language
    assert language["description"].startswith("Filter results by programming language. Not all values are")
    assert found(ask, language="Go") == ["guides/new.md", "guides/old/a.md"]
    answer = ask("search_docs", query="quagga", language="l5122")
    assert answer.data["code"] == "UNKNOWN_FILTER_VALUE"
    assert "l512" in answer.data["nearest"]
    assert (len(answer.data["known"]), answer.data["known_total"]) == (50, 516)


def test_a_filter_keeps_what_has_the_value(declared: Repo, ask: Ask) -> None:
    assert found(ask) == ["guides/new.md", "guides/old/a.md", "guides/own.md"]
    assert found(ask, language="Go") == ["guides/new.md", "guides/old/a.md"]
    assert found(ask, language="java", type="guide") == ["guides/old/a.md"]
    assert found(ask, language=None, tags="Old") == ["guides/old/a.md"]
    assert found(ask, **{"Sdk-version": "1.1"}) == ["guides/old/a.md"]
    [hit] = ask("search_docs", query="quagga", language="java").data["hits"]
    assert hit["metadata"] == {
        "language": "java, Go",
        "Sdk-version": "1.1",
        "type": "guide",
        "tags": "Old",
    }


def test_documents_are_listed_by_the_values_that_searches_have(declared: Repo, ask: Ask) -> None:
    def listed(**filters: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ask("list_documents", **filters).data["documents"]
        return found

    guides = listed(type="guide")
    assert [entry["path"] for entry in guides] == ["guides/new.md", "guides/old/a.md", "guides/own.md"]
    assert {entry["type"] for entry in guides} == {"guide"}
    assert [(entry["path"], entry["tags"]) for entry in listed(tag="old")] == [("guides/old/a.md", ["Old"])]
    assert [entry["path"] for entry in listed(type="api_spec")] == ["api.md"]


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
def test_a_wrong_filter_is_explained(
    declared: Repo, ask: Ask, fields: dict[str, object], code: str, field: str | None
) -> None:
    answer = ask("search_docs", query="quagga", **fields)
    assert answer.is_error
    holds(answer, TOOL)
    assert (answer.data["code"], answer.data.get("field")) == (code, field)
    if code == "UNKNOWN_FILTER_VALUE":
        assert answer.data["known"] == ([] if "unused" in fields else ["Go", "c", "java"])
        assert len(answer.data["error"]) < 150
    elif field not in ("language",):
        assert set(answer.data["known"]) >= {"query", "type", "tags", "language", "Sdk-version", "unused"}


def test_a_misspelt_key_names_the_nearest(declared: Repo, ask: Ask) -> None:
    assert ask("search_docs", query="quagga", langauge="Go").data["nearest"] == ["language"]


def test_what_the_tip_no_longer_declares_is_unknown(declared: Repo, toolbox: Toolbox, ask: Ask) -> None:
    assert found(ask, language="c") == ["guides/own.md"]
    declared.commit({"docyard.toml": "[taxonomy.Sdk-version]\n"})
    assert ask("search_docs", query="quagga", language="c").data["code"] == "INVALID_ARGUMENTS"
    assert found(ask, **{"Sdk-version": "1.1"}) == ["guides/old/a.md"]
    assert "language" not in properties(toolbox)


def test_settings_that_broke_hide_no_tools(declared: Repo, toolbox: Toolbox, ask: Ask) -> None:
    declared.commit({"docyard.toml": "[taxonomy.limit]\n"})
    assert list(properties(toolbox)) == ["query", "limit", "cursor", "ref", "path", "type", "tags"]
    answer = ask("search_docs", query="quagga", language="c")
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_CONFIG", "taxonomy.limit")


@pytest.mark.parametrize("key", ["text", "key", "title", "facet_text", "properties", "next_cursor"])
def test_a_key_may_be_called_like_a_part_of_the_index(repo: Repo, ask: Ask, key: str) -> None:
    repo.commit(
        {"docyard.toml": f"[taxonomy.{key}]\n", "a.md": f"---\n{key}: lemur\n---\n# A\n\nA quagga.\n"}
    )
    assert found(ask, **{key: "lemur"}) == ["a.md"]
    assert ask("search_docs", query="lemur").data["hits"] == []
    assert ask("search_docs", query="quagga", **{key: "quagga"}).data["code"] == "UNKNOWN_FILTER_VALUE"
