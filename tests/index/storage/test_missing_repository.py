"""A missing repository, for which no index is created at its path or in the user's cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from index.service import SearchIndex
from index.storage.location import find_candidate_folders
from tests.repositories import Repo
from workspace.branch import BranchNotFound
from workspace.git.repository import RepositoryMissing
from workspace.workspace import Workspace


@pytest.mark.parametrize("is_open", [True, False])
def test_missing_repository_raises_and_creates_no_index(
    repo: Repo, open_index: Callable[[], SearchIndex], tmp_path: Path, is_open: bool
) -> None:
    index = open_index()
    if is_open:
        index.update_to_tip()
    before = sorted((tmp_path / "cache").rglob("*"))
    repo.path.rename(tmp_path / "moved")
    for call in (
        index.update_to_tip,
        index.rebuild,
        index.sweep,
        index.status,
        lambda: index.search("errors"),
    ):
        with pytest.raises(RepositoryMissing):
            call()
    assert (index.metadata() is None) is not is_open
    assert not repo.path.exists()
    assert sorted((tmp_path / "cache").rglob("*")) == before
    (tmp_path / "moved").rename(repo.path)
    assert index.search("errors").hits
    assert index.status().is_current


def test_folder_without_repository_has_no_index_location(tmp_path: Path) -> None:
    assert list(find_candidate_folders(tmp_path, "name")) == []


def test_deleted_branch_is_not_searched(repo: Repo) -> None:
    repo.git("branch", "side")
    index = SearchIndex(Workspace.open(repo.path, branch="side"))
    assert index.search("errors").hits
    repo.git("branch", "-D", "side")
    with pytest.raises(BranchNotFound):
        index.search("errors")
    repo.git("branch", "side", "main")
    assert index.search("errors").hits
