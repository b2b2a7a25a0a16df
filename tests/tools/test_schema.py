"""Definitions of tools: every host accepts them, they fit the size limit, and each change is reviewed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.snapshots import FOLDER, SNAPSHOT_TOOLS, format_snapshot
from tools.arguments import build_input_schema
from tools.dispatcher import ToolDispatcher
from tools.tool import Tool
from tools.toolsets import all_tools
from tools.writer import WRITE_FIELD_NAMES
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke

parametrize_tools = pytest.mark.parametrize("tool", all_tools(), ids=lambda tool: tool.name)
FORBIDDEN_KEYWORDS = {
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "$ref",
    "$defs",
    "definitions",
    "const",
    "patternProperties",
}
FIELDS_WITHOUT_DESCRIPTION = {
    "has_open_tasks",
    "max_tokens",
    "min_commit",
    "paths_only",
    "remove",
    "replace",
    "since",
    "after",
    "before",
    "cursor",
    "doc_type",
    "file",
    "folder",
    "include_subsections",
    "new",
    "offset",
    "path",
    "query",
    "slug",
    "tag",
    "tags",
    "to_slug",
    "type",
    "message",
    "limit",
    "title",
    "new_title",
    "new_path",
    "to_file",
    "assignee",
    "note",
}
KEYWORDS = {"type", "description", "enum", "items", "default", "minimum", "maximum", "minLength", "maxLength"}
# The tools that describe the fields that other tools share.
DESCRIBING_TOOLS = ("edit_document", "view_document")
MAX_DEFAULT_BYTES = 10_000
MAX_SIX_TOOLSETS_BYTES = 18_000
# Tools that were added to these toolsets later.
LATER_TOOLS = ("search_table", "report_problem")
MAX_LATER_TOOL_BYTES = 700
SIX_TOOLSETS = ("documents", "tasks", "search", "reading", "history", "proposals")


def iter_objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a schema, first the schema itself."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from iter_objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from iter_objects(value)


def check_schema(schema: dict[str, Any], name_pattern: str = "[a-z0-9_]{1,64}") -> None:
    """Check that all hosts accept a schema: one refused schema can make a host drop all tools of a server."""
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema) <= {"type", "properties", "additionalProperties", "required"}
    assert set(schema.get("required", ())) <= set(schema["properties"])
    for name, field in schema["properties"].items():
        assert re.fullmatch(name_pattern, name)
        assert field["type"] in ("string", "integer", "boolean", "array", "object")
        assert set(field) <= KEYWORDS
        assert field["type"] != "array" or field["items"]["type"] in ("string", "object")
        assert "enum" not in field or (
            field["enum"] and all(isinstance(value, str) for value in field["enum"])
        )
    for node in iter_objects(schema):
        assert not FORBIDDEN_KEYWORDS & set(node)
        assert not isinstance(node.get("type"), list)
        assert "title" not in node or isinstance(node["title"], dict)


@parametrize_tools
def test_schemas_use_common_subset_of_json_schema(tool: Tool) -> None:
    assert re.fullmatch("[a-z0-9_]{1,40}", tool.name)
    check_schema(build_input_schema(tool.arguments))


@parametrize_tools
def test_every_field_has_a_description(tool: Tool) -> None:
    for name, field in build_input_schema(tool.arguments)["properties"].items():
        is_described_elsewhere = name in WRITE_FIELD_NAMES | {"ref"} and tool.name not in DESCRIBING_TOOLS
        assert field.get("description") or name in FIELDS_WITHOUT_DESCRIPTION or is_described_elsewhere, name


@pytest.mark.parametrize("tool", SNAPSHOT_TOOLS, ids=lambda tool: tool.name)
def test_schemas_match_snapshots(tool: Tool) -> None:
    file = FOLDER / f"{tool.name}.json"
    snapshot = file.read_text(encoding="utf-8") if file.exists() else ""
    assert snapshot == format_snapshot(tool), "review it, then run python -m tests.tools.snapshots"


def test_no_snapshot_of_removed_tool_exists() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == {tool.name for tool in SNAPSHOT_TOOLS}


def test_schemas_with_indexed_values_are_accepted_by_hosts(
    dispatcher: ToolDispatcher, call_tool: CallTool
) -> None:
    call_tool("tag_document", file="api.md", tags=["backend", "v2"])
    call_tool("search_docs", query="things")
    [search] = [tool for tool in dispatcher.definitions() if tool["name"] == "search_docs"]
    check_schema(search["inputSchema"])
    assert search["inputSchema"]["properties"]["tags"]["enum"] == ["backend", "v2"]
    assert search["inputSchema"]["properties"]["type"]["enum"] == ["api_spec"]


def measure_definitions(definitions: object) -> int:
    """Return the size in bytes of definitions as compact JSON, which servers send."""
    return len(json.dumps(definitions, ensure_ascii=False, separators=(",", ":")).encode())


def test_default_tools_fit_size_limit(dispatcher: ToolDispatcher) -> None:
    assert measure_definitions(dispatcher.definitions()) <= MAX_DEFAULT_BYTES


def test_six_toolsets_fit_size_limit(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), SIX_TOOLSETS, False)
    definitions = {tool["name"]: tool for tool in dispatcher.definitions()}
    later_definitions = [definitions.pop(name) for name in LATER_TOOLS]
    assert measure_definitions([*definitions.values()]) <= MAX_SIX_TOOLSETS_BYTES
    for definition in later_definitions:
        assert measure_definitions(definition) <= MAX_LATER_TOOL_BYTES


@parametrize_tools
def test_usage_and_example_match_schema(tool: Tool) -> None:
    assert tool.usage({})
    example = tool.example({})
    assert set(example) <= set(tool.arguments.model_fields)
    tool.arguments.model_validate(example)
