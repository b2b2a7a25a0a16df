"""Near names of arguments are read as the fields that they mean; ambiguous names stay errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.published_fields import FIELDS_BY_VERSION
from tools.compatibility import near_names
from tools.compatibility.near_names import resolve_near_names
from tools.compatibility.schema_versions import RENAMED_ARGUMENTS, SCHEMA_VERSION
from tools.toolsets import SOURCES_TOOLSET, all_tools, load_toolset

TOOLS = {tool.name: tool for tool in all_tools()}


@pytest.mark.parametrize(
    ("tool", "fields", "hint"),
    [
        ("search_docs", {"q": "things"}, "'q' was read as 'query'"),
        ("search_docs", {"query": "things", "top_k": 3}, "'top_k' was read as 'limit'"),
        ("search_docs", {"text": "things", "k": "3"}, "'text' was read as 'query'"),
        ("search_documents", {"operations": [{"q": "things"}]}, "'q' was read as 'query'"),
        ("view_document", {"path": "api.md"}, "'path' was read as 'file'"),
        ("view_document", {"file": "api.md", "section": "endpoints"}, "'section' was read as 'slug'"),
        ("view_document", {"operations": [{"document": "api.md"}]}, "'document' was read as 'file'"),
        ("list_documents", {"folder": "notes"}, "'folder' was read as 'path'"),
        ("get_doc", {"id": "api.md#endpoints"}, "'id' was read as 'chunk_id'"),
        ("complete_task", {"file": "api.md", "task": "tasks[1]"}, "'task' was read as 'slug'"),
        ("create_document", {"type": "api_spec"}, "'type' was read as 'doc_type'"),
        ("reopen_task", {"file": "api.md", "section": "tasks[0]"}, "'section' was read as 'slug'"),
    ],
)
def test_near_name_is_read_as_field(
    call_tool: CallTool, tool: str, fields: dict[str, object], hint: str
) -> None:
    answer = call_tool(tool, **fields)
    assert not answer.is_error, answer.data
    assert answer.data["hints"][0] == hint


@pytest.mark.parametrize(
    ("tool", "fields", "unknown_field"),
    [
        # The call has the field already, or two names of it.
        ("search_docs", {"query": "things", "q": "others"}, "q"),
        ("search_docs", {"q": "things", "text": "others"}, "q"),
        # The name may mean several fields of the tool.
        ("remove_document", {"document": "api.md"}, "document"),
        ("view_proposal", {"id": "k7m2q9xa"}, "id"),
        # A text or a commit of a writing tool is not guessed.
        ("edit_document", {"file": "api.md", "slug": "tasks", "body": "New."}, "body"),
        ("edit_document", {"file": "api.md", "slug": "tasks", "text": "New."}, "text"),
        ("restore_document", {"file": "api.md", "commit": "HEAD~1"}, "commit"),
        ("restore_document", {"file": "api.md", "version": "HEAD~1"}, "version"),
        ("search_docs", {"query": "things", "lang": "en"}, "lang"),
    ],
)
def test_name_without_one_certain_meaning_is_not_replaced(
    tool: str, fields: dict[str, object], unknown_field: str
) -> None:
    resolved = resolve_near_names(TOOLS[tool], fields)
    assert resolved == (fields, ())
    assert unknown_field in resolved.arguments


def test_own_field_of_a_tool_is_not_replaced(call_tool: CallTool) -> None:
    assert "hints" not in call_tool("search_docs", query="things", path="api.md", type="api_spec").data
    assert resolve_near_names(TOOLS["edit_document"], {"path": "a.md"}).hints == ()


def test_taxonomy_key_is_not_replaced(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"docyard.toml": "[taxonomy.version]\n", "a.md": "---\nversion: v1\n---\n# A\n\nA quagga.\n"})
    answer = call_tool("search_docs", query="quagga", version="v1")
    assert [hit["filepath"] for hit in answer.data["hits"]] == ["a.md"]
    assert "hints" not in answer.data
    assert call_tool("search_docs", query="quagga", revision="HEAD").data["hints"] == [
        "'revision' was read as 'ref'"
    ]


def test_error_of_replaced_name_names_the_field(call_tool: CallTool) -> None:
    data = call_tool("search_docs", q="things", top_k=1_000).data
    assert (data["field"], data["le"]) == ("limit", 50)
    assert "'top_k' was read as 'limit'" in data["hints"]


def test_meanings_of_near_names_are_existing_fields() -> None:
    tools = (*TOOLS.values(), *load_toolset(SOURCES_TOOLSET))
    all_fields = {field for tool in tools for field in tool.arguments.model_fields}
    for names in (near_names._FIELDS_BY_NAME, near_names._FIELDS_BY_READING_NAME):
        for fields in names.values():
            assert all_fields.issuperset(fields)


def collect_fields(version: int) -> dict[str, set[str]]:
    fields: dict[str, Any] = {}
    for number in range(1, version + 1):
        fields |= {tool: set(names.split()) for tool, names in FIELDS_BY_VERSION[number].items()}
    return fields


def test_fields_belong_to_the_version_of_the_schema() -> None:
    assert max(FIELDS_BY_VERSION) == SCHEMA_VERSION
    present_fields = {
        name: {field.alias or key for key, field in tool.arguments.model_fields.items()}
        for name, tool in TOOLS.items()
    }
    assert present_fields == collect_fields(SCHEMA_VERSION), (
        "increase SCHEMA_VERSION, and add the changed tools"
    )


def test_fields_of_earlier_versions_are_valid() -> None:
    for version in FIELDS_BY_VERSION:
        for tool, fields in collect_fields(version).items():
            removed_fields = fields - collect_fields(SCHEMA_VERSION)[tool]
            assert removed_fields == {*RENAMED_ARGUMENTS.get(tool, {})} & removed_fields


def test_renamed_argument_is_read_as_its_present_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_names, "RENAMED_ARGUMENTS", {"get_doc": {"neighbours": "context"}})
    resolved = resolve_near_names(TOOLS["get_doc"], {"chunk_id": "a.md", "neighbours": 1})
    assert resolved == ({"chunk_id": "a.md", "context": 1}, ("'neighbours' was read as 'context'",))
