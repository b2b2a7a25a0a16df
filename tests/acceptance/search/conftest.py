"""Fixtures of the search tests: a repository with the module's `FILES`, and its server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import ProtocolMode, Server, serve_repository
from tests.repositories import Repo, create_repository


@pytest.fixture(scope="module")
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository with the files in `FILES` of the test module."""
    return create_repository(tmp_path_factory.mktemp("sources") / "docs", request.module.FILES)


@pytest.fixture(scope="module", params=["auto", "legacy"])
def server(request: pytest.FixtureRequest, repo: Repo, home: Path) -> Iterator[Server]:
    """Yield a server with only the toolset `search`."""
    protocol: ProtocolMode = request.param
    with serve_repository(repo.path, home, "--toolsets", "search", protocol=protocol) as server:
        yield server
