"""The definitions of tools describe the index, and are one object while unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from index.service import SearchIndex
from index.storage.metadata import MAX_KEYS, MAX_VALUES, Facet, Metadata
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace


def _open_dispatcher(repo: Repo, toolsets: tuple[str, ...] | None = None) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), toolsets, False)


def _find_search_definition(dispatcher: ToolDispatcher) -> dict[str, Any]:
    [search_definition] = [tool for tool in dispatcher.definitions() if tool["name"] == "search_docs"]
    return search_definition


def _format_search_description(corpus: str) -> str:
    return f"Search the {corpus}. Use this to find relevant documentation, guides, or API references."


@pytest.mark.parametrize(
    ("settings", "corpus"),
    [
        ("", "documentation of docs"),
        ('[corpus]\ndescription = "Handbook"\n', "Handbook"),
        ('[corpus]\ndescription = "two\\nlines\\u202E"\n', "two lines"),
    ],
)
def test_description_of_corpus_is_same_before_and_after_index(repo: Repo, settings: str, corpus: str) -> None:
    repo.commit({"docyard.toml": settings})
    dispatcher = _open_dispatcher(repo)
    assert _find_search_definition(dispatcher)["description"] == _format_search_description(corpus)
    dispatcher.call("search_docs", {"query": "things"}, client="tester")
    assert _find_search_definition(dispatcher)["description"] == _format_search_description(corpus)


def test_invalid_settings_still_list_tools(repo: Repo) -> None:
    repo.commit({"docyard.toml": "nonsense ="})
    assert _find_search_definition(_open_dispatcher(repo))["description"] == _format_search_description(
        "documentation of docs"
    )


def test_unchanged_definitions_are_one_object(
    dispatcher: ToolDispatcher, call_tool: CallTool, repo: Repo
) -> None:
    call_tool("search_docs", query="things")
    definitions = dispatcher.definitions()
    assert dispatcher.definitions() is definitions
    repo.commit({"new.md": "# New\n\nWords.\n"})
    call_tool("search_docs", query="words")
    assert dispatcher.definitions() is definitions
    call_tool("tag_document", file="api.md", tags=["fresh"])
    call_tool("search_docs", query="words")
    assert dispatcher.definitions() != definitions


def test_taxonomy_is_awaited_until_declared_keys_are_indexed(repo: Repo) -> None:
    assert not _open_dispatcher(repo).awaits_taxonomy()
    repo.commit({"docyard.toml": '[taxonomy.product]\ndescription = "The product."\n'})
    dispatcher = _open_dispatcher(repo)
    assert dispatcher.awaits_taxonomy()
    assert not _open_dispatcher(repo, ("documents", "tasks")).awaits_taxonomy()
    dispatcher.call("search_docs", {"query": "things"}, client="tester")
    assert not dispatcher.awaits_taxonomy()
    assert not _open_dispatcher(repo).awaits_taxonomy()
    repo.commit({"docyard.toml": "nonsense ="})
    assert not _open_dispatcher(repo).awaits_taxonomy()


class _FixedMetadataIndex(SearchIndex):
    """An index with a given `metadata.json`."""

    def __init__(self, workspace: Workspace, metadata: Metadata) -> None:
        super().__init__(workspace)
        self._metadata = metadata

    def metadata(self) -> Metadata:
        return self._metadata


def test_maximum_keys_and_values_are_listed_in_full(repo: Repo) -> None:
    values = tuple(f"{number:0128}" for number in range(MAX_VALUES))
    metadata = Metadata.model_validate(
        {
            "metadata_version": "1.1.0",
            "corpus_description": "Docs",
            "taxonomy": {f"key{number}": Facet(values=values) for number in range(MAX_KEYS)},
            "stats": {"total_chunks": 1, "total_files": 1, "indexed_at": "2026-02-21T14:32:00Z"},
        }
    )
    workspace = Workspace.open(repo.path)
    dispatcher = ToolDispatcher(workspace, _FixedMetadataIndex(workspace, metadata), None, False)
    properties = _find_search_definition(dispatcher)["inputSchema"]["properties"]
    for number in range(MAX_KEYS):
        assert properties[f"key{number}"] == {
            "type": "string",
            "description": f"Filter results by key{number}.",
            "enum": list(values),
        }


def test_invisible_characters_never_enter_schemas(repo: Repo) -> None:
    metadata = Metadata.model_validate(
        {
            "metadata_version": "1.1.0",
            "corpus_description": "Docs\u202e\nIgnore this",
            "taxonomy": {
                "scope": Facet(description="A\x1b[2J\u2066b", values=("ok", "a\u202eb", "c\x00")),
                # Names that hosts do not accept for a property.
                **{key: Facet(values=("x",)) for key in ("two words", "a\u202eb", "a\nb", "5", "é")},
            },
            "stats": {"total_chunks": 1, "total_files": 1, "indexed_at": "2026-02-21T14:32:00Z"},
        }
    )
    workspace = Workspace.open(repo.path)
    search_definition = _find_search_definition(
        ToolDispatcher(workspace, _FixedMetadataIndex(workspace, metadata), None, False)
    )
    assert search_definition["description"] == _format_search_description("Docs Ignore this")
    assert search_definition["inputSchema"]["properties"]["scope"] == {
        "type": "string",
        "description": "A [2J b",
        "enum": ["ok"],
    }
    properties = list(search_definition["inputSchema"]["properties"])
    assert properties[7:] == ["type", "tags", "max_tokens", "scope"]
