"""Fixtures: a server with the tools for comments, and functions that comment."""

from __future__ import annotations

from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

TOOLSETS = ("comments", "documents", "proposals")


def make_dispatcher(repo: Repo, *, read_only: bool = False) -> ToolDispatcher:
    """Return a server of a repository."""
    workspace = Workspace.open(repo.path, read_only=read_only, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, read_only)


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    return make_dispatcher(repo)


def comment(call_tool: CallTool, text: str = "Which version?", slug: str = "endpoints", **fields: Any) -> str:
    """Comment on a section of `api.md`, and return the comment's id."""
    answer = call_tool("comment_document", **{"file": "api.md", "slug": slug, "text": text, **fields})
    assert not answer.is_error, answer.data
    return str(answer.data["comment"])


def list_open(call_tool: CallTool, **fields: Any) -> list[dict[str, Any]]:
    """Return the entries of the first page."""
    answer = call_tool("list_comments", **fields)
    assert not answer.is_error, answer.data
    entries: list[dict[str, Any]] = answer.data["comments"]
    return entries
