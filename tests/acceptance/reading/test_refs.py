"""The parameter `ref` and moved addresses, through a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serve_repository
from tests.repositories import Repo, create_repository

FILES = {"api.md": "# API\n\nOld text.\n\n## Usage\n\nThe heron.\n", "other.md": "# Other\n\nText.\n"}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository with a document that was tagged, changed and then renamed."""
    repo = create_repository(tmp_path_factory.mktemp("refs") / "docs", FILES)
    repo.git("tag", "v1")
    repo.commit({"api.md": FILES["api.md"].replace("heron", "kestrel")})
    repo.git("mv", "api.md", "reference.md")
    repo.commit({})
    return repo


@pytest.fixture(scope="module")
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serve_repository(repo.path, home) as server:
        yield server


def test_text_at_tag_is_read_and_found(server: Server, repo: Repo) -> None:
    tag_commit = repo.git("rev-parse", "v1").strip()
    view = server.call("view_document", file="api.md", slug="usage", ref="v1")
    assert (view.data["content"], view.data["commit"]) == ("## Usage\n\nThe heron.\n", tag_commit)
    chunk = server.call("get_doc", chunk_id="api.md#usage", ref="v1")
    assert chunk.text == "--- Chunk: api.md#usage (Chunk 2 of 2) (Target) ---\n## Usage\n\nThe heron."
    search_data = server.call("search_docs", query="heron", ref="v1").data
    assert [hit["chunk_id"] for hit in search_data["hits"]] == ["api.md#usage"]
    assert search_data["commit"] == tag_commit
    assert server.call("search_docs", query="heron").data["hits"] == []
    documents = server.call("list_documents", ref="@{2099-12-31}").data["documents"]
    assert [entry["path"] for entry in documents] == ["other.md", "reference.md"]


def test_old_address_returns_current_address(server: Server, repo: Repo) -> None:
    expected = {"file": "reference.md", "slug": "usage", "commit": repo.head()}
    view = server.call("view_document", file="api.md", slug="usage")
    assert not view.is_error
    assert view.data["moved_to"] == expected
    edit_response = server.call(
        "edit_document", operation="append_content", file="api.md", slug="usage", content="x"
    )
    assert edit_response.is_error
    assert edit_response.data["moved_to"] == expected
    assert edit_response.data["example"]["file"] == "reference.md"
