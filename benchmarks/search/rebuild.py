"""Rebuild of an index that followed commits; its lists must not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.search.queries import best_of
from benchmarks.timing import seconds
from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str, queries: list[str]) -> dict[str, Any]:
    """Measure a rebuild in seconds; return the lists of all queries after it."""
    search = SearchIndex(Workspace.open(Path(repository)))
    search.follow()
    rebuilt = seconds(search.rebuild)
    return {"seconds": rebuilt, "lists": list(map(best_of(search), queries))}
