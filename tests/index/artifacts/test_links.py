"""Backlinks of an artifact without a repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from index.artifacts.artifact import open_artifact
from index.artifacts.search_index import ArtifactSearchIndex
from tests.repositories import Repo


@pytest.mark.parametrize("is_sealed", [True, False])
def test_artifact_returns_backlinks_without_its_repository(
    artifact: Path, repo: Repo, key: bytes, is_sealed: bool
) -> None:
    shutil.rmtree(repo.path)
    index = ArtifactSearchIndex(open_artifact(artifact, key if is_sealed else None))
    snapshot = index.workspace.snapshot()
    assert index.links.find_records(snapshot, "guides/limits.md") is None
    index.links.update_in_background(snapshot).join()
    records = index.links.find_records(snapshot, "guides/limits.md")
    assert records is not None
    assert [path for path, _ in records] == ["guides/retries.md"]
    index.close()
