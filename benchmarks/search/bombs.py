"""The nastiest queries: what each takes to be answered or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.timing import seconds
from index.port import QueryTooBroad
from index.query import EmptyQuery
from index.service import SearchIndex
from tests.index.bombs import BOMBS
from workspace.workspace import Workspace

SIZES = (300, 3_000, 100_000)


def measure(repository: str, words: list[str]) -> dict[str, Any]:
    """Milliseconds of the slowest answer, and its name; all `words` are asked at once too."""
    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    search.search("warm")

    def answer(query: str) -> None:
        try:
            search.search(query)
        except (QueryTooBroad, EmptyQuery):
            return

    queries = {f"{name}, {size:,}": bomb(size) for name, bomb in BOMBS.items() for size in SIZES}
    queries["the commonest words"] = " ".join(words)
    taken = {name: seconds(lambda query=query: answer(query)) for name, query in queries.items()}
    worst = max(taken, key=taken.__getitem__)
    return {"worst_ms": taken[worst] * 1e3, "worst": worst, "asked": len(taken)}
