"""The argument `ref` of the tools that read and search: their results and the calls that they suggest."""

from __future__ import annotations

import json
import re

import pytest

from index.service import SearchIndex
from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import TOOLSETS, all_tools
from workspace.workspace import Workspace

WRITING_TOOLS = {tool.name for tool in all_tools() if tool.writes}
REQUIRED_FIELDS = {
    "search_docs": {"query": "things"},
    "search_documents": {"query": "things"},
    "get_doc": {"chunk_id": "api.md"},
    "view_document": {"file": "api.md"},
}
READING_TOOLS = ("search_docs", "get_doc", "search_documents", "view_document", "list_documents")


@pytest.fixture
def first_commit(repo: Repo) -> str:
    """Return the first commit, tagged `v1`, after which a section was rewritten and a document added."""
    commit = repo.head()
    repo.git("tag", "v1")
    text = (repo.path / "api.md").read_text()
    repo.commit(
        {"api.md": text.replace("Finds things.", "Looks for herons."), "new.md": "# New\n\nA heron.\n"}
    )
    return commit


def parse_suggested_calls(answer: Answer) -> list[tuple[str, dict[str, object]]]:
    """Return the calls that the next step of an answer names."""
    step = answer.data["next_step"]
    return [(name, json.loads(fields)) for name, fields in re.findall(r"(\w+) (\{[^{}]*\})", step)]


def test_every_reading_tool_accepts_a_ref() -> None:
    tools = {tool.name: tool for tool in all_tools()}
    assert all("ref" in tools[name].arguments.model_fields for name in READING_TOOLS)
    assert not any(
        "ref" in tools[name].arguments.model_fields
        for name in WRITING_TOOLS - {"restore_document", "edit_document"}
    )


@pytest.mark.parametrize("ref", ["v1", "HEAD~1", "main^"])
def test_document_is_read_at_ref(call_tool: CallTool, first_commit: str, ref: str) -> None:
    answer = call_tool("view_document", file="api.md", slug="endpoints/search", ref=ref)
    assert answer.data["content"] == "### Search\n\nFinds things.\n\n"
    assert answer.data["commit"] == first_commit
    assert "herons" in call_tool("view_document", file="api.md", slug="endpoints/search").data["content"]
    missing_answer = call_tool("view_document", file="new.md", ref=ref)
    assert (missing_answer.data["code"], missing_answer.data["commit"]) == (
        "DOCUMENT_NOT_FOUND",
        first_commit,
    )
    assert missing_answer.data["example"] == {"file": "api.md", "ref": ref}
    assert not call_tool("view_document", **missing_answer.data["example"]).is_error


def test_blank_ref_is_the_tip(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    for ref in ("", "  ", None):
        assert call_tool("view_document", file="new.md", ref=ref).data["commit"] == repo.head()
        assert call_tool("list_documents", ref=ref).data["total"] == 3


def test_documents_are_listed_at_ref(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    answer = call_tool("list_documents", ref="v1")
    assert [entry["path"] for entry in answer.data["documents"]] == ["api.md", "notes/plain.md"]
    assert answer.data["commit"] == first_commit
    assert "next_step" not in answer.data
    listing = call_tool("view_document", ref="v1")
    assert listing.data["documents"] == ["api.md", "notes/plain.md"]
    assert parse_suggested_calls(listing) == [("list_documents", {"ref": "v1"})]
    assert "new.md" in call_tool("view_document").data["documents"]


def test_ref_without_documents_lists_none(call_tool: CallTool, repo: Repo) -> None:
    repo.git("checkout", "-q", "--orphan", "empty")
    repo.git("rm", "-rfq", ".")
    repo.git("commit", "-q", "--allow-empty", "-m", "Empty")
    repo.git("checkout", "-q", "main")
    answer = call_tool("list_documents", ref="empty")
    assert answer.data["documents"] == []
    assert parse_suggested_calls(answer) == [("list_documents", {})]


def test_pages_at_ref_ignore_later_commits(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    page = call_tool("list_documents", ref="v1", limit=1)
    repo.commit({"later.md": "# Later\n"})  # moves the tip, but does not change the list at the ref
    rest_answer = call_tool("list_documents", ref="v1", limit=1, cursor=page.data["next_cursor"])
    assert [entry["path"] for entry in rest_answer.data["documents"]] == ["notes/plain.md"]
    assert (
        call_tool("list_documents", limit=1, cursor=page.data["next_cursor"]).data["code"] == "CURSOR_STALE"
    )


def test_complete_reads_at_ref_have_no_next_step(call_tool: CallTool, first_commit: str) -> None:
    for fields in (
        {"file": "api.md"},
        {"file": "api.md", "slug": "endpoints"},
        {"file": "api.md", "slug": "endpoints/search"},
        {"file": "api.md", "slug": "tasks"},
        {"file": "api.md", "slug": "tasks[0]"},
        {"file": "api.md", "slug": "tasks[1]"},
        {"file": "notes/plain.md"},
        {"file": "notes/plain.md", "slug": "_preamble"},
    ):
        answer = call_tool("view_document", **fields, ref="v1")
        assert (answer.data["commit"], "next_step" in answer.data) == (first_commit, False)
    for tool in ("search_docs", "search_documents"):
        answer = call_tool(tool, query="things", ref="v1")
        assert (answer.data["commit"], "next_step" in answer.data) == (first_commit, False)


def test_next_calls_at_ref_read_at_ref_and_never_write(call_tool: CallTool, first_commit: str) -> None:
    for tool, fields in (
        ("view_document", {}),
        ("search_docs", {"query": "thingz"}),
        ("search_docs", {"query": "things", "path": "notes/plain.md"}),
        ("search_documents", {"query": "nowhere"}),
    ):
        answer = call_tool(tool, **fields, ref="v1")
        assert answer.data["commit"] == first_commit
        assert parse_suggested_calls(answer)
        for suggested_tool, suggested_fields in parse_suggested_calls(answer):
            assert suggested_tool not in WRITING_TOOLS
            assert suggested_fields["ref"] == "v1"
            assert call_tool(suggested_tool, **suggested_fields).data["commit"] == first_commit


def test_search_at_ref_excludes_later_text(call_tool: CallTool, first_commit: str) -> None:
    assert [hit["chunk_id"] for hit in call_tool("search_docs", query="heron").data["hits"]] != []
    assert call_tool("search_docs", query="heron", ref="v1").data["hits"] == []
    assert call_tool("search_documents", query="heron", ref="v1").data["matches"] == []
    [match] = call_tool("search_documents", query="finds things", ref="v1", limit=1).data["matches"]
    assert match["slug"] == "endpoints/search"


def test_chunk_is_read_at_ref(call_tool: CallTool, first_commit: str) -> None:
    answer = call_tool("get_doc", chunk_id="api.md#endpoints/search", ref="v1")
    assert "Finds things." in (answer.text or "")
    assert answer.data["commit"] == first_commit
    assert "next_step" not in answer.data
    assert call_tool("get_doc", chunk_id="new.md", ref="v1").data["code"] == "CHUNK_NOT_FOUND"


def test_batch_views_are_read_at_their_refs(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    views = [
        {"file": "api.md", "slug": "endpoints/search"},
        {"file": "api.md", "slug": "endpoints/search", "ref": "main"},
        {"file": "api.md", "slug": "endpoints/search", "ref": "nothing"},
    ]
    answer = call_tool("view_document", operations=views, ref="v1")
    old_view, new_view, missing_view = answer.data["batch_results"]
    assert "things" in old_view["content"]
    assert ("herons" in new_view["content"], new_view["commit"]) == (True, repo.head())
    assert missing_view["code"] == "REF_NOT_FOUND"
    assert "ref" not in missing_view["example"]
    assert answer.data["commit"] == first_commit
    assert not answer.is_error


def test_text_read_at_ref_may_be_overwritten_if_unchanged(call_tool: CallTool, first_commit: str) -> None:
    def overwrite(slug: str) -> Answer:
        return call_tool(
            "edit_document", operation="update_content", file="api.md", slug=slug, content="Other."
        )

    call_tool("view_document", file="api.md", slug="endpoints/search", ref="v1")
    assert overwrite("endpoints/search").data["code"] == "READ_FIRST"  # the text has changed since v1
    call_tool("get_doc", chunk_id="api.md#endpoints", ref="v1")
    assert overwrite("endpoints").data["updated"]  # this text is unchanged


@loop_over("tool", READING_TOOLS)
@loop_over(
    ("ref", "code"),
    [
        ("v2", "REF_NOT_FOUND"),
        ("--upload-pack=x", "REF_NOT_FOUND"),
        ("@{2026-02-31}", "REF_NOT_FOUND"),
        ("x" * 10_000, "REF_NOT_FOUND"),
        ("a\0b", "REF_NOT_FOUND"),
        ("@{2001-01-01}", "BEFORE_HISTORY"),
        ("HEAD:api.md", "NOT_A_COMMIT"),
        ("a-blob", "NOT_A_COMMIT"),
    ],
)
def test_invalid_ref_returns_error_with_example(
    call_tool: CallTool, repo: Repo, first_commit: str, tool: str, ref: str, code: str
) -> None:
    repo.git("tag", "--force", "a-blob", "HEAD:api.md")
    answer = call_tool(tool, **REQUIRED_FIELDS.get(tool, {}), ref=ref)
    assert answer.is_error
    assert answer.data["code"] == code
    assert answer.data["fix"]
    assert "ref" in answer.data["usage"]
    assert not call_tool(tool, **answer.data["example"]).is_error
    assert len(json.dumps(answer.data)) < 3_000


def test_number_as_ref_is_refused(call_tool: CallTool) -> None:
    assert call_tool("list_documents", ref=5).data["code"] == "INVALID_ARGUMENTS"
    assert call_tool("view_document", operations=[{"file": "api.md", "ref": 5}]).is_error


def test_invalid_settings_at_ref_return_error(call_tool: CallTool, repo: Repo) -> None:
    broken_commit = repo.commit({"docyard.toml": "colour = 1\n"})
    repo.commit({"docyard.toml": ""})
    for tool, fields in (("view_document", {"file": "api.md"}), ("list_documents", {})):
        answer = call_tool(tool, **fields, ref=broken_commit)
        assert answer.data["code"] == "INVALID_CONFIG"
        assert "another ref" in answer.data["fix"]


def test_view_at_ref_does_not_change_link_graph(call_tool: CallTool, repo: Repo, first_commit: str) -> None:
    repo.commit({"linking.md": "# Linking\n\n[to it](api.md#endpoints)\n"})
    assert call_tool("view_document", file="api.md").data["links"]["backlinks_total"] == 1
    assert "links" not in call_tool("view_document", file="api.md", ref="v1").data
    assert call_tool("view_document", file="api.md").data["links"]["backlinks_total"] == 1


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("view_document", {"file": "long.md", "slug": "all"}),
        ("read_section", {"file_path": "long.md", "section_heading": "all"}),
        ("smart_read", {"file_path": "long.md", "mode": "full"}),
        ("get_doc", {"chunk_id": "long.md#all"}),
    ],
)
def test_parts_of_long_text_are_read_at_one_commit(repo: Repo, tool: str, fields: dict[str, str]) -> None:
    old_text = "# Long\n\n## All\n\n" + "".join(f"Line {number} of then.\n\n" for number in range(8_000))
    read_commit = repo.commit({"long.md": old_text})
    workspace = Workspace.open(repo.path, durable=False)
    call_tool = make_client(ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False))
    first_answer = call_tool(tool, **fields)
    assert first_answer.data["commit"] == read_commit
    repo.commit({"long.md": old_text.replace("then", "now, which is longer")})
    name, next_fields = parse_next_call(first_answer)
    rest_answer = call_tool(name, **next_fields)
    assert rest_answer.data["commit"] == read_commit
    text = rest_answer.data["chunks"][0]["text"] if tool == "get_doc" else rest_answer.data["content"]
    assert "of then" in text
    assert "of now" not in text
