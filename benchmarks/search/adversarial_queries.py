"""Times of adversarial queries until they are answered or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.timing import seconds
from index.port import QueryTooBroad
from index.query import EmptyQuery
from index.service import SearchIndex
from tests.index.adversarial_queries import ADVERSARIAL_QUERIES
from workspace.workspace import Workspace

SIZES = (300, 3_000, 100_000)


def measure(repository: str, words: list[str]) -> dict[str, Any]:
    """Return the slowest answer in milliseconds, and its name; one query contains all `words`."""
    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    search.search("warm")

    def answer(query: str) -> None:
        try:
            search.search(query)
        except (QueryTooBroad, EmptyQuery):
            return

    queries = {
        f"{name}, {size:,}": family(size) for name, family in ADVERSARIAL_QUERIES.items() for size in SIZES
    }
    queries["the commonest words"] = " ".join(words)
    times = {name: seconds(lambda query=query: answer(query)) for name, query in queries.items()}
    worst = max(times, key=times.__getitem__)
    return {"worst_ms": times[worst] * 1e3, "worst": worst, "asked": len(times)}
