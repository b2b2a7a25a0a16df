"""The branches of one repository share a writer lock and services, and each has its own guards."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from workspace.branch import Branch
from workspace.git.reader import GitReader
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke


def test_workspace_of_another_branch_has_the_same_class(repo: Repo) -> None:
    repo.git("branch", "other")
    git = GitReader(repo.path)
    assert type(Branch(git).for_branch("other")) is Branch
    workspace = Workspace(git)
    other_workspace = workspace.for_branch("other")
    assert type(other_workspace) is Workspace
    assert workspace.for_branch("other") is other_workspace
    assert other_workspace.for_branch("other") is other_workspace
    assert (other_workspace.served_branch, workspace.served_branch) == (workspace, workspace)


def test_branches_of_repository_share_lock_and_services(repo: Repo) -> None:
    repo.git("branch", "other")
    workspace = Workspace(GitReader(repo.path))
    other_workspace = workspace.for_branch("other")
    assert other_workspace.writer_lock is workspace.writer_lock
    assert other_workspace.history() is workspace.history()
    assert other_workspace.proposal_reviews() is workspace.proposal_reviews()
    assert other_workspace.inbound_links is workspace.inbound_links


def test_each_branch_has_own_guards(repo: Repo) -> None:
    repo.git("branch", "other")
    workspace = Workspace(GitReader(repo.path))
    other_workspace = workspace.for_branch("other")
    assert list(other_workspace.guards) == list(workspace.guards) == ["remote"]
    assert other_workspace.guards["remote"] is not workspace.guards["remote"]
