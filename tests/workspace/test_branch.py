"""Objects that branches of one repository share, and objects that each has of its own."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from workspace.branch import Branch
from workspace.git.reader import GitReader
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke


def test_other_branch_has_same_class(repo: Repo) -> None:
    repo.git("branch", "other")
    git = GitReader(repo.path)
    assert type(Branch(git).on("other")) is Branch
    workspace = Workspace(git)
    other = workspace.on("other")
    assert type(other) is Workspace
    assert workspace.on("other") is other
    assert other.on("other") is other
    assert (other.served, workspace.served) == (workspace, workspace)


def test_branches_of_repository_share_lock_and_services(repo: Repo) -> None:
    repo.git("branch", "other")
    workspace = Workspace(GitReader(repo.path))
    other = workspace.on("other")
    assert other.writer_lock is workspace.writer_lock
    assert other.history() is workspace.history()
    assert other.proposal_reviews() is workspace.proposal_reviews()
    assert other.inbound is workspace.inbound


def test_each_branch_has_own_guards(repo: Repo) -> None:
    repo.git("branch", "other")
    workspace = Workspace(GitReader(repo.path))
    other = workspace.on("other")
    assert list(other.guards) == list(workspace.guards) == ["remote"]
    assert other.guards["remote"] is not workspace.guards["remote"]
