"""Times of first and second runs of queries over stdio and HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.search.query_sets import QuerySets
from benchmarks.serving.http_calls import call_tool
from benchmarks.serving.pages import run_http_server
from benchmarks.serving.startup import MINIMAL_SERVER_COMMAND, make_server_command
from benchmarks.serving.stdio import REQUEST_META, StdioServer
from benchmarks.timing import compute_p50_p95_p99_ms, measure_seconds

SendQuery = Callable[[str], object]
"""A function that sends a query to a server and reads the response."""


def measure(repository: Path, home: Path, query_sets: QuerySets) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the first and the second run of each query; return times by server.

    Quoted phrases are not measured. `stdio` is a server with a handshake, `stateless` a server without. The
    servers alternate at each query, so that a slow period of the machine affects all of them.
    """
    http_command = ["-m", "docyard", "serve", "-C", str(repository), "--http", "127.0.0.1:0", "--no-token"]
    with (
        StdioServer(MINIMAL_SERVER_COMMAND, home) as minimal_server,
        StdioServer(make_server_command(repository), home) as handshake_server,
        StdioServer(make_server_command(repository), home) as stateless_server,
        run_http_server(http_command, home) as connection,
    ):
        minimal_server.initialize()
        handshake_server.initialize()
        servers: dict[str, SendQuery] = {
            "minimal_server": lambda query: minimal_server.request(
                "tools/call", {"name": "nothing", "arguments": {"q": query}}
            ),
            "stdio": lambda query: handshake_server.request("tools/call", _make_call_parameters(query)),
            "stateless": lambda query: stateless_server.request(
                "tools/call", _make_call_parameters(query) | {"_meta": REQUEST_META}
            ),
            "http": lambda query: call_tool(connection, "search_docs", {"query": query}),
        }
        for query in query_sets.warm_up:
            for send in servers.values():
                send(query)
        first, second = (_measure_alternately(servers, query_sets.queries) for _ in range(2))
    return {
        name: {"first": compute_p50_p95_p99_ms(first[name]), "second": compute_p50_p95_p99_ms(second[name])}
        for name in servers
    }


def _measure_alternately(servers: dict[str, SendQuery], queries: Sequence[str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in servers}
    for query in queries:
        for name, send in servers.items():
            times[name].append(measure_seconds(partial(send, query)))
    return times


def _make_call_parameters(query: str) -> dict[str, Any]:
    return {"name": "search_docs", "arguments": {"query": query}}
