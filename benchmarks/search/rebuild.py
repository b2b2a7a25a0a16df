"""Rebuild of an index that was updated after commits. The result lists must not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.search.queries import make_top_ten_search
from benchmarks.timing import measure_seconds
from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str, queries: list[str]) -> dict[str, Any]:
    """Return the seconds of a rebuild, and the result lists of all queries after the rebuild."""
    search = SearchIndex(Workspace.open(Path(repository)))
    search.update_to_tip()
    rebuild_s = measure_seconds(search.rebuild)
    return {"seconds": rebuild_s, "result_lists": list(map(make_top_ten_search(search), queries))}
