"""Queries in a process that has just opened an index from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.timing import seconds, spread, warm_seconds
from index.analysis import terms_of_query
from index.live import LiveIndex
from index.ranking import rank
from index.service import SearchIndex
from workspace.workspace import Workspace

PAGE = 10


def measure(repository: str, queries: list[str]) -> dict[str, Any]:
    """The first answer; then, warm, the ten best chunks alone, and whole answers with snippets."""
    workspace = Workspace.open(Path(repository), read_only=True)
    search = SearchIndex(workspace)
    first = seconds(lambda: search.search(queries[0]))
    answers = warm_seconds(search.search, queries)
    generation = LiveIndex(workspace).follow().generation
    for query in queries:
        rank(generation, terms_of_query(query), offset=0, limit=PAGE)
    ranked = warm_seconds(
        lambda query: rank(generation, terms_of_query(query), offset=0, limit=PAGE), queries
    )
    return {"first_ms": first * 1e3, "rank": spread(ranked), "search": spread(answers)}
