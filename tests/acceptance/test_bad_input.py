"""Invalid input through a client: the server returns an error with a valid example, and continues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import Server, ToolResponse, build_user_environment, serve_repository
from tests.index.adversarial_queries import ADVERSARIAL_QUERIES
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.stdio_client import RawClient
from tests.stdio_client import build_serve_command as build_stdio_command

SECRET = "xyzzy"
DOCUMENT_TEXT = f"""---
type: api_spec
tags: [backend]
---

# API

Introduction, {SECRET}.

## Endpoints

Text, {SECRET}.

### Search

Find, {SECRET}.

## Tasks

- [ ] One {SECRET}
- [ ] Two

## Same {{#same}}

A

## Same {{#same}}

B
"""
HUGE_TEXT = "x" * 30_000_000


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(
        tmp_path_factory.mktemp("bad") / "docs", {"api.md": DOCUMENT_TEXT, "guides/deep.md": "# Deep\n"}
    )


@pytest.fixture(scope="module")
def server(repo: Repo, home: Path) -> Iterator[Server]:
    """Yield a server for the module, and check after the tests that the repository is intact."""
    with serve_repository(repo.path, home) as server:
        yield server
        assert server.call("list_documents").data["documents"]
    assert repo.fsck() == repo.status() == ""


def make_edit(operation: str, **fields: Any) -> dict[str, Any]:
    return {"operation": operation, "file": "api.md", **fields}


BAD_CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    # values of a wrong type
    "number as title": ("create_document", {"doc_type": "api_spec", "title": 5}, "INVALID_ARGUMENTS"),
    "list as slug": (
        "edit_document",
        make_edit("update_content", slug=["a"], content="x"),
        "INVALID_ARGUMENTS",
    ),
    "string as tags": ("tag_document", {"file": "api.md", "tags": "backend"}, "INVALID_ARGUMENTS"),
    "numbers as tags": ("tag_document", {"file": "api.md", "tags": [1]}, "INVALID_ARGUMENTS"),
    "word as limit": ("search_docs", {"query": "x", "limit": "many"}, "INVALID_ARGUMENTS"),
    "number as operations": ("edit_document", {"operations": 5}, "INVALID_ARGUMENTS"),
    "words as operations": ("edit_document", {"operations": ["add", "remove"]}, "INVALID_ARGUMENTS"),
    "malformed JSON as operations": ("complete_task", {"operations": "[{"}, "INVALID_ARGUMENTS"),
    "number as query": ("search_documents", {"query": 5}, "INVALID_ARGUMENTS"),
    "number as chunk_id": ("get_doc", {"chunk_id": 5}, "INVALID_ARGUMENTS"),
    "unknown mode": (
        "edit_document",
        {**make_edit("add_section", title="N"), "mode": "some"},
        "INVALID_ARGUMENTS",
    ),
    # unknown files, sections, tasks, operations, fields and types
    "unknown file": ("view_document", {"file": "apis.md"}, "DOCUMENT_NOT_FOUND"),
    "unknown file to edit": (
        "edit_document",
        {"operation": "add_section", "file": "nowhere/elsewhere.md", "title": "New"},
        "DOCUMENT_NOT_FOUND",
    ),
    "unknown file to remove": ("remove_document", {"path": "nothing.md"}, "DOCUMENT_NOT_FOUND"),
    "unknown file to tag": ("tag_document", {"file": "nothing.md", "tags": ["a"]}, "DOCUMENT_NOT_FOUND"),
    "unknown folder": ("list_documents", {"path": "guidez"}, "DOCUMENT_NOT_FOUND"),
    "unknown section": ("view_document", {"file": "api.md", "slug": "endpoints/serch"}, "SECTION_NOT_FOUND"),
    "unknown section to edit": (
        "edit_document",
        make_edit("append_content", slug="qqq", content="x"),
        "SECTION_NOT_FOUND",
    ),
    "unknown parent": (
        "edit_document",
        make_edit("add_section", title="N", parent_slug="endpoint"),
        "SECTION_NOT_FOUND",
    ),
    "unknown sibling": (
        "edit_document",
        make_edit("add_section", title="N2", before="qqq"),
        "SECTION_NOT_FOUND",
    ),
    "unknown section to remove": ("remove_document", {"file": "api.md", "slug": "qqq"}, "SECTION_NOT_FOUND"),
    "ambiguous section": ("view_document", {"file": "api.md", "slug": "same"}, "AMBIGUOUS_ADDRESS"),
    "unknown task": ("complete_task", {"file": "api.md", "slug": "tasks[9]"}, "TASK_NOT_FOUND"),
    "task in a section without tasks": (
        "complete_task",
        {"file": "api.md", "slug": "endpoints[0]"},
        "TASK_NOT_FOUND",
    ),
    "address of a section instead of a task": (
        "complete_task",
        {"file": "api.md", "slug": "tasks"},
        "INVALID_ADDRESS",
    ),
    "address of a task instead of a section": (
        "edit_document",
        make_edit("append_content", slug="tasks[0]", content="x"),
        "INVALID_ADDRESS",
    ),
    "move to the path of another document": (
        "edit_document",
        make_edit("move_document", new_path="guides/deep.md"),
        "PATH_EXISTS",
    ),
    "move out of the workspace": (
        "edit_document",
        make_edit("move_document", new_path="../x.md"),
        "INVALID_PATH",
    ),
    "move of a document named with a fragment": (
        "edit_document",
        {"operation": "move_document", "file": "api.md#tasks", "new_path": "x.md"},
        "DOCUMENT_NOT_FOUND",
    ),
    "move of a section into itself": (
        "edit_document",
        make_edit("move_section", slug="endpoints", parent_slug="endpoints"),
        "INVALID_MOVE",
    ),
    "move of a section before itself": (
        "edit_document",
        make_edit("move_section", slug="endpoints", before="endpoints"),
        "INVALID_MOVE",
    ),
    "move of a section into its child": (
        "edit_document",
        make_edit("move_section", slug="endpoints", parent_slug="endpoints/search"),
        "INVALID_MOVE",
    ),
    "move of the preamble": ("edit_document", make_edit("move_section", slug="_preamble"), "INVALID_MOVE"),
    "move to an unknown document": (
        "edit_document",
        make_edit("move_section", slug="endpoints", to_file="apis.md"),
        "DOCUMENT_NOT_FOUND",
    ),
    "move after an unknown section": (
        "edit_document",
        make_edit("move_section", slug="endpoints", to_file="guides/deep.md", after="qqq"),
        "SECTION_NOT_FOUND",
    ),
    "move of a task before an unknown task": (
        "edit_document",
        make_edit("move_task", slug="tasks[0]", before="tasks[9]"),
        "TASK_NOT_FOUND",
    ),
    "empty text to replace": ("edit_document", make_edit("replace_text", old="", new="x"), "INVALID_CONTENT"),
    "heading changed by replace_text": (
        "edit_document",
        make_edit("replace_text", old="## Endpoints", new="## Others"),
        "STRUCTURE_CHANGED",
    ),
    "unknown operation": ("edit_document", make_edit("add_sektion", title="New"), "INVALID_ARGUMENTS"),
    "unknown field": ("edit_document", make_edit("add_section", titel="New"), "INVALID_ARGUMENTS"),
    "field of another operation": (
        "edit_document",
        make_edit("add_task", slug="tasks", content="x"),
        "INVALID_ARGUMENTS",
    ),
    "missing operation": ("edit_document", {"file": "api.md"}, "INVALID_ARGUMENTS"),
    "missing file": ("complete_task", {"slug": "tasks[0]"}, "INVALID_ARGUMENTS"),
    "missing query": ("search_docs", {}, "INVALID_ARGUMENTS"),
    "missing chunk_id": ("get_doc", {}, "INVALID_ARGUMENTS"),
    "unknown doc_type": ("create_document", {"doc_type": "api_spek"}, "UNKNOWN_TYPE"),
    "missing doc_type": ("create_document", {"title": "Lone"}, "INVALID_ARGUMENTS"),
    "unknown tag to filter by": ("search_docs", {"query": "x", "tags": "backendd"}, "UNKNOWN_FILTER_VALUE"),
    "unknown chunk": ("get_doc", {"chunk_id": "api.md#serch"}, "CHUNK_NOT_FOUND"),
    # titles
    "empty title": ("create_document", {"doc_type": "api_spec", "title": ""}, "INVALID_TITLE"),
    "spaces as title": ("edit_document", make_edit("add_section", title="  "), "INVALID_TITLE"),
    "empty new title": (
        "edit_document",
        make_edit("rename_section", slug="endpoints", new_title=""),
        "INVALID_TITLE",
    ),
    "emoji as title": ("create_document", {"doc_type": "api_spec", "title": "🚀"}, "INVALID_TITLE"),
    "punctuation as title": ("create_document", {"doc_type": "api_spec", "title": "?!…"}, "INVALID_TITLE"),
    "two lines as title": (
        "edit_document",
        make_edit("add_task", slug="tasks", title="a\nb"),
        "INVALID_TITLE",
    ),
    "empty tag list": ("tag_document", {"file": "api.md", "tags": []}, "INVALID_TAG"),
    # paths
    "existing path": ("create_document", {"doc_type": "document", "title": "API"}, "PATH_EXISTS"),
    "folder outside the workspace": (
        "create_document",
        {"doc_type": "document", "title": "A", "folder": "../x"},
        "INVALID_PATH",
    ),
    "absolute folder": (
        "create_document",
        {"doc_type": "document", "title": "A", "folder": "/etc"},
        "INVALID_PATH",
    ),
    "folder .git": (
        "create_document",
        {"doc_type": "document", "title": "A", "folder": ".git"},
        "INVALID_PATH",
    ),
    "short name of .git as folder": (
        "create_document",
        {"doc_type": "document", "title": "A", "folder": "GIT~1"},
        "INVALID_PATH",
    ),
    "edit outside the workspace": (
        "edit_document",
        {**make_edit("add_section", title="A"), "file": "../../etc/x.md"},
        "INVALID_PATH",
    ),
    "removal in .git": ("remove_document", {"path": ".git/config"}, "INVALID_PATH|DOCUMENT_NOT_FOUND"),
    "view outside the workspace": (
        "view_document",
        {"file": "../../../etc/passwd"},
        "INVALID_PATH|DOCUMENT_NOT_FOUND",
    ),
    "view of an absolute path": ("view_document", {"file": "/etc/passwd"}, "INVALID_PATH|DOCUMENT_NOT_FOUND"),
    "list outside the workspace": ("list_documents", {"path": "../"}, "INVALID_PATH"),
    "chunk outside the workspace": (
        "get_doc",
        {"chunk_id": "../../etc/passwd"},
        "CHUNK_NOT_FOUND|INVALID_CHUNK_ID",
    ),
    # content
    "heading of a higher level in content": (
        "edit_document",
        make_edit("update_content", slug="endpoints/search", content="## Up"),
        "LEVEL_CONFLICT",
    ),
    "H1 in a new document": (
        "create_document",
        {"doc_type": "document", "title": "B", "initial_content": "# Other\n\nText"},
        "LEVEL_CONFLICT",
    ),
    "existing subsection": (
        "edit_document",
        make_edit("update_content", slug="endpoints", content="### Search\n\nNew text"),
        "SECTION_EXISTS",
    ),
    "existing section": ("edit_document", make_edit("add_section", title="Tasks"), "SECTION_EXISTS"),
    "unclosed code fence": (
        "edit_document",
        make_edit("update_content", slug="endpoints", content="```\nopen"),
        "STRUCTURE_CHANGED|INVALID_CONTENT",
    ),
    "NUL in content": (
        "edit_document",
        make_edit("update_content", slug="endpoints", content="a\0b"),
        "INVALID_CONTENT",
    ),
    "NUL in a title": ("create_document", {"doc_type": "document", "title": "a\0b"}, "INVALID_CONTENT"),
    "NUL in a slug": ("view_document", {"file": "api.md", "slug": "end\0"}, "SECTION_NOT_FOUND"),
    "NUL in a path": ("view_document", {"file": "a\0pi.md"}, "DOCUMENT_NOT_FOUND|INVALID_PATH"),
    "NUL in a chunk_id": ("get_doc", {"chunk_id": "api.md#\0"}, "CHUNK_NOT_FOUND|INVALID_CHUNK_ID"),
    "huge content": (
        "edit_document",
        make_edit("update_content", slug="endpoints", content=HUGE_TEXT),
        "LIMIT_EXCEEDED",
    ),
    "huge slug": ("view_document", {"file": "api.md", "slug": HUGE_TEXT}, "SECTION_NOT_FOUND"),
    "huge operation": ("edit_document", {"operation": HUGE_TEXT}, "INVALID_ARGUMENTS"),
    # limits, queries, cursors
    "limit 0": ("search_docs", {"query": "text", "limit": 0}, "INVALID_ARGUMENTS"),
    "limit -1": ("search_documents", {"query": "text", "limit": -1}, "INVALID_ARGUMENTS"),
    "limit 10,000": ("search_docs", {"query": "text", "limit": 10_000}, "INVALID_ARGUMENTS"),
    "limit 10,000 in list_documents": ("list_documents", {"limit": 10_000}, "INVALID_ARGUMENTS"),
    "context 6": ("get_doc", {"chunk_id": "api.md#tasks", "context": 6}, "INVALID_ARGUMENTS"),
    "empty query": ("search_docs", {"query": ""}, "EMPTY_QUERY"),
    "blank query": ("search_documents", {"query": " \n\t "}, "EMPTY_QUERY"),
    "malformed cursor": ("search_docs", {"query": "text", "cursor": "zzz"}, "INVALID_CURSOR"),
    "malformed cursor in list_documents": ("list_documents", {"cursor": "zzz"}, "INVALID_CURSOR"),
    # batches
    "empty batch": ("edit_document", {"operations": []}, "INVALID_ARGUMENTS"),
    "empty batch of views": ("view_document", {"operations": []}, "INVALID_ARGUMENTS"),
    "batch of 1,000 operations": (
        "edit_document",
        {"operations": [make_edit("add_task", slug="tasks", title="T")] * 1_000},
        "LIMIT_EXCEEDED",
    ),
    "single operation and batch in one call": (
        "edit_document",
        {**make_edit("add_section", title="C"), "operations": [make_edit("add_section", title="D")]},
        "INVALID_ARGUMENTS",
    ),
}


def check_error(response: ToolResponse, repo: Repo) -> None:
    """Check that an error is short, and contains no document text, local path or internal name."""
    assert len(response.text) < 3_000
    message = response.data["error"] + response.data.get("fix", "")
    for forbidden in (
        SECRET,
        str(repo.path),
        str(Path.home()),
        "Traceback",
        ".py",
        "pydantic",
        "object at 0x",
    ):
        assert forbidden not in message
    assert SECRET not in response.text
    assert str(repo.path) not in response.text


@loop_over("name", BAD_CALLS)
def test_bad_input_returns_error_with_example(server: Server, repo: Repo, name: str) -> None:
    tool, arguments, codes = BAD_CALLS[name]
    head_before = repo.head()
    response = server.call(tool, **arguments)
    assert response.is_error, response.text
    assert response.data["code"] in codes.split("|")
    assert response.data["commit"] == head_before == repo.head()
    assert response.data["usage"]
    check_error(response, repo)
    example_response = server.call(tool, **response.data["example"])
    if example_response.data.get("code") == "READ_FIRST":  # the response has the text that must be read first
        example_response = server.call(tool, **response.data["example"])
    assert not example_response.is_error, f"{response.data['example']} fails: {example_response.text}"


def test_example_for_unknown_name_in_remove_document_is_dry_run(server: Server) -> None:
    for arguments in (
        {"path": "nothing.md"},
        {"file": "api.md", "slug": "qqq"},
        {"file": "qqq.md", "slug": "q"},
    ):
        assert server.call("remove_document", **arguments).data["example"]["dry_run"] is True


def test_changed_cursor_is_refused(server: Server) -> None:
    page = server.call("search_docs", query="text find one", limit=1)
    cursor = page.data["next_cursor"]
    for changed_cursor in (
        cursor[:-1] + ("A" if cursor[-1] != "A" else "B"),
        cursor[1:],
        cursor + "AAAA",
        cursor.lower(),
    ):
        response = server.call("search_docs", query="text find one", limit=1, cursor=changed_cursor)
        assert (response.is_error, response.data["code"]) == (True, "INVALID_CURSOR")
    response = server.call("search_docs", query="other words", cursor=cursor)
    assert (response.is_error, response.data["code"]) == (True, "INVALID_CURSOR")
    assert not server.call("search_docs", query="text find one", limit=1, cursor=cursor).is_error


def test_failed_operation_in_batch_returns_error(server: Server, repo: Repo) -> None:
    valid_edit = make_edit("add_task", slug="tasks", title="Good")
    invalid_edit = make_edit("add_task", slug="qqq", title="Bad")
    head_before = repo.head()
    all_response = server.call("edit_document", operations=[valid_edit, invalid_edit, valid_edit], mode="all")
    assert all_response.is_error
    assert [result.get("status") for result in all_response.data["batch_results"]] == [
        "undone",
        None,
        "not_run",
    ]
    assert all_response.data["batch_results"][1]["code"] == "SECTION_NOT_FOUND"
    assert all_response.data["batch_results"][1]["usage"]
    assert repo.head() == all_response.data["commit"] == head_before
    each_response = server.call(
        "edit_document", operations=[valid_edit, invalid_edit, valid_edit], mode="each"
    )
    assert not each_response.is_error
    assert [result["success"] for result in each_response.data["batch_results"]] == [True, False, True]
    assert repo.git("rev-parse", "HEAD~1").strip() == head_before
    assert each_response.data["commit"] == repo.head()
    failed_response = server.call("edit_document", operations=[invalid_edit, invalid_edit])
    assert failed_response.is_error
    assert len(failed_response.text) < 3_000
    assert repo.head() == each_response.data["commit"]


def test_huge_or_unusual_query_returns_result_or_error(server: Server) -> None:
    for query in ("* OR (", "\0", "🚀", "a" * 300 + "*"):
        response = server.call("search_docs", query=query)
        assert not response.is_error
        assert len(response.text) < 20_000
    for query in (HUGE_TEXT, "word " * 500_000):
        response = server.call("search_docs", query=query)
        assert response.data["code"] == "QUERY_TOO_BROAD"
        assert "limit 10,000" in str(response.data["error"])
        assert len(response.text) < 20_000


@loop_over("size", [200, 20_000])
def test_adversarial_query_returns_answer_or_error(server: Server, size: int) -> None:
    for name, build_query in ADVERSARIAL_QUERIES.items():
        if name == "lone surrogates":
            continue  # a line of UTF-8 cannot contain lone surrogates
        response = server.call("search_docs", query=build_query(size))
        assert len(response.text) < 20_000, name
        if response.is_error:
            assert response.data["code"] in ("QUERY_TOO_BROAD", "EMPTY_QUERY"), name
        else:
            assert response.data["hits"] or response.data["hint"], name


def test_lone_surrogate_returns_error_without_commit(repo: Repo, home: Path) -> None:
    head_before = repo.head()
    client = RawClient(build_stdio_command(repo.path), build_user_environment(home))
    response = client.call(
        1, "edit_document", make_edit("append_content", slug="endpoints", content="\ud800")
    )
    assert response["error"]["code"] == -32700
    assert "surrogate" in response["error"]["message"]
    search = client.call(2, "search_docs", {"query": "text"})
    assert search["result"]["structuredContent"]["hits"]
    assert client.close() == ""
    assert repo.head() == head_before
