"""The time that a new process takes to open an artifact with its key, and the result lists of queries."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.search.queries import make_top_ten_search
from benchmarks.timing import measure_seconds

ENGINE_MODULES = (
    "index.artifacts.search_index",
    "index.whoosh_engine.engine",
    "index.query",
    "index.snippets",
    "index.cursors",
)
"""The modules imported before an artifact is opened. Their import time does not depend on the artifact."""


def measure(artifact_folder: str, key_file: str, queries: list[str]) -> dict[str, Any]:
    """Return milliseconds of the imports and of the opening, and the result lists of all queries.

    Raises ValueError if the key did not seal the artifact.
    """
    import_s = measure_seconds(lambda: [import_module(name) for name in ENGINE_MODULES])
    from index.artifacts.artifact import open_artifact
    from index.artifacts.search_index import ArtifactSearchIndex
    from index.storage.keys import read_key_file

    indexes: list[ArtifactSearchIndex] = []

    def open_index() -> None:
        index = ArtifactSearchIndex(open_artifact(Path(artifact_folder), read_key_file(Path(key_file))))
        index.update_to_tip()
        indexes.append(index)

    open_s = measure_seconds(open_index)
    [index] = indexes
    if not index.artifact.is_trusted:
        raise ValueError("the artifact has no valid seal that was made with the key")
    return {
        "import_ms": import_s * 1e3,
        "open_ms": open_s * 1e3,
        "result_lists": list(map(make_top_ten_search(index), queries)),
    }
