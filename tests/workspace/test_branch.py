"""What the branches of one repository share, and what each has for itself."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from workspace.branch import Branch
from workspace.git.reader import GitReader
from workspace.workspace import Workspace

pytestmark = pytest.mark.smoke


def test_another_branch_is_of_the_same_class(repo: Repo) -> None:
    repo.git("branch", "other")
    git = GitReader(repo.path)
    assert type(Branch(git).on("other")) is Branch
    workspace = Workspace(git)
    other = workspace.on("other")
    assert type(other) is Workspace
    assert workspace.on("other") is other
    assert other.on("other") is other
    assert (other.served, workspace.served) == (workspace, workspace)


def test_branches_share_what_is_made_for_the_repository(repo: Repo) -> None:
    repo.git("branch", "other")
    workspace = Workspace(GitReader(repo.path))
    other = workspace.on("other")
    assert other.turn is workspace.turn
    assert other.history() is workspace.history()
    assert other.reviewing() is workspace.reviewing()
    assert other.inbound is workspace.inbound


def test_each_branch_guards_its_own_writes(repo: Repo) -> None:
    repo.git("branch", "other")
    workspace = Workspace(GitReader(repo.path))
    other = workspace.on("other")
    assert list(other.guards) == list(workspace.guards) == ["remote"]
    assert other.guards["remote"] is not workspace.guards["remote"]
