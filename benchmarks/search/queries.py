"""Times of queries in a process that has just opened an index from disk."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import seconds, spread, warm_seconds

if TYPE_CHECKING:
    from index.service import SearchIndex

PAGE = 10

ENGINE = ("index.whoosh_engine.engine", "index.live", "index.query", "workspace.workspace")
"""Modules imported before an index is opened; their time is equal for any corpus."""

Found = list[tuple[str, float]]
"""The ids and scores of a list, best first."""


def best_of(search: SearchIndex) -> Callable[[str], Found]:
    """Return a function that finds the ten best sections by the engine alone, without snippets.

    It uses the open engine of `search`, at its present commit.
    """
    from index.query import parse_query

    search.follow()
    engine = search._live.engine

    def best(query: str) -> Found:
        hits = engine.search(parse_query(query), limit=PAGE).hits
        return [(scored.record.chunk_id, scored.score) for scored in hits]

    return best


def measure(repository: str, queries: list[str], first: int = 0, warm: bool = True) -> dict[str, Any]:
    """Measure imports, opening and the query `first` in milliseconds; return the lists of all queries.

    With `warm`, also measure the ten best of warm queries.
    """
    imported = seconds(lambda: [import_module(name) for name in ENGINE])
    from index.service import SearchIndex
    from workspace.workspace import Workspace

    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    opened = seconds(search.follow)
    best = best_of(search)
    answered = seconds(lambda: best(queries[first]))
    result: dict[str, Any] = {
        "import_ms": imported * 1e3,
        "open_ms": opened * 1e3,
        "first_ms": answered * 1e3,
        "lists": [best(query) for query in queries],
    }
    if warm:
        result["best"] = spread(warm_seconds(best, queries))
    return result
