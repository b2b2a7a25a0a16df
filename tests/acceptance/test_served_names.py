"""Tool names in instructions and next steps: with each choice of toolsets, only served tools are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import ProtocolMode, Server, serve_repository
from tests.repositories import Repo, create_repository
from tools.toolsets import TOOLSETS, all_tools

TOOL_NAMES = re.compile("|".join(rf"\b{tool.name}\b" for tool in all_tools()))
FILES = {
    "api.md": "---\ntype: api_spec\n---\n# API\n\n## Endpoints\n\n### Search\n\nThe heron finds.\n\n"
    "## Tasks\n\n- [ ] One\n- [ ] Two\n",
    "one.md": "# One\n\n## Tasks\n\n- [ ] Only\n",
    "long.md": f"# Long\n\n## All\n\n{'many words ' * 30_000}\n",
}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("create_document", {}),
    ("create_document", {"doc_type": "api_spec"}),
    ("create_document", {"doc_type": "api_spec", "title": "New"}),
    ("create_document", {"doc_type": "document", "title": "Once", "idempotency_key": "k"}),
    ("create_document", {"doc_type": "document", "title": "Once", "idempotency_key": "k"}),
    ("edit_document", {}),
    ("edit_document", {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "Three"}),
    ("edit_document", {"operation": "add_section", "file": "api.md", "title": "Errors", "content": "None."}),
    ("edit_document", {"operation": "remove_task", "file": "api.md", "slug": "tasks[2]"}),
    ("list_documents", {}),
    ("list_documents", {"type": "nothing", "limit": 1}),
    ("search_documents", {"query": "heron"}),
    ("search_documents", {"query": "nothing_at_all"}),
    ("view_document", {}),
    ("view_document", {"file": "api.md"}),
    ("view_document", {"file": "api.md", "slug": "endpoints"}),
    ("view_document", {"file": "api.md", "slug": "tasks[0]"}),
    ("view_document", {"file": "long.md", "slug": "all"}),
    ("complete_task", {}),
    ("complete_task", {"file": "api.md", "slug": "tasks[0]"}),
    ("complete_task", {"file": "one.md", "slug": "tasks[0]"}),
    ("complete_task", {"file": "one.md", "slug": "tasks[0]", "idempotency_key": "t"}),
    ("complete_task", {"file": "one.md", "slug": "tasks[0]", "idempotency_key": "t"}),
    ("list_tasks", {}),
    ("list_tasks", {"ready": True, "limit": 1}),
    ("plan_task", {}),
    ("plan_task", {"file": "api.md", "slug": "tasks[0]", "id": "first"}),
    ("claim_task", {}),
    ("claim_task", {"file": "api.md", "slug": "tasks[1]"}),
    ("list_comments", {}),
    ("reopen_task", {}),
    ("reopen_task", {"file": "api.md", "slug": "tasks[0]"}),
    ("reopen_task", {"file": "api.md", "slug": "tasks[0]", "idempotency_key": "r"}),
    ("tag_document", {}),
    ("tag_document", {"file": "api.md", "tags": ["a"], "idempotency_key": "a"}),
    ("tag_document", {"file": "api.md", "tags": ["a"], "idempotency_key": "a"}),
    ("tag_document", {"file": "api.md", "tags": ["a"], "remove": True}),
    ("search_docs", {"query": "heron"}),
    ("search_docs", {"query": "hernon"}),
    ("search_docs", {"query": "heron", "path": "long.md"}),
    ("get_doc", {"chunk_id": "api.md"}),
    ("get_doc", {"chunk_id": "long.md#all"}),
    ("get_doc", {"chunk_id": "api.md#tasks"}),
    ("smart_read", {"file_path": "api.md"}),
    ("smart_read", {"file_path": "long.md"}),
    ("read_section", {"file_path": "api.md", "section_heading": "tasks"}),
    ("read_section", {"file_path": "long.md", "section_heading": "all"}),
    ("list_sections", {"file_path": "api.md"}),
    ("search_table", {"address": "api.md", "query": "tasks"}),
    ("view_history", {}),
    ("view_history", {"file": "api.md"}),
    ("view_history", {"file": "api.md", "slug": "tasks", "blame": True}),
    ("restore_document", {}),
    ("restore_document", {"file": "api.md", "ref": "HEAD"}),
    ("restore_document", {"file": "api.md", "slug": "tasks", "ref": "HEAD"}),
    ("restore_document", {"undo": "HEAD~1"}),
    ("create_proposal", {}),
    ("create_proposal", {"title": "A change"}),
    ("view_proposal", {}),
    ("update_proposal", {}),
    ("remove_document", {"file": "api.md", "slug": "endpoints"}),
    ("remove_document", {"path": "one.md"}),
)
SERVER_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "defaults": (),
    "read-only": ("--read-only",),
    **{toolset: ("--toolsets", toolset) for toolset in TOOLSETS},
    "read-only history": ("--read-only", "--toolsets", "history,proposals"),
    "tasks and history": ("--toolsets", "tasks,history"),
    "all": ("--toolsets", ",".join(TOOLSETS)),
}
QUICK_CASES = {("defaults", "auto"), ("tasks", "auto"), ("tasks", "legacy"), ("read-only", "legacy")}
SERVER_PARAMETERS = [
    pytest.param(
        options,
        protocol,
        id=f"{name} {protocol}",
        marks=() if (name, protocol) in QUICK_CASES else pytest.mark.slow,
    )
    for name, options in SERVER_OPTIONS.items()
    for protocol in ("auto", "legacy")
]


def collect_next_steps(server: Server) -> dict[str, str]:
    """Return the next steps of the responses to `CALLS`, by number, tool and arguments."""
    offered_tools = server.list_tools()
    next_steps: dict[str, str] = {}
    for tool, arguments in CALLS:
        if tool in offered_tools:
            response = server.call(tool, **arguments)
            if "next_step" in response.data:
                next_steps[f"{len(next_steps)} {tool} {arguments}"] = response.data["next_step"]
    return next_steps


@pytest.mark.parametrize(("options", "protocol"), SERVER_PARAMETERS)
def test_next_steps_and_instructions_name_only_offered_tools(
    tmp_path: Path, home: Path, options: tuple[str, ...], protocol: ProtocolMode
) -> None:
    repo: Repo = create_repository(tmp_path / "docs", FILES)
    with serve_repository(repo.path, home, *options, protocol=protocol) as server:
        offered_tools = server.list_tools().keys()
        instructions = server.get_instructions()
        steps = collect_next_steps(server)
    assert steps or options == SERVER_OPTIONS["comments"]  # whose tools suggest no next step
    for step in steps.values():
        assert set(TOOL_NAMES.findall(step)) <= offered_tools, steps
    assert set(TOOL_NAMES.findall(instructions)) <= offered_tools
    assert set(TOOL_NAMES.findall(instructions)), "the instructions name no tool"
    assert len(instructions) <= 1_000


def test_search_without_hits_suggests_a_search_with_hits(
    tmp_path: Path, home: Path, protocol: ProtocolMode
) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    with serve_repository(repo.path, home, "--toolsets", "documents,search", protocol=protocol) as server:
        # Only the subsection contains the hit.
        data = server.call("search_docs", query="heron").data
        assert ([hit["chunk_id"] for hit in data["hits"]], "next_step" in data) == (
            ["api.md#endpoints/search"],
            False,
        )
        data = server.call("search_documents", query="heron").data
        [match] = data["matches"]
        assert (match["file"], match["slug"]) == ("api.md", "endpoints/search")
        assert "next_step" not in data
        step = server.call("search_docs", query="hernon").data["next_step"]
        assert step == 'Search again: search_docs {"query": "heron"}'
        step = server.call("search_docs", query="heron", path="long.md").data["next_step"]
        assert step == 'Search again: search_docs {"query": "heron", "path": "api.md"}'
