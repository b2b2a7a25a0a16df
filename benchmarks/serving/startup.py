"""Times of server starts over stdio until the first `tools/list` or search, and of pings.

Starts and pings are also measured with a minimal server; runs of the two servers alternate.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.serving.stdio import StdioServer
from benchmarks.timing import ROUND_COUNT, compute_p50_p95_ms, measure_seconds
from index.service import SearchIndex
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

RUN_COUNT = 15
PING_COUNT = 200
FIRST_SEARCH_COUNT = 5
WARM_UP_S = 2.0
"""The seconds after which an idle server should be ready for a search."""

MINIMAL_SERVER_COMMAND = (sys.executable, "-m", "benchmarks.serving.minimal_server")


def make_server_command(repository: Path) -> tuple[str, ...]:
    """Return the command line of Docyard's server."""
    return (sys.executable, "-m", "docyard", "serve", "-C", str(repository))


def measure_start_to_tool_list(command: Sequence[str], home: Path) -> tuple[float, float | None]:
    """Return the seconds from the start of a server to its list of tools, and its processor time."""
    with StdioServer(command, home) as server:
        server.initialize()
        server.request("tools/list")
        return time.perf_counter() - server.start_time, server.read_cpu_seconds()


def measure_start(repository: Path, home: Path) -> dict[str, Any]:
    """Return medians of alternating starts of both servers, and of the ratios of adjacent starts.

    The keys of the results begin with `docyard` or `minimal_server`.
    """
    commands = {"docyard": make_server_command(repository), "minimal_server": MINIMAL_SERVER_COMMAND}
    times: dict[str, list[tuple[float, float | None]]] = {name: [] for name in commands}
    for command in commands.values():
        measure_start_to_tool_list(command, home)  # reads the files into the system's cache
    for run in range(RUN_COUNT):
        for name in sorted(commands, reverse=bool(run % 2)):
            times[name].append(measure_start_to_tool_list(commands[name], home))
    pairs = list(zip(times["docyard"], times["minimal_server"], strict=True))
    results: dict[str, Any] = {
        "docyard_ms": median(elapsed for elapsed, _ in times["docyard"]) * 1e3,
        "minimal_server_ms": median(elapsed for elapsed, _ in times["minimal_server"]) * 1e3,
        "ratio": median(docyard_s / minimal_server_s for (docyard_s, _), (minimal_server_s, _) in pairs),
    }
    processor_pairs = [
        (docyard_s, minimal_server_s)
        for (_, docyard_s), (_, minimal_server_s) in pairs
        if docyard_s is not None and minimal_server_s is not None
    ]
    if processor_pairs:
        results |= {
            "docyard_cpu_ms": median(docyard_s for docyard_s, _ in processor_pairs) * 1e3,
            "minimal_server_cpu_ms": median(minimal_server_s for _, minimal_server_s in processor_pairs)
            * 1e3,
            "cpu_ratio": median(
                docyard_s / minimal_server_s for docyard_s, minimal_server_s in processor_pairs
            ),
        }
    return results


def measure_one_first_search(repository: Path, home: Path, query: str, pause_s: float = 0.0) -> float:
    """Return the seconds of a server's first search, sent `pause_s` seconds after its list of tools."""
    with StdioServer(make_server_command(repository), home) as server:
        server.initialize()
        server.request("tools/list")
        time.sleep(pause_s)
        return measure_seconds(lambda: _search(server, query))


def measure_first_searches(repository: Path, home: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Return medians of the first search of new servers: sent immediately, and after the warm-up."""
    measure_one_first_search(repository, home, queries[0])  # reads the files into the system's cache
    first_queries = queries[:FIRST_SEARCH_COUNT]
    return {
        "sent_immediately_ms": median(
            measure_one_first_search(repository, home, query) for query in first_queries
        )
        * 1e3,
        "sent_after_warm_up_ms": median(
            measure_one_first_search(repository, home, query, WARM_UP_S) for query in first_queries
        )
        * 1e3,
    }


def measure_pings(repository: Path, home: Path) -> dict[str, Any]:
    """Measure pings of the minimal server and of Docyard, in alternating rounds."""
    minimal_server_pings, docyard_pings = [], []
    with (
        StdioServer(MINIMAL_SERVER_COMMAND, home) as minimal_server,
        StdioServer(make_server_command(repository), home) as docyard_server,
    ):
        minimal_server.initialize()
        docyard_server.initialize()
        docyard_server.request("tools/list")
        for _ in range(ROUND_COUNT):
            minimal_server_pings += measure_ping_times(minimal_server)
            docyard_pings += measure_ping_times(docyard_server)
    return {
        "docyard_ping": compute_p50_p95_ms(docyard_pings),
        "minimal_server_ping": compute_p50_p95_ms(minimal_server_pings),
    }


def _search(server: StdioServer, query: str) -> None:
    server.request("tools/call", {"name": "search_docs", "arguments": {"query": query}})


def measure_ping_times(server: StdioServer) -> list[float]:
    """Return the seconds of each of 200 pings, after one that is not measured."""
    server.request("ping")
    return [measure_seconds(lambda: server.request("ping")) for _ in range(PING_COUNT)]


def measure_definitions_bytes(repository: Path) -> int:
    """Return the size of the default tools' definitions as compact JSON, in bytes."""
    workspace = Workspace.open(repository)
    definitions = ToolDispatcher(workspace, SearchIndex(workspace), None, False).definitions()
    return len(json.dumps(definitions, separators=(",", ":"), ensure_ascii=False).encode())
