"""A toolbox with every tool, over a repository whose specs are protected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, normal
from tests.tools.conftest import API, CallTool, make_client, next_call
from tools.registry import Toolbox
from tools.tool import Answer
from tools.toolsets import TOOLSETS
from workspace.policy.tokens import Tokens
from workspace.workspace import Workspace

RULES = '[[protect]]\npaths = ["specs/**"]\n'
FILES = {
    "docyard.toml": RULES,
    "api.md": API,
    "specs/limits.md": "# Limits\n\nFair use.\n\n## Rate\n\nTen a second.\n",
    "notes/plain.md": "# Plain\n\nNothing of note.\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", FILES)


@pytest.fixture
def workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path, durable=False)


@pytest.fixture
def toolbox(workspace: Workspace) -> Toolbox:
    return Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False)


@pytest.fixture
def proposal(call_tool: CallTool) -> str:
    """Return the id of a proposal without commits."""
    return create_proposal(call_tool, "Rate limits")


def create_proposal(call_tool: CallTool, title: str) -> str:
    answer = call_tool("create_proposal", title=title, description="Because.")
    assert not answer.is_error, answer.data
    return str(answer.data["proposal"])


def check_success(answer: Answer) -> dict[str, Any]:
    """Return the data of a successful call. Its next step must succeed or lack only a text."""
    assert not answer.is_error, answer.data
    assert len(answer.data["commit"]) == 40
    assert answer.data["next_step"]
    return answer.data


def read_resolution_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields of an answer that resolutions must repeat."""
    return {name: answer.data[name] for name in ("commit", "target_commit")}


def follow_next_step(call_tool: CallTool, answer: Answer) -> Answer:
    """Return the answer to the call of an answer's next step. The call must be valid."""
    tool, arguments = next_call(answer)
    response = call_tool(tool, **arguments)
    assert not response.is_error, (tool, arguments, response.data)
    return response


def approve_proposal(workspace: Workspace, id: str, token: str = "ben") -> None:
    """Approve a proposal as the owner of a new token."""
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.events import Author, KnownBy, ReviewDecision

    tokens = Tokens(workspace.git.common_dir)
    person = tokens.person(tokens.add(token, token.title(), f"{token}@example.org"))
    author = Author(person.name, person.email, KnownBy.TOKEN, person.token)
    workspace.proposal_actions().review(
        id, Actor(author, "test", "test", person), ReviewDecision.APPROVE, "Good."
    )


__all__ = ["CallTool", "make_client"]
