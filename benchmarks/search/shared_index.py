"""An index that nodes share in PostgreSQL: its build, a new node, and commits that a second node finds."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.documents.edits import check_only_hit, draw_sections, write_edit
from benchmarks.memory import read_resident_mb
from benchmarks.search.queries import ENGINE_MODULES, make_top_ten_search
from benchmarks.timing import compute_p50_p95_ms, measure_seconds, measure_warm_seconds
from workspace.edits.text import AppendContent

_WARM_UP_COMMITS = 3


def measure(repository: str, url: str, folder: str, step: str, **arguments: Any) -> dict[str, Any]:
    """Measure a step: `build`, `new_node`, `comparison` (a new node and an index in files) or `commits`."""
    steps = {
        "build": _measure_build,
        "new_node": _measure_new_node,
        "comparison": _compare_new_node,
        "commits": _measure_commits,
    }
    return steps[step](repository, url, folder, **arguments)


def _measure_build(repository: str, url: str, folder: str) -> dict[str, Any]:
    node = _open_node(repository, url, folder)
    seconds = measure_seconds(node.rebuild)
    status = node.status()
    sections = status.state.chunks if status.state else 0
    return {"build_s": seconds, "bytes": status.size, "sections": sections}


def _import_engine() -> None:
    for name in (*ENGINE_MODULES, "index.postgres.storage", "psycopg"):
        import_module(name)


def _open_node(repository: str, url: str, folder: str) -> Any:
    from index.postgres.database import Database
    from index.postgres.options import EngineOptions
    from index.service import SearchIndex
    from workspace.workspace import Workspace

    engine = EngineOptions(Database(url), repository="benchmark")
    return SearchIndex(Workspace.open(Path(repository), durable=False), location=Path(folder), engine=engine)


def _measure_new_node(repository: str, url: str, folder: str, queries: list[str]) -> dict[str, Any]:
    """Measure a node that holds nothing: its first question, each question once, warm ones, its memory."""
    _import_engine()
    node = _open_node(repository, url, folder)
    first_s = measure_seconds(lambda: make_top_ten_search(node)(queries[0]))
    search = make_top_ten_search(node)
    once_times = [measure_seconds(lambda: search(query)) for query in queries[1:]]  # noqa: B023
    return {
        "first_ms": first_s * 1e3,
        "once": compute_p50_p95_ms(once_times),
        "warm": compute_p50_p95_ms(measure_warm_seconds(search, queries)),
        "resident_mb": read_resident_mb(),
    }


def _compare_new_node(repository: str, url: str, folder: str, queries: list[str]) -> dict[str, Any]:
    """Measure the first question of a node that holds nothing, then each question once, and warm ones.

    The index in files is measured in the same process, by turns.
    """
    from index.service import SearchIndex
    from workspace.workspace import Workspace

    _import_engine()
    node = _open_node(repository, url, folder)
    first_s = measure_seconds(lambda: make_top_ten_search(node)(queries[0]))
    in_files = SearchIndex(Workspace.open(Path(repository), read_only=True))
    open_s = measure_seconds(lambda: make_top_ten_search(in_files)(queries[0]))
    searches = {"postgres": make_top_ten_search(node), "files": make_top_ten_search(in_files)}
    once_times: dict[str, list[float]] = {name: [] for name in searches}
    for number, query in enumerate(queries):
        for name in sorted(searches, reverse=number % 2 == 0):
            once_times[name].append(measure_seconds(lambda: searches[name](query)))  # noqa: B023
    return {
        "first_ms": first_s * 1e3,
        "first_in_files_ms": open_s * 1e3,
        "once": {name: compute_p50_p95_ms(times) for name, times in once_times.items()},
        "warm": {
            name: compute_p50_p95_ms(measure_warm_seconds(search, queries))
            for name, search in searches.items()
        },
        "result_lists": {name: [search(query) for query in queries] for name, search in searches.items()},
    }


def _measure_commits(repository: str, url: str, folder: str, commit_count: int) -> dict[str, Any]:
    """Measure commits that one node indexes, and searches of the second node that find them.

    Both read the same repository, so the time of a fetch is not included.
    """
    first, second = (_open_node(repository, url, f"{folder}-{name}") for name in ("first", "second"))
    for node in (first, second):
        make_top_ten_search(node)
    commit_times: list[float] = []
    visible_times: list[float] = []
    sections = draw_sections(first.workspace, commit_count + _WARM_UP_COMMITS, SEED)
    for number, (path, slug) in enumerate(sections):
        word = f"zqshared{number}edit"
        operation = AppendContent(file=path, slug=slug, content=f"A sentence with {word} in it.")
        write_edit(first.workspace, operation)
        commit_times.append(measure_seconds(first.update_to_tip))
        visible_times.append(
            measure_seconds(lambda: check_only_hit(second, word, f"{path}#{slug}"))  # noqa: B023
        )
    return {
        "index_commit": compute_p50_p95_ms(commit_times[_WARM_UP_COMMITS:]),
        "visible": compute_p50_p95_ms(visible_times[_WARM_UP_COMMITS:]),
    }
