"""An index that followed commits, built anew from the last of them: the lists must not tell which it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.search.querying import best_of
from benchmarks.timing import seconds
from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str, queries: list[str]) -> dict[str, Any]:
    """Return the lists of all queries after a rebuild, and its seconds."""
    search = SearchIndex(Workspace.open(Path(repository)))
    search.follow()
    rebuilt = seconds(search.rebuild)
    return {"seconds": rebuilt, "lists": list(map(best_of(search), queries))}
