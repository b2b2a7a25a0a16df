"""Opening of an artifact with its key in a new process, and its result lists."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.search.queries import best_of
from benchmarks.timing import seconds

ENGINE = (
    "index.artifacts.frozen",
    "index.whoosh_engine.engine",
    "index.query",
    "index.snippets",
    "index.cursors",
)
"""Modules imported before an artifact is opened; their time is equal for any artifact."""


def measure(out: str, key: str, queries: list[str]) -> dict[str, Any]:
    """Measure the imports and the opening in milliseconds; return the lists of all queries too."""
    imported = seconds(lambda: [import_module(name) for name in ENGINE])
    from index.artifacts.artifact import open_artifact
    from index.artifacts.frozen import FrozenIndex
    from index.storage.keys import read_key

    opened: list[FrozenIndex] = []

    def open_it() -> None:
        index = FrozenIndex(open_artifact(Path(out), read_key(Path(key))))
        index.follow()
        opened.append(index)

    took = seconds(open_it)
    [index] = opened
    if not index.artifact.is_trusted:
        raise ValueError("the artifact does not carry the seal of its key")
    return {
        "import_ms": imported * 1e3,
        "open_ms": took * 1e3,
        "lists": list(map(best_of(index), queries)),
    }
