"""The list of tools says what is indexed, and is one object as long as it says the same."""

from __future__ import annotations

from typing import Any

import pytest

from index.service import SearchIndex
from index.storage.metadata import MAX_KEYS, MAX_VALUES, Facet, Metadata
from tests.repositories import Repo
from tests.tools.conftest import Ask
from tools.registry import Toolbox
from workspace.workspace import Workspace


def _open(repo: Repo, toolsets: tuple[str, ...] | None = None) -> Toolbox:
    workspace = Workspace.open(repo.path, durable=False)
    return Toolbox(workspace, SearchIndex(workspace), toolsets, False)


def _search(toolbox: Toolbox) -> dict[str, Any]:
    [search] = [tool for tool in toolbox.definitions() if tool["name"] == "search_docs"]
    return search


def _description(corpus: str) -> str:
    return f"Search the {corpus}. Use this to find relevant documentation, guides, or API references."


@pytest.mark.parametrize(
    ("settings", "corpus"),
    [
        ("", "documentation of docs"),
        ('[corpus]\ndescription = "Handbook"\n', "Handbook"),
        ('[corpus]\ndescription = "two\\nlines\\u202E"\n', "two lines"),
    ],
)
def test_the_description_is_that_of_the_corpus_before_and_after_the_first_index(
    repo: Repo, settings: str, corpus: str
) -> None:
    repo.commit({"docyard.toml": settings})
    toolbox = _open(repo)
    assert _search(toolbox)["description"] == _description(corpus)
    toolbox.call("search_docs", {"query": "things"}, client="tester")
    assert _search(toolbox)["description"] == _description(corpus)


def test_settings_that_are_wrong_still_let_the_tools_be_listed(repo: Repo) -> None:
    repo.commit({"docyard.toml": "nonsense ="})
    assert _search(_open(repo))["description"] == _description("documentation of docs")


def test_it_is_one_object_as_long_as_it_says_the_same(toolbox: Toolbox, ask: Ask, repo: Repo) -> None:
    ask("search_docs", query="things")
    told = toolbox.definitions()
    assert toolbox.definitions() is told
    repo.commit({"new.md": "# New\n\nWords.\n"})
    ask("search_docs", query="words")
    assert toolbox.definitions() is told
    ask("tag_document", file="api.md", tags=["fresh"])
    ask("search_docs", query="words")
    assert toolbox.definitions() != told


def test_values_are_awaited_where_keys_are_declared_and_none_is_known(repo: Repo) -> None:
    assert not _open(repo).awaits_taxonomy()
    repo.commit({"docyard.toml": '[taxonomy.product]\ndescription = "The product."\n'})
    toolbox = _open(repo)
    assert toolbox.awaits_taxonomy()
    assert not _open(repo, ("documents", "tasks")).awaits_taxonomy()
    toolbox.call("search_docs", {"query": "things"}, client="tester")
    assert not toolbox.awaits_taxonomy()
    assert not _open(repo).awaits_taxonomy()
    repo.commit({"docyard.toml": "nonsense ="})
    assert not _open(repo).awaits_taxonomy()


class _Told(SearchIndex):
    """An index of which a given `metadata.json` tells."""

    def __init__(self, workspace: Workspace, told: Metadata) -> None:
        super().__init__(workspace)
        self._told = told

    def metadata(self) -> Metadata:
        return self._told


def test_as_many_keys_and_values_as_the_contract_allows_are_listed_whole(repo: Repo) -> None:
    values = tuple(f"{i:0128}" for i in range(MAX_VALUES))
    told = Metadata.model_validate(
        {
            "metadata_version": "1.1.0",
            "corpus_description": "Docs",
            "taxonomy": {f"key{i}": Facet(values=values) for i in range(MAX_KEYS)},
            "stats": {"total_chunks": 1, "total_files": 1, "indexed_at": "2026-02-21T14:32:00Z"},
        }
    )
    workspace = Workspace.open(repo.path)
    toolbox = Toolbox(workspace, _Told(workspace, told), None, False)
    properties = _search(toolbox)["inputSchema"]["properties"]
    for i in range(MAX_KEYS):
        assert properties[f"key{i}"] == {
            "type": "string",
            "description": f"Filter results by key{i}.",
            "enum": list(values),
        }


def test_what_comes_from_elsewhere_and_cannot_be_seen_never_enters_a_schema(repo: Repo) -> None:
    told = Metadata.model_validate(
        {
            "metadata_version": "1.1.0",
            "corpus_description": "Docs\u202e\nIgnore this",
            "taxonomy": {
                "scope": Facet(description="A\x1b[2J\u2066b", values=("ok", "a\u202eb", "c\x00")),
                # What no host takes as the name of a property.
                **{key: Facet(values=("x",)) for key in ("two words", "a\u202eb", "a\nb", "5", "é")},
            },
            "stats": {"total_chunks": 1, "total_files": 1, "indexed_at": "2026-02-21T14:32:00Z"},
        }
    )
    workspace = Workspace.open(repo.path)
    search = _search(Toolbox(workspace, _Told(workspace, told), None, False))
    assert search["description"] == _description("Docs Ignore this")
    assert search["inputSchema"]["properties"]["scope"] == {
        "type": "string",
        "description": "A [2J b",
        "enum": ["ok"],
    }
    assert list(search["inputSchema"]["properties"])[5:] == ["type", "tags", "scope"]
