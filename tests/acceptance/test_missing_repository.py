"""A repository, work tree or branch that is moved or deleted while a server runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import Server, serve_repository
from tests.repositories import Repo, add_work_tree, create_repository

PAGE_TEXT = "# Guide\n\n## Topic\n\nThe walrus swims here.\n"

READ_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_documents", {}),
    ("view_document", {"file": "guide.md"}),
    ("search_docs", {"query": "walrus"}),
    ("get_doc", {"chunk_id": "guide.md#topic"}),
)
WRITE_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("edit_document", {"file": "guide.md", "operation": "append_content", "slug": "topic", "content": "x"}),
    ("create_document", {"doc_type": "document", "title": "New"}),
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {"guide.md": PAGE_TEXT})


def collect_error_codes(server: Server, *, writes: bool = True) -> set[str | None]:
    """Return the set of error codes of the calls; None means that a call succeeded."""
    calls = (*READ_CALLS, *WRITE_CALLS) if writes else READ_CALLS
    return {server.call(tool, **fields).data.get("code") for tool, fields in calls}


@pytest.mark.parametrize(("options", "has_earlier_call"), [((), True), (("--read-only",), False)])
def test_moved_repository_returns_errors_until_it_is_restored(
    repo: Repo, home: Path, options: tuple[str, ...], has_earlier_call: bool
) -> None:
    writes, moved_path = not options, repo.path.with_name("moved")
    with serve_repository(repo.path, home, *options) as server:
        if has_earlier_call:
            assert collect_error_codes(server, writes=False) == {None}
        repo.path.rename(moved_path)
        assert collect_error_codes(server, writes=writes) == {"REPOSITORY_GONE"}
        assert not repo.path.exists()
        repo.path.mkdir()
        assert collect_error_codes(server, writes=writes) == {"REPOSITORY_GONE"}
        assert list(repo.path.iterdir()) == []
        repo.path.rmdir()
        moved_path.rename(repo.path)
        assert collect_error_codes(server, writes=writes) == {None}
    assert repo.fsck() == repo.status() == ""


def test_deleted_branch_returns_errors_until_it_is_recreated(repo: Repo, home: Path) -> None:
    repo.git("branch", "side")
    with serve_repository(repo.path, home, "--branch", "side") as server:
        assert collect_error_codes(server, writes=False) == {None}
        repo.git("branch", "-D", "side")
        assert collect_error_codes(server) == {"BRANCH_NOT_FOUND"}
        assert repo.git("branch", "--list", "side") == ""
        repo.git("branch", "side", "main")
        assert collect_error_codes(server) == {None}
    assert repo.git("rev-list", "--count", "side").strip() == "3"
    assert repo.fsck() == repo.status() == ""


def test_removed_work_tree_returns_errors(repo: Repo, home: Path, tmp_path: Path) -> None:
    work_tree = add_work_tree(repo, tmp_path / "tree", "side")
    with serve_repository(work_tree.path, home) as server:
        assert collect_error_codes(server, writes=False) == {None}
        repo.git("worktree", "remove", "--force", str(work_tree.path))
        assert collect_error_codes(server) == {"REPOSITORY_GONE"}
        assert not work_tree.path.exists()
    assert repo.git("rev-list", "--count", "side").strip() == "1"
    assert not (repo.path / ".git" / "worktrees").exists()
