"""The vectors of a repository's sections, embedded before searches are measured in other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.search.vectors import RandomEmbedder, open_index
from index.vectors.provider import Provider


def measure(repository: str) -> dict[str, Any]:
    """Embed all sections; return the bytes of their vectors on disk, and the number of sections."""
    search = open_index(repository, Provider(RandomEmbedder()))
    report = search.embed_sections()
    search.close()
    assert report is not None
    files = Path(repository, ".git", "docyard", "index").glob("vectors-*/*")
    return {"bytes": sum(file.stat().st_size for file in files), "sections": report.coverage.total}
