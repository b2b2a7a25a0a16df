"""A dispatcher that offers every tool, over a repository whose specs are protected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import API_TEXT, CallTool, make_client, parse_next_call
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

RULES = '[[protect]]\npaths = ["specs/**"]\n'
FILES = {
    "docyard.toml": RULES,
    "api.md": API_TEXT,
    "specs/limits.md": "# Limits\n\nFair use.\n\n## Rate\n\nTen a second.\n",
    "notes/plain.md": "# Plain\n\nNothing of note.\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path, durable=False)


@pytest.fixture
def dispatcher(workspace: Workspace) -> ToolDispatcher:
    return ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)


@pytest.fixture
def proposal(call_tool: CallTool) -> str:
    """Return the id of a proposal without commits."""
    return create_proposal(call_tool, "Rate limits")


def create_proposal(call_tool: CallTool, title: str) -> str:
    answer = call_tool("create_proposal", title=title, description="Because.")
    assert not answer.is_error, answer.data
    return str(answer.data["proposal"])


def check_success(answer: Answer) -> dict[str, Any]:
    """Check that a call succeeded, with a commit and a next step, and return its data."""
    assert not answer.is_error, answer.data
    assert len(answer.data["commit"]) == 40
    assert answer.data["next_step"]
    return answer.data


def get_commit_fields(answer: Answer) -> dict[str, Any]:
    """Return the commits of an answer, which resolutions must repeat."""
    return {name: answer.data[name] for name in ("commit", "target_commit")}


def call_next_step(call_tool: CallTool, answer: Answer) -> Answer:
    """Make the call that the next step of an answer names, check that it succeeds, and return its answer."""
    tool, arguments = parse_next_call(answer)
    result = call_tool(tool, **arguments)
    assert not result.is_error, (tool, arguments, result.data)
    return result


def approve_as_person(workspace: Workspace, id: str, token: str = "ben") -> None:
    """Approve a proposal as a person with a new token."""
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.events import Author, IdentitySource, ReviewDecision

    tokens = Tokens(workspace.git.common_dir)
    person = tokens.person(tokens.add(token, token.title(), f"{token}@example.org"))
    author = Author(person.name, person.email, IdentitySource.TOKEN, person.token)
    workspace.proposal_actions().review(
        id, Actor(author, "test", "test", person), ReviewDecision.APPROVE, "Good."
    )


__all__ = ["CallTool", "make_client"]
