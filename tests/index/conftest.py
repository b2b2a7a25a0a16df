"""Fixtures: a key and an index for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from index.service import SearchIndex
from index.storage.keys import _load_user_key
from tests.repositories import Repo, create_repository
from workspace.workspace import Workspace

GUIDES: dict[str, str] = {
    "guides/retries.md": (
        "---\ntype: runbook\ntags: [network, sdk]\n---\n# Retries\n\n"
        "This guide explains how to configure retries.\n\n"
        "## Backoff Strategy {#backoff}\n\n"
        "The SDK uses an exponential backoff, see [limits](limits.md#zanzibar).\n\n"
        "### Jitter\n\nTo prevent thundering herds, jitter is applied.\n\n"
        "## Errors\n\n```python\nraise RateLimitError(retry_after=3)\n```\n"
    ),
    "guides/limits.md": (
        "---\ntype: api_spec\ntags: [network]\n---\n# Limits\n\n## Rate Limit\n\nTen requests a second.\n\n"
        "## Errors\n\nA RateLimitError says when to retry.\n"
    ),
    "notes/plain.md": "# Why not?\n\nNothing of note.\n",
    "notes/empty.md": "",
}


@pytest.fixture(autouse=True)
def temporary_key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the user's real key and cache with temporary ones."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _load_user_key.cache_clear()
    return tmp_path / "state" / "docyard" / "key"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", GUIDES)


@pytest.fixture
def open_index(repo: Repo) -> Callable[[], SearchIndex]:
    """Return a function that opens an index as another process does."""
    return lambda: SearchIndex(Workspace.open(repo.path))


@pytest.fixture
def index(open_index: Callable[[], SearchIndex]) -> SearchIndex:
    return open_index()
