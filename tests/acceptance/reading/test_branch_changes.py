"""Changes to the branch with the git program: the next read, search or write uses the new state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import MCPError

from tests.acceptance.server import Server, serve_repository
from tests.repositories import (
    Repo,
    add_work_tree,
    create_bare_repository,
    create_empty_repository,
    create_repository,
)

PAGE_TEMPLATE = "# Guide\n\n## Topic\n\nThe {} swims here.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(
        tmp_path / "docs", {"guide.md": PAGE_TEMPLATE.format("walrus"), "other.md": "# Other\n\nA heron.\n"}
    )


@pytest.fixture
def server(repo: Repo, home: Path) -> Iterator[Server]:
    with serve_repository(repo.path, home) as server:
        yield server


def check_indexed_words(server: Server, repo: Repo, *, present: str, absent: str) -> None:
    """Check that searches and reads return the word `present` at HEAD, and do not find `absent`."""
    search = server.call("search_docs", query=present)
    assert [hit["chunk_id"] for hit in search.data["hits"]] == ["guide.md#topic"]
    assert search.data["commit"] == repo.head()
    assert search.data["blobs"] == {"guide.md": repo.git("rev-parse", "HEAD:guide.md").strip()}
    assert server.call("search_docs", query=absent).data["hits"] == []
    chunk = server.call("get_doc", chunk_id="guide.md#topic")
    assert chunk.text.endswith(f"The {present} swims here.")
    assert chunk.data["commit"] == repo.head()
    assert present in server.call("view_document", file="guide.md", slug="topic").data["content"]


def test_search_returns_state_after_commit_amend_reset_and_switch(server: Server, repo: Repo) -> None:
    check_indexed_words(server, repo, present="walrus", absent="otter")
    first_commit = repo.head()

    repo.commit({"guide.md": PAGE_TEMPLATE.format("otter")})
    check_indexed_words(server, repo, present="otter", absent="walrus")

    repo.write({"guide.md": PAGE_TEMPLATE.format("badger")})
    repo.git("commit", "-q", "-a", "--amend", "-m", "Amended")
    check_indexed_words(server, repo, present="badger", absent="otter")

    repo.git("reset", "-q", "--hard", first_commit)
    check_indexed_words(server, repo, present="walrus", absent="badger")

    repo.git("switch", "-q", "-c", "topic")
    repo.commit({"guide.md": PAGE_TEMPLATE.format("lynx")})
    check_indexed_words(server, repo, present="lynx", absent="walrus")

    repo.git("switch", "-q", "main")
    check_indexed_words(server, repo, present="walrus", absent="lynx")

    repo.git("switch", "-q", "--detach", "topic")
    check_indexed_words(server, repo, present="lynx", absent="walrus")

    repo.git("rm", "-q", "other.md")
    repo.git("commit", "-q", "-m", "Remove")
    paths = [entry["path"] for entry in server.call("list_documents").data["documents"]]
    assert paths == ["guide.md"]
    assert server.call("search_docs", query="heron").data["hits"] == []


def test_write_changes_checked_out_branch(server: Server, repo: Repo) -> None:
    main_commit = repo.head()
    repo.git("switch", "-q", "-c", "topic")
    response = server.call("tag_document", file="guide.md", tags=["new"])
    assert response.data["commit"] == repo.git("rev-parse", "topic").strip() != main_commit
    assert repo.git("rev-parse", "main").strip() == main_commit
    assert repo.status() == ""

    repo.git("switch", "-q", "--detach")
    refused_response = server.call("tag_document", file="guide.md", tags=["newer"])
    assert refused_response.data["code"] == "DETACHED_HEAD"
    assert "git switch" in refused_response.data["fix"]

    repo.git("switch", "-q", "main")
    response = server.call("tag_document", file="guide.md", tags=["here"])
    assert response.data["commit"] == repo.head() == repo.git("rev-parse", "main").strip()
    assert repo.fsck() == repo.status() == ""


def test_named_branch_is_served_with_another_branch_checked_out(repo: Repo, home: Path) -> None:
    repo.git("branch", "served")
    with serve_repository(repo.path, home, "--branch", "served") as server:
        repo.commit({"guide.md": PAGE_TEMPLATE.format("otter")})
        assert server.call("search_docs", query="otter").data["hits"] == []
        response = server.call("tag_document", file="guide.md", tags=["new"])
        assert response.data["commit"] == repo.git("rev-parse", "served").strip()
        assert server.call("search_docs", query="walrus", tags="new").data["hits"]
    assert repo.fsck() == repo.status() == ""


def test_search_finds_new_commit_of_linked_work_tree_and_bare_repository(
    repo: Repo, tmp_path: Path, home: Path
) -> None:
    work_tree = add_work_tree(repo, tmp_path / "tree", "side")
    with serve_repository(work_tree.path, home) as server:
        work_tree.commit({"guide.md": PAGE_TEMPLATE.format("otter")})
        check_indexed_words(server, work_tree, present="otter", absent="walrus")
    bare_repo = create_bare_repository(tmp_path / "hub.git", {"guide.md": PAGE_TEMPLATE.format("walrus")})
    with serve_repository(bare_repo.path, home) as server:
        check_indexed_words(server, bare_repo, present="walrus", absent="otter")
        clone = Repo(tmp_path / "clone")
        bare_repo.git("clone", "-q", ".", str(clone.path))
        for name in ("user.name", "user.email"):
            clone.git("config", name, "Ada")
        clone.commit({"guide.md": PAGE_TEMPLATE.format("otter")})
        clone.git("push", "-q", "origin", "main")
        check_indexed_words(server, bare_repo, present="otter", absent="walrus")


def test_cursor_of_older_commit_is_refused(server: Server, repo: Repo) -> None:
    page = server.call("search_docs", query="walrus heron", limit=1)
    assert page.data["next_cursor"]
    repo.commit({"new.md": "# New\n"})
    response = server.call("search_docs", query="walrus heron", limit=1, cursor=page.data["next_cursor"])
    assert (response.is_error, response.data["code"]) == (True, "CURSOR_STALE")


def test_create_document_makes_first_commit_on_unborn_branch(tmp_path: Path, home: Path) -> None:
    repo = create_empty_repository(tmp_path / "new")
    with serve_repository(repo.path, home) as server:
        assert server.call("list_documents").data["commit"] is None
        search = server.call("search_docs", query="anything").data
        assert (search["hits"], search["commit"]) == ([], None)
        response = server.call("create_document", doc_type="document", title="First")
        assert response.data["commit"] == repo.head()
        assert server.call("search_docs", query="first").data["hits"]
        with pytest.raises(MCPError):
            server.call("create_documents")
    assert repo.fsck() == repo.status() == ""
