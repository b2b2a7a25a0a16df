"""Declared taxonomy keys through a client: the schema of `search_docs`, and errors for invalid values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serve_repository
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

LONG_VALUE = "x" * 200
FILES = {
    "docyard.toml": '[taxonomy.language]\ndescription = "By language."\n[taxonomy.topic]\n',
    "guides/.taxonomy.toml": "[metadata]\nlanguage = 'Go'\n",
    "guides/a.md": "# A\n\nA walrus.\n",
    "b.md": f"---\nlanguage: [c, '{LONG_VALUE}']\n---\n# B\n\nA walrus.\n",
    "topics.md": "# Topics\n",
    **{f"topics/{number}.md": f"---\ntopic: t{number}\n---\n# T\n" for number in range(513)},
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("docs") / "repo", FILES)


@pytest.fixture(scope="module")
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serve_repository(repo.path, home, "--read-only") as server:
        assert not server.call("search_docs", query="walrus").is_error
        yield server


def test_schema_lists_values_of_declared_keys(server: Server) -> None:
    schema = server.list_tools()["search_docs"]["inputSchema"]
    assert schema["required"] == ["query"]
    assert schema["properties"]["language"] == {
        "type": "string",
        "description": "By language.",
        "enum": ["Go", "c"],
    }
    topic = schema["properties"]["topic"]
    assert "enum" not in topic
    assert topic["description"].startswith("Filter results by topic. Not all values are listed")


def test_filter_accepts_listed_and_long_values(server: Server) -> None:
    for value, path in (("Go", "guides/a.md"), ("c", "b.md"), (LONG_VALUE, "b.md")):
        search = server.call("search_docs", query="walrus", language=value)
        assert [hit["filepath"] for hit in search.data["hits"]] == [path]
    hint = server.call("search_docs", query="walrus", topic="t7").data["hint"]
    assert "topic 't7'" in hint["message"]


@loop_over(
    ("fields", "code", "expected_name"),
    [
        ({"lang": "Go"}, "INVALID_ARGUMENTS", "language"),
        ({"colour": "red"}, "INVALID_ARGUMENTS", "topic"),
        ({"language": "go"}, "UNKNOWN_FILTER_VALUE", "Go"),
        ({"language": "y" * 200}, "UNKNOWN_FILTER_VALUE", "Go"),
        ({"topic": "t5122"}, "UNKNOWN_FILTER_VALUE", "t512"),
    ],
)
def test_error_for_invalid_filter_lists_valid_values(
    server: Server, fields: dict[str, str], code: str, expected_name: str
) -> None:
    response = server.call("search_docs", query="walrus", **fields)
    assert response.is_error
    assert response.data["code"] == code
    assert expected_name in (*response.data["nearest"], *response.data["known"])
    assert len(response.data["error"]) < 200
