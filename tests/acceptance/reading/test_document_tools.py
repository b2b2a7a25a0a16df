"""The document, task and history tools through a client, in both protocol versions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import ProtocolMode, Server, ToolResponse, serve_repository
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.stdio_client import REQUEST_META, RawClient
from tests.stdio_client import build_serve_command as build_command

SPEC = "---\ntype: api_spec\n---\n# API\n\nIntroduction.\n\n## Endpoints\n\n### Search\n\nFinds things.\n\n"
FILES = {
    "api.md": f"{SPEC}## Todo list\n\nNothing.\n\n## Tasks\n\n- [ ] Define\n- [x] Done\n",
    "empty.md": f"{SPEC}## Tasks\n",
    "plain.md": "# Plain\n\n## Notes\n\nWords.\n",
    "guides/setup.md": "# Setup\n\nSteps.\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("sources") / "docs", FILES)


@pytest.fixture(scope="module", params=["auto", "legacy"])
def server(request: pytest.FixtureRequest, repo: Repo, home: Path) -> Iterator[Server]:
    """Yield a server, shared by tests that change no document."""
    protocol: ProtocolMode = request.param
    with serve_repository(repo.path, home, protocol=protocol) as server:
        yield server


def call_edit(server: Server, operation: str, **fields: Any) -> ToolResponse:
    return server.call("edit_document", operation=operation, **fields)


def test_type_is_null_without_front_matter(server: Server) -> None:
    documents = server.call("list_documents").data["documents"]
    assert {entry["path"]: entry["type"] for entry in documents} == {
        "api.md": "api_spec",
        "empty.md": "api_spec",
        "guides/setup.md": None,
        "plain.md": None,
    }
    assert server.call("view_document", file="plain.md").data["type"] is None
    assert server.call("view_document", file="api.md").data["type"] == "api_spec"


def test_task_section_has_same_fields_without_tasks(server: Server) -> None:
    documents = {
        entry["path"]: entry["sections"] for entry in server.call("list_documents").data["documents"]
    }
    assert documents["api.md"]["tasks"] == {"total": 2, "completed": 1}
    assert documents["empty.md"]["tasks"] == {"total": 0, "completed": 0}
    assert documents["api.md"]["todo-list"] == []
    full_sections, empty_sections = (
        server.call("view_document", file=file).data["sections"] for file in ("api.md", "empty.md")
    )
    titles = {"tasks[0]": "Define", "tasks[1]": "Done"}
    assert full_sections["tasks"] == {"total": 2, "completed": 1, "active": ["tasks[0]"], "titles": titles}
    assert empty_sections["tasks"] == {"total": 0, "completed": 0, "active": []}
    assert full_sections["endpoints"] == {"count": 1, "slugs": ["endpoints/search"]}


@loop_over("slug", ["todo", "task", "endpoints/x", "nothing"])
def test_add_task_to_missing_section_suggests_tasks(server: Server, slug: str) -> None:
    response = call_edit(server, "add_task", file="api.md", slug=slug, title="New", dry_run=True)
    assert (response.is_error, response.data["code"]) == (True, "SECTION_NOT_FOUND")
    assert response.data["fix"].startswith("Did you mean 'tasks'?")
    assert response.data["candidates"][0] == response.data["example"]["slug"] == "tasks"
    assert not server.call("edit_document", **response.data["example"]).is_error


def test_add_task_without_task_section_suggests_add_section(server: Server) -> None:
    response = call_edit(server, "add_task", file="plain.md", slug="tasks", title="New", dry_run=True)
    assert "add_section" in response.data["fix"]
    example = response.data["example"]
    assert example == {"operation": "add_section", "file": "plain.md", "title": "Tasks", "dry_run": True}
    assert server.call("edit_document", **example).data["slug"] == "tasks"


def test_move_to_missing_file_suggests_create_document(
    tmp_path: Path, home: Path, protocol: ProtocolMode
) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    with serve_repository(repo.path, home, protocol=protocol) as server:
        move = {"file": "api.md", "slug": "endpoints/search", "to_file": "guides/new-thing.md"}
        response = call_edit(server, "move_section", **move)
        assert (response.is_error, response.data["code"]) == (True, "DOCUMENT_NOT_FOUND")
        assert response.data["candidates"] == []
        _, _, suggested_arguments = response.data["fix"].partition("create_document ")
        response = server.call("create_document", **json.JSONDecoder().raw_decode(suggested_arguments)[0])
        assert response.data["path"] == "guides/new-thing.md"
        assert not call_edit(server, "move_section", **move).is_error
        response = call_edit(
            server, "move_section", **{**move, "slug": "endpoints", "to_file": "guides/setpu.md"}
        )
        assert response.data["candidates"] == ["guides/setup.md"]
        assert "'guides/setup.md'" in response.data["fix"]


def test_array_of_arguments_returns_usage(repo: Repo, protocol: ProtocolMode) -> None:
    meta: dict[str, Any] = {} if protocol == "legacy" else {"_meta": REQUEST_META}
    server = RawClient(build_command(repo.path), handshake=protocol == "legacy")
    operations = [{"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "One"}]
    for number in range(3):  # also after other calls
        response = server.request(number, "tools/call", name="edit_document", arguments=operations, **meta)
        result = response["result"]
        assert result["isError"] is True
        data = result["structuredContent"]
        assert data["code"] == "INVALID_ARGUMENTS"
        assert '{"operations": [...]}' in data["fix"]
        assert "add_task" in data["usage"]["operations"]
        assert "operations" in data["usage"]["batch"]
        server.request(10 + number, "tools/call", name="list_documents", arguments={}, **meta)
    for number, tool in enumerate(("complete_task", "remove_document", "tag_document", "search_docs"), 20):
        response = server.request(number, "tools/call", name=tool, arguments=[{}], **meta)
        assert response["result"]["structuredContent"]["usage"]
    assert (
        server.request(30, "tools/call", name="search_docs", arguments="x", **meta)["error"]["code"] == -32602
    )
    assert server.close() == ""


def test_refused_overwrite_contains_text_without_usage(server: Server) -> None:
    response = call_edit(
        server, "update_content", file="plain.md", slug="notes", content="New.", dry_run=True
    )
    assert response.data["code"] == "READ_FIRST"
    assert response.data["current"] == "## Notes\n\nWords.\n"
    assert response.data["fix"] == "Read 'current', then send the same call again."
    assert "usage" not in response.data
    batch_response = server.call(
        "edit_document",
        operations=[
            {"operation": "update_content", "file": "api.md", "slug": "endpoints/search", "content": "x"}
        ],
        dry_run=True,
    )
    [entry] = batch_response.data["batch_results"]
    assert (entry["code"], "usage" in entry, "current" in entry) == ("READ_FIRST", False, True)


def test_text_in_history_diff_counts_as_read(tmp_path: Path, home: Path, protocol: ProtocolMode) -> None:
    lines = "".join(f"Line {number}.\n" for number in range(30))
    repo = create_repository(
        tmp_path / "docs", {"a.md": f"# A\n\n## Short\n\nOld words.\n\n## Long\n\n{lines}"}
    )
    repo.commit({"a.md": f"# A\n\n## Short\n\nNew words.\n\n## Long\n\n{lines}Last.\n"})
    with serve_repository(repo.path, home, "--toolsets", "documents,history", protocol=protocol) as server:
        history = server.call("view_history", file="a.md", slug="short", limit=1).data
        assert "+New words." in history["history"][0]["diff"]
        assert not call_edit(server, "update_content", file="a.md", slug="short", content="Newest.").is_error
        # The diff shows only three lines of this section.
        server.call("view_history", file="a.md", slug="long", limit=1)
        response = call_edit(server, "update_content", file="a.md", slug="long", content="Newest.")
        assert response.data["code"] == "READ_FIRST"


def test_text_in_truncated_diff_counts_as_unread(tmp_path: Path, home: Path, protocol: ProtocolMode) -> None:
    text = "".join(f"A line of words, the {number}th.\n" for number in range(2_000))
    repo = create_repository(tmp_path / "docs", {"a.md": f"# A\n\n## Long\n\n{text}\n## Last\n\nWords.\n"})
    with serve_repository(repo.path, home, "--toolsets", "documents,history", protocol=protocol) as server:
        history = server.call("view_history", file="a.md", diff=True).data
        assert "more lines" in history["history"][0]["diff"]
        for slug in ("long", "last"):
            response = call_edit(server, "update_content", file="a.md", slug=slug, content="New.")
            assert response.data["code"] == "READ_FIRST"


def test_history_page_reports_more_only_by_cursor(tmp_path: Path, home: Path, protocol: ProtocolMode) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    for number in range(3):
        repo.commit({"plain.md": f"# Plain\n\nVersion {number}.\n"})
    with serve_repository(repo.path, home, "--toolsets", "history", protocol=protocol) as server:
        first_page = server.call("view_history", file="plain.md", limit=2).data
        assert first_page["next_cursor"]
        second_page = server.call(
            "view_history", file="plain.md", limit=2, cursor=first_page["next_cursor"]
        ).data
        assert "next_cursor" not in second_page
        for page in (first_page, second_page):
            assert not {"complete", "next_step"} & page.keys()
