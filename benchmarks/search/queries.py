"""Times of queries in a process that has just opened an index from disk."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import compute_p50_p95_ms, measure_seconds, measure_warm_seconds

if TYPE_CHECKING:
    from index.service import SearchIndex

PAGE_SIZE = 10

ENGINE_MODULES = ("index.whoosh_engine.engine", "index.live", "index.query", "workspace.workspace")
"""The modules imported before an index is opened. Their import time does not depend on the corpus."""

ResultList = list[tuple[str, float]]
"""Ids and scores, the best hit first."""


def make_top_ten_search(search: SearchIndex) -> Callable[[str], ResultList]:
    """Return a function that finds the ten best sections of a query with the engine alone, without snippets.

    The function uses the open engine of `search` at its present commit.
    """
    from index.query import parse_query

    search.update_to_tip()
    engine = search._live.engine

    def find_top_ten(query: str) -> ResultList:
        hits = engine.search(parse_query(query), limit=PAGE_SIZE).hits
        return [(scored.record.chunk_id, scored.score) for scored in hits]

    return find_top_ten


def measure(
    repository: str, queries: list[str], first_query_number: int = 0, warm: bool = True
) -> dict[str, Any]:
    """Return milliseconds of imports, of the opening and of the first query, and the result lists.

    The first query is `queries[first_query_number]`. With `warm`, also measure warm queries.
    """
    import_s = measure_seconds(lambda: [import_module(name) for name in ENGINE_MODULES])
    from index.service import SearchIndex
    from workspace.workspace import Workspace

    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    open_s = measure_seconds(search.update_to_tip)
    find_top_ten = make_top_ten_search(search)
    first_s = measure_seconds(lambda: find_top_ten(queries[first_query_number]))
    results: dict[str, Any] = {
        "import_ms": import_s * 1e3,
        "open_ms": open_s * 1e3,
        "first_ms": first_s * 1e3,
        "result_lists": [find_top_ten(query) for query in queries],
    }
    if warm:
        results["top_ten"] = compute_p50_p95_ms(measure_warm_seconds(find_top_ten, queries))
    return results
