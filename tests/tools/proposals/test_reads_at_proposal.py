"""Reading tools accept the id of a proposal as `ref`; search then finds the text that the proposal adds."""

from __future__ import annotations

from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tests.tools.proposals.conftest import call_next_step, check_success
from tools.dispatcher import ToolDispatcher, UnknownTool
from tools.resources.contents import read_resource
from tools.toolsets import DEFAULT_TOOLSETS, all_tools
from workspace.workspace import Workspace

SECTION = {
    "operation": "add_section",
    "file": "api.md",
    "title": "Quotas",
    "content": "A leaky bucket of tokens.\n\n| Bucket |\n|--------|\n| small  |\n\n- [ ] Measure the quotas\n"
    "- REQ-1",
}
READ_CALLS: dict[str, dict[str, Any]] = {
    "list_documents": {"path": "api.md"},
    "list_tasks": {"path": "api.md"},
    "list_comments": {},
    "view_drift": {"path": "api.md"},
    "view_trace": {"id": "REQ-1"},
    "view_document": {"file": "api.md", "slug": "quotas"},
    "search_documents": {"query": "leaky bucket"},
    "search_docs": {"query": "leaky bucket"},
    "get_doc": {"chunk_id": "api.md#quotas"},
    "smart_read": {"file_path": "api.md"},
    "read_section": {"file_path": "api.md", "section_heading": "Quotas"},
    "list_sections": {"file_path": "api.md"},
    "search_table": {"address": "api.md#quotas"},
    "view_history": {"file": "api.md", "slug": "quotas"},
}


def test_every_reading_tool_reads_at_proposal(call_tool: CallTool, proposal: str) -> None:
    assert set(READ_CALLS) == {tool.name for tool in all_tools() if not tool.writes} - {"view_proposal"}
    tip = check_success(call_tool("edit_document", **SECTION, proposal=proposal))["commit"]
    for tool, fields in READ_CALLS.items():
        answer = call_tool(tool, **fields, ref=proposal)
        assert not answer.is_error, (tool, answer.data)
        assert answer.data["commit"] == tip
        if tool not in ("view_drift", "list_comments"):  # no code has changed, and there are no comments
            assert "quotas" in str(answer.data)


def test_search_at_proposal_finds_text_missing_on_target(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    assert call_tool("search_docs", query="leaky bucket").data["hits"] == []
    results = call_tool("search_docs", query="leaky bucket", ref=proposal)
    assert [hit["chunk_id"] for hit in results.data["hits"]] == ["api.md#quotas"]
    view = call_tool("get_doc", chunk_id=results.data["hits"][0]["chunk_id"], ref=proposal)
    assert view.data["commit"] == results.data["commit"]
    [match] = call_tool("search_documents", query="leaky bucket", ref=proposal).data["matches"]
    assert (match["file"], match["slug"]) == ("api.md", "quotas")


def test_next_step_at_proposal_writes_to_proposal(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    repo.git("rm", "-q", "-r", "api.md", "specs", "notes")
    repo.commit({})
    check_success(call_tool("update_proposal", proposal=proposal, action="refresh"))
    head_before = repo.head()
    answer = call_tool("list_documents", ref=proposal)
    assert answer.data["documents"] == []
    tool, fields = parse_next_call(answer)
    assert (tool, fields) == ("create_document", {"proposal": proposal})
    creation = call_tool(tool, **fields, doc_type="document", title="First")
    assert check_success(creation)["proposal"] == proposal
    assert repo.head() == head_before


def test_resource_is_read_at_proposal(dispatcher: ToolDispatcher, call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    assert "leaky" in str(read_resource(dispatcher.context(), f"doc:///api.md?ref={proposal}"))


def test_merged_proposal_without_branch_is_readable(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    tip = check_success(call_tool("edit_document", **SECTION, proposal=proposal))["commit"]
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    answer = call_tool("view_document", file="api.md", slug="quotas", ref=proposal)
    assert answer.data["commit"] == tip
    assert "next_step" not in answer.data
    assert check_success(call_tool("view_proposal", proposal=proposal))["changes"]["total"] == 1


def _list_tool_names(dispatcher: ToolDispatcher) -> list[str]:
    return [tool["name"] for tool in dispatcher.definitions()]


PROPOSAL_TOOLS = ["create_proposal", "view_proposal", "update_proposal", "report_problem"]


def test_default_tools_include_proposals_if_policy_requires_review(repo: Repo) -> None:
    def build_dispatcher(toolsets: tuple[str, ...] | None, read_only: bool = False) -> ToolDispatcher:
        workspace = Workspace.open(repo.path, durable=False, read_only=read_only)
        return ToolDispatcher(workspace, SearchIndex(workspace), toolsets, read_only)

    assert _list_tool_names(build_dispatcher(None))[-4:] == PROPOSAL_TOOLS
    assert not set(PROPOSAL_TOOLS) & set(_list_tool_names(build_dispatcher(DEFAULT_TOOLSETS)))
    assert not set(PROPOSAL_TOOLS) & set(_list_tool_names(build_dispatcher(None, read_only=True)))
    read_only_dispatcher = build_dispatcher(("proposals",), read_only=True)
    assert _list_tool_names(read_only_dispatcher) == ["view_proposal"]
    assert not read_only_dispatcher.call("view_proposal", {}, client="x").is_error
    repo.commit({"docyard.toml": ""})
    dispatcher = build_dispatcher(None)
    assert not set(PROPOSAL_TOOLS) & set(_list_tool_names(dispatcher))
    with pytest.raises(UnknownTool):
        make_client(dispatcher)("view_proposal")
    repo.commit({"docyard.toml": '[[protect]]\npaths = ["specs/**"]\n'})
    assert not make_client(dispatcher)("view_proposal").is_error  # also before the list is requested again
    assert _list_tool_names(dispatcher)[-4:] == PROPOSAL_TOOLS
    repo.commit({"docyard.toml": ""})
    assert _list_tool_names(dispatcher)[-4:] == PROPOSAL_TOOLS


def test_server_without_writing_tools_reads_proposal(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    workspace = Workspace.open(repo.path, durable=False, read_only=True)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), ("proposals", "documents"), True)
    read_only_client = make_client(dispatcher)
    answer = read_only_client("view_proposal", proposal=proposal)
    assert [entry["path"] for entry in check_success(answer)["changes"]["documents"]] == ["api.md"]
    call_next_step(read_only_client, answer)
    assert not read_only_client("view_document", file="api.md", slug="quotas", ref=proposal).is_error
