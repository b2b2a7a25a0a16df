"""Builds without vectors and with those of the provider `hash`: of an index, and of an artifact.

Each build has a process of its own, because a second build in a process is faster than the first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.timing import measure_seconds
from index.artifacts.build import build_artifact
from index.artifacts.contents import ContentFilter, read_commit_contents
from index.service import SearchIndex
from index.vectors.hash_embedder import HashEmbedder
from index.vectors.options import EmbeddingOptions
from index.vectors.provider import Provider
from workspace.git.reader import GitReader
from workspace.workspace import Workspace


def measure(repository: str, folder: str, build: str) -> dict[str, Any]:
    """Return the seconds of a build in a new folder.

    `build` is `index`, which is rebuilt and then embedded, `artifact`, or `artifact_with_vectors`.
    """
    if build == "index":
        return _measure_index(repository, Path(folder))
    provider = Provider(HashEmbedder()) if build == "artifact_with_vectors" else None
    return _measure_artifact(repository, Path(folder), provider)


def _measure_index(repository: str, folder: Path) -> dict[str, Any]:
    folder.mkdir(mode=0o700)
    search = SearchIndex(
        Workspace.open(Path(repository)),
        location=folder,
        embedding=EmbeddingOptions(Provider(HashEmbedder()), in_background=False),
    )
    rebuild_s = measure_seconds(search.rebuild)
    embed_s = measure_seconds(search.embed_sections)
    search.close()
    return {"rebuild_s": rebuild_s, "embed_s": embed_s}


def _measure_artifact(repository: str, out: Path, provider: Provider | None) -> dict[str, Any]:
    # A build embeds nothing that an earlier build has cached for the user.
    os.environ["XDG_CACHE_HOME"] = f"{out}-cache"
    git = GitReader(Path(repository))
    commit = git.head().commit
    assert commit is not None
    contents = read_commit_contents(git, commit, "benchmark", ContentFilter())
    return {
        "seconds": measure_seconds(lambda: build_artifact(contents, out, key=bytes(32), provider=provider))
    }
