"""Fixtures: a dispatcher over a small repository, with a separate user key and index."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from index.service import SearchIndex
from index.storage.keys import _load_user_key
from tests.repositories import Repo, create_repository
from tools.dispatcher import ToolDispatcher
from tools.tool import Answer
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts

API_TEXT = """---
type: api_spec
---

# API

Introduction.

## Endpoints

Paths begin with /v1.

### Search

Finds things.

## Tasks

- [x] Define schemas
  - Criteria: OpenAPI
- [ ] Write tests
- [ ] Ship it
"""

CallTool = Callable[..., Answer]


@pytest.fixture(autouse=True)
def isolate_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _load_user_key.cache_clear()


@pytest.fixture(autouse=True)
def increase_graph_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for all links, on a busy machine too."""
    monkeypatch.setattr("tools.outline._GRAPH_TIMEOUT_S", 60.0)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(
        tmp_path / "docs", {"api.md": API_TEXT, "notes/plain.md": "# Plain\n\nNothing of note.\n"}
    )


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), None, False)


@pytest.fixture
def call_tool(dispatcher: ToolDispatcher) -> CallTool:
    """Return a function that calls a tool with fields, as a client whose read texts are recorded."""
    return make_client(dispatcher)


def make_client(dispatcher: ToolDispatcher, seen_texts: SeenTexts | None = None) -> CallTool:
    """Return the call function of another client of a server; `seen_texts` are the texts that it has read."""
    client_texts = SeenTexts() if seen_texts is None else seen_texts

    def call(tool: str, /, **arguments: object) -> Answer:
        return dispatcher.call(tool, arguments, client="tester", seen_texts=client_texts)

    return call


def parse_next_call(answer: Answer) -> tuple[str, dict[str, Any]]:
    """Return the call that an answer's next step names: the tool, and its fields."""
    match = re.search(r"(\w+) (\{.*\})", answer.data["next_step"])
    assert match, answer.data
    return match[1], json.loads(match[2])
