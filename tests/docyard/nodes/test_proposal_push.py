"""The push of a proposal by a node, whose writes have pushed their commits already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.nodes.node import Node
from index.postgres.database import Database
from tests import repositories
from tests.databases import postgres  # noqa: F401
from tests.postgres_server import PostgresServer
from tests.repositories import Repo
from workspace.git.remotes.credentials import Access
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.proposal import Proposal
from workspace.sync.push import push_proposal
from workspace.sync.sync import sync
from workspace.workspace import Workspace

pytestmark = [pytest.mark.process, pytest.mark.guarantee]

ACTOR = Actor(Author("Ada", "ada@example.org", IdentitySource.GIT), "test", "tests")


class ServedClone:
    """A clone with its node, which has a lease in PostgreSQL."""

    def __init__(self, repo: Repo, database_url: str) -> None:
        self.repo = repo
        self.workspace = Workspace.open(repo.path, durable=False)
        self.node = Node(self.workspace, Access, Database(database_url), None)

    def open_proposal(self, title: str) -> Proposal:
        return self.workspace.proposal_actions().open(title, "", ACTOR)

    def push(self, proposal: Proposal) -> None:
        assert push_proposal(self.workspace, Access(), proposal.content.branch) is None

    def read_tip(self, branch: str) -> str:
        return self.repo.git("rev-parse", branch).strip()


@pytest.fixture
def remote_repo(tmp_path: Path) -> Repo:
    return repositories.create_bare_repository(tmp_path / "docs.git")


@pytest.fixture
def served_clones(
    tmp_path: Path,
    remote_repo: Repo,
    postgres: PostgresServer,  # noqa: F811
) -> Iterator[list[ServedClone]]:
    url = postgres.create_database()
    served_clones = [
        ServedClone(repositories.clone_repository(remote_repo, tmp_path / name), url)
        for name in ("first", "second")
    ]
    yield served_clones
    for served_clone in served_clones:
        served_clone.node.close()


@pytest.fixture
def other_user(tmp_path: Path, remote_repo: Repo) -> Repo:
    """Return the clone of a person who works without a node."""
    return repositories.clone_repository(remote_repo, tmp_path / "person")


def read_remote_tip(remote_repo: Repo, branch: str) -> str:
    return remote_repo.git("rev-parse", branch).strip()


def push_event_of_other_user(other_user: Repo) -> str:
    """Push an event of a person, and return the commit of the discussion."""
    other_user.git("fetch", "-q", "origin")
    other_user.git("branch", "-qf", DISCUSSION_BRANCH, f"origin/{DISCUSSION_BRANCH}")
    Workspace.open(other_user.path, durable=False).proposal_actions().open("Of a person", "", ACTOR)
    other_user.git("push", "-q", "origin", DISCUSSION_BRANCH)
    return other_user.git("rev-parse", DISCUSSION_BRANCH).strip()


def test_proposal_of_a_node_is_pushed_already(remote_repo: Repo, served_clones: list[ServedClone]) -> None:
    first, second = served_clones
    proposal = first.open_proposal("Words")
    for branch in (proposal.content.branch, DISCUSSION_BRANCH):
        assert read_remote_tip(remote_repo, branch) == first.read_tip(branch)
    first.push(proposal)
    first.node.close()
    found = second.open_proposal("Other words")
    second.push(found)
    assert {item.id for item in second.workspace.proposal_actions().list_all()} == {proposal.id, found.id}
    assert read_remote_tip(remote_repo, DISCUSSION_BRANCH) == second.read_tip(DISCUSSION_BRANCH)
    assert remote_repo.fsck() == ""


def test_push_of_a_proposal_keeps_events_that_another_user_has_pushed(
    remote_repo: Repo, served_clones: list[ServedClone], other_user: Repo
) -> None:
    first, _ = served_clones
    proposal = first.open_proposal("Words")
    event = push_event_of_other_user(other_user)
    first.push(proposal)
    assert read_remote_tip(remote_repo, DISCUSSION_BRANCH) == event
    first.open_proposal("More words")
    remote_repo.git("merge-base", "--is-ancestor", event, DISCUSSION_BRANCH)
    assert read_remote_tip(remote_repo, DISCUSSION_BRANCH) == first.read_tip(DISCUSSION_BRANCH)
    assert len(first.workspace.proposal_actions().list_all()) == 3


def test_commit_of_a_person_in_the_clone_of_a_node_is_pushed_with_its_proposal(
    remote_repo: Repo, served_clones: list[ServedClone]
) -> None:
    first, _ = served_clones
    proposal = first.open_proposal("Words")
    branch = proposal.content.branch
    first.repo.git("switch", "-q", branch)
    commit = first.repo.commit({"own.md": "# Own\n"})
    first.repo.git("switch", "-q", "main")
    first.push(proposal)
    assert read_remote_tip(remote_repo, branch) == commit


def test_push_of_a_proposal_after_another_node_has_written_needs_no_lease(
    remote_repo: Repo, served_clones: list[ServedClone]
) -> None:
    """The clone is behind: its node has nothing to merge, and fetches the other events later."""
    first, second = served_clones
    proposal = first.open_proposal("Words")
    second.open_proposal("Of another node")
    tip = read_remote_tip(remote_repo, DISCUSSION_BRANCH)
    first.push(proposal)
    assert read_remote_tip(remote_repo, DISCUSSION_BRANCH) == tip == second.read_tip(DISCUSSION_BRANCH)
    third = first.open_proposal("More words")
    first.push(third)
    assert len(first.workspace.proposal_actions().list_all()) == 3


def test_push_of_a_proposal_reports_a_discussion_that_has_diverged(
    remote_repo: Repo, served_clones: list[ServedClone], other_user: Repo
) -> None:
    """A command has written an event to the clone of the node, and another user has pushed one."""
    first, _ = served_clones
    proposal = first.open_proposal("Words")
    event = push_event_of_other_user(other_user)
    Workspace.open(first.repo.path, durable=False).proposal_actions().open("By a command", "", ACTOR)
    error = push_proposal(first.workspace, Access(), proposal.content.branch)
    assert error is not None
    assert error.code == "UPSTREAM_DIVERGED"
    assert read_remote_tip(remote_repo, DISCUSSION_BRANCH) == event
    sync(Workspace.open(first.repo.path, durable=False), Access())
    first.open_proposal("More words")
    first.push(proposal)
    assert len(first.workspace.proposal_actions().list_all()) == 4
    assert read_remote_tip(remote_repo, DISCUSSION_BRANCH) == first.read_tip(DISCUSSION_BRANCH)
