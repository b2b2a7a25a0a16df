"""A server of 100 documentation sources compared with one of one source, and searches of several sources."""

from __future__ import annotations

import http.client
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus, SectionText, make_repository
from benchmarks.search.known_items import CHECKED_HIT_COUNT, KnownItem, draw_items, measure_items
from benchmarks.search.query_sets import QuerySets
from benchmarks.serving.http_calls import call_tool
from benchmarks.serving.pages import run_http_server
from benchmarks.serving.startup import measure_start_to_tool_list
from benchmarks.timing import compute_p50_p95_p99_ms, measure_seconds
from docyard.sources.service import create_sources
from index.sources.sources import search_sources

SOURCE_COUNT = 100
FUSED_SOURCE_COUNT = 3
_MAX_PART_DOCUMENTS = 30  # of each source that is not the measured one
_START_COUNT = 3


def measure_servers(repository: Path, home: Path, query_sets: QuerySets) -> dict[str, Any]:
    """Measure the first run of each query in one source, over HTTP, and starts of a server of 100 sources.

    The servers of one and of 100 sources alternate at each query.
    """
    folder = home / "sources"
    parts = _make_parts(Corpus.read(repository), folder, SOURCE_COUNT - 1, _MAX_PART_DOCUMENTS)
    files = {
        "one": write_sources_file(folder / "one.toml", [repository]),
        "hundred": write_sources_file(folder / "hundred.toml", [repository, *parts]),
    }
    build_indexes(files["hundred"])
    with (
        run_http_server(make_command(files["one"], "--http"), home) as one,
        run_http_server(make_command(files["hundred"], "--http"), home) as hundred,
    ):
        connections = {"one": one, "hundred": hundred}
        for query in query_sets.warm_up:
            for connection in connections.values():
                _search(connection, query)
        times: dict[str, list[float]] = {name: [] for name in connections}
        for query in query_sets.queries:
            for name, connection in connections.items():
                times[name].append(measure_seconds(partial(_search, connection, query)))
    command = (sys.executable, *make_command(files["hundred"]))
    starts = [measure_start_to_tool_list(command, home)[0] for _ in range(_START_COUNT)]
    return {name: compute_p50_p95_p99_ms(times[name]) for name in times} | {"start_s": min(starts)}


def measure_fusion(repository: Path, home: Path, section_texts: Sequence[SectionText]) -> dict[str, float]:
    """Return the mean of 1 / rank of known items in the right one of three sources, and in all of them.

    Each source has a third of the documents. Raises CorpusTooSmall.
    """
    folder = home / "fusion"
    corpus = Corpus.read(repository)
    parts = _make_parts(corpus, folder, FUSED_SOURCE_COUNT, len(corpus.documents))
    file = write_sources_file(folder / "sources.toml", parts)
    build_indexes(file)
    sources = create_sources(file)
    names = {path: f"s{number % FUSED_SOURCE_COUNT}" for number, path in enumerate(corpus.documents)}

    def search(item: KnownItem, *, namespace: str | None = None) -> list[str]:
        selected = sources.select(namespace or names[item.section.rpartition("#")[0]])
        page = search_sources(selected, item.query, limit=CHECKED_HIT_COUNT)
        return [source_hit.hit.chunk_id for source_hit in page.hits]

    items = [item for group in draw_items(section_texts).values() for item in group]
    try:
        return {
            "right_mrr": measure_items(search, items)["mrr"],
            "all_mrr": measure_items(partial(search, namespace="*"), items)["mrr"],
        }
    finally:
        sources.close()


def _make_parts(corpus: Corpus, folder: Path, part_count: int, max_documents: int) -> list[Path]:
    """Distribute the documents of a corpus in turn to new repositories, and return their paths."""
    paths = list(corpus.documents)
    repositories = [folder / f"part-{number}" for number in range(part_count)]
    for number, repository in enumerate(repositories):
        part_paths = paths[number::part_count][:max_documents]
        make_repository(Corpus({path: corpus.documents[path] for path in part_paths}), repository)
    return repositories


def write_sources_file(file: Path, repositories: Sequence[Path]) -> Path:
    """Write a file of sources, which are named `s0`, `s1` and so on."""
    tables = [
        f'[sources.s{number}]\nrepo = "{repository.resolve()}"\n'
        for number, repository in enumerate(repositories)
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(tables), encoding="utf-8")
    return file


def build_indexes(file: Path) -> None:
    """Build the indexes of the sources where the servers read them."""
    sources = create_sources(file)
    for source in sources:
        source.prepare()
    sources.close()


def make_command(file: Path, *options: str) -> tuple[str, ...]:
    address = ("127.0.0.1:0", "--no-token") if options else ()
    return ("-m", "docyard", "serve", "--sources", str(file), *options, *address)


def _search(connection: http.client.HTTPConnection, query: str) -> None:
    """Search the first source."""
    call_tool(connection, "search_documentation", {"query": query, "namespace": "s0"})
