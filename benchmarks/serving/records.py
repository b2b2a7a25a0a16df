"""The records of searches: the time of a report over a million of them, and their cost for searches.

python -m benchmarks.serving.records                      a new database of SQLite
python -m benchmarks.serving.records --url URL         a database that is empty, or was filled before
python -m benchmarks.serving.records --corpus FOLDER      also the cost, for searches in a folder
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import insert, select

from benchmarks.corpus import Corpus, draw_queries, make_repository
from docyard.database.database import Database, open_database
from docyard.database.ids import create_id, read_clock_ms
from docyard.database.schema import check_schema
from docyard.database.tables import SEARCH_QUERIES
from docyard.mcp_server.calls import ToolCalls, Workers
from docyard.records.counts import DAY_MS, add_searches
from docyard.records.summary import PERIODS, build_period, read_summary
from docyard.sources.default_organization import DefaultOrganization
from docyard.sources.records import SourcesRecords
from docyard.sources.service import create_sources
from index.sources.settings import Analytics, SourceSettings, SourcesFile
from tools.retrieval.dispatcher import SourcesDispatcher

SEARCHES = 1_000_000
NAMESPACE_COUNT = 5
QUESTION_COUNT = 100_000
DAYS = 90
_PART_ROWS = 10_000
_REPEATS = 5
_COST_ROUNDS = 10
_COST_CALLS = 100


def fill_database(database: Database, count: int) -> str:
    """Record searches of 90 days, whose questions follow Zipf's law, and return the organization's id."""
    source = random.Random(7)
    content = SourcesFile(
        sources={f"docs-{n}": SourceSettings(repo=f"docs-{n}") for n in range(NAMESPACE_COUNT)}
    )
    target = DefaultOrganization(database, Path(), lambda: content).get_target()
    with database.connect() as connection:
        if connection.execute(select(SEARCH_QUERIES.c.id).limit(1)).first() is not None:
            return target.organization_id
    namespace_ids = list(target.namespace_ids.values())
    weights = [1 / (rank + 1) for rank in range(QUESTION_COUNT)]
    questions = source.choices(range(QUESTION_COUNT), weights, k=count)
    now = read_clock_ms()
    for start in range(0, count, _PART_ROWS):
        rows = [
            {
                "id": create_id("dsq", 12),
                "organization_id": target.organization_id,
                "mcp_server_id": target.server_id,
                "namespace_id": namespace_ids[question % NAMESPACE_COUNT],
                "namespace_count": 1,
                "query_text": f"how does the setting {question} work",
                "search_type": "hybrid",
                "result_count": question % 10,
                "response_time_ms": int(source.lognormvariate(2, 1)),
                "created_at": now - source.randrange(DAYS * DAY_MS),
                "missing_words": [f"word{question % 3_000}"] if question % 20 == 0 else [],
            }
            for question in questions[start : start + _PART_ROWS]
        ]
        with database.begin() as connection:
            connection.execute(insert(SEARCH_QUERIES), rows)
            add_searches(connection, rows)
    return target.organization_id


def measure_reports(database: Database, organization_id: str) -> dict[str, float]:
    """Return the median time of a report in milliseconds, by period."""
    times: dict[str, float] = {}
    for name in PERIODS:
        measured: list[float] = []
        for _ in range(_REPEATS):
            start = time.perf_counter()
            with database.connect() as connection:
                read_summary(connection, organization_id, build_period(name, read_clock_ms()))
            measured.append((time.perf_counter() - start) * 1_000)
        times[name] = median(measured)
    return times


def measure_cost(corpus_folder: Path, home: Path) -> dict[str, float]:
    """Return the median processor time of a search with and without records, in ms, in alternating rounds.

    The time of the thread that writes is included.
    """
    corpus = Corpus.read(corpus_folder)
    repository = home / "repository"
    make_repository(corpus, repository)
    file = home / "sources.toml"
    file.write_text(f'[sources.docs]\nrepo = "{repository}"\n')
    sources = create_sources(file)
    queries = [" ".join(words) for words in draw_queries(list(corpus.read_section_texts()), _COST_CALLS)]
    records = SourcesRecords(Analytics(database="cost.sqlite", mode="text"), sources, home)
    records.recorder.start()
    dispatcher, workers = SourcesDispatcher(sources), Workers(1)
    plain = ToolCalls(dispatcher, workers)
    recorded = ToolCalls(dispatcher, workers, observer=records.observer)
    times: dict[str, list[float]] = {"plain": [], "recorded": []}
    for number in range(_COST_ROUNDS + 1):
        for name, calls in (("plain", plain), ("recorded", recorded)):
            start = time.process_time()
            for query in queries:
                # A number makes each question a new one, so that no cached page answers it.
                _search(calls, f"{query} {number}{name}")
            if number:  # the first round warms up
                times[name].append((time.process_time() - start) * 1_000 / len(queries))
    records.recorder.close()
    sources.close()
    result = {name: median(values) for name, values in times.items()}
    return result | {"cost_percent": (result["recorded"] / result["plain"] - 1) * 100}


def _search(calls: ToolCalls, query: str) -> None:
    from docyard.mcp_server.calls import ToolCall

    call = ToolCall("search_documentation", {"query": query}, "benchmark", None)
    result: Any = calls._call_tool(call, None, None)
    assert not result["isError"], result


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url")
    parser.add_argument("--searches", type=int, default=SEARCHES)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if options.corpus is not None:
            print({name: round(value, 3) for name, value in measure_cost(options.corpus, home).items()})
        database = open_database(options.url or "sqlite:///records.sqlite", home)
        check_schema(database)
        start = time.perf_counter()
        organization_id = fill_database(database, options.searches)
        print(f"filled in {time.perf_counter() - start:.0f} s")
        print({name: f"{value:.0f} ms" for name, value in measure_reports(database, organization_id).items()})
        database.close()


if __name__ == "__main__":
    _main()
