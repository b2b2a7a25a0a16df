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
def artifact_folder(tmp_path: Path) -> Path:
    """Return the folder to which `commit_and_build` writes the artifact."""
    return tmp_path / "site"


@pytest.fixture
def commit_and_build(repo: Repo, artifact_folder: Path, key: bytes) -> BuildArtifact:
    """Return a function that commits files, builds their artifact, and returns the commit.

    The artifact is sealed, unless the function is called with `key=None`.
    """

    def build(files: Mapping[str, str] = GUIDES, *, key: bytes | None = key) -> str:
        commit = repo.commit(files)
        contents = read_commit_contents(GitReader(repo.path), commit, "docs", ContentFilter())
        build_artifact(contents, artifact_folder, description="Guides", key=key, durable=False)
        return commit

    return build


@pytest.fixture
def artifact(commit_and_build: BuildArtifact, artifact_folder: Path) -> Path:
    """Build a sealed artifact of the guides, and return its folder."""
    commit_and_build()
    return artifact_folder
