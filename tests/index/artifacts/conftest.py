"""Fixtures: a small artifact for each test, and the key of its seal."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from index.artifacts.build import build_artifact
from index.artifacts.contents import ContentFilter, read_commit_contents
from index.storage.keys import KEY_BYTES
from tests.index.conftest import GUIDES
from tests.repositories import Repo
from workspace.git.reader import GitReader

BuildArtifact = Callable[..., str]


@pytest.fixture(scope="session")
def key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def build_out(repo: Repo, out: Path, key: bytes) -> BuildArtifact:
    """Return a function that commits files, builds their sealed artifact, and returns the commit."""

    def build(files: Mapping[str, str] = GUIDES, *, key: bytes | None = key) -> str:
        commit = repo.commit(files)
        contents = read_commit_contents(GitReader(repo.path), commit, "docs", ContentFilter())
        build_artifact(contents, out, description="Guides", key=key, durable=False)
        return commit

    return build


@pytest.fixture
def artifact(build_out: BuildArtifact, out: Path) -> Path:
    """Return a sealed artifact of the guides."""
    build_out()
    return out
