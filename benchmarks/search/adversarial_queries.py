"""Times of adversarial queries until a result or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.timing import measure_seconds
from index.port import QueryTooBroad
from index.query import EmptyQuery
from index.service import SearchIndex
from tests.index.adversarial_queries import ADVERSARIAL_QUERIES
from workspace.workspace import Workspace

SIZES = (300, 3_000, 100_000)


def measure(repository: str, words: list[str]) -> dict[str, Any]:
    """Return the slowest query, its time in milliseconds, and the number of queries.

    One of the queries contains all `words`.
    """
    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    search.search("warm")

    def run_query(query: str) -> None:
        try:
            search.search(query)
        except (QueryTooBroad, EmptyQuery):
            return

    queries = {
        f"{name}, {size:,}": make_query(size)
        for name, make_query in ADVERSARIAL_QUERIES.items()
        for size in SIZES
    }
    queries["the commonest words"] = " ".join(words)
    times = {name: measure_seconds(lambda query=query: run_query(query)) for name, query in queries.items()}
    slowest = max(times, key=times.__getitem__)
    return {"slowest_ms": times[slowest] * 1e3, "slowest_query": slowest, "query_count": len(times)}
