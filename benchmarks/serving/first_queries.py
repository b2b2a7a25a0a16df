"""Times of queries over stdio and HTTP, by servers that have not answered them before."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.child import MeasurementFailed
from benchmarks.search.query_sets import QuerySets
from benchmarks.serving.pages import listening
from benchmarks.serving.startup import BARE, serve
from benchmarks.serving.stdio import ENVELOPE, Peer
from benchmarks.timing import percentiles, seconds

_HEADERS: dict[str, str] = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "MCP-Protocol-Version": str(ENVELOPE["io.modelcontextprotocol/protocolVersion"]),
    "Mcp-Method": "tools/call",
    "Mcp-Name": "search_docs",
}
_numbers = count(1)

Send = Callable[[str], object]
"""Sends a query to a server and reads its answer."""


def measure(repository: Path, home: Path, sets: QuerySets) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the first and the second run of each query by server, without the quoted phrases.

    The servers alternate at each query, so that a slow period of the machine affects all of them.
    """
    over_http = ["-m", "docyard", "serve", "-C", str(repository), "--http", "127.0.0.1:0", "--no-token"]
    with (
        Peer(BARE, home) as bare,
        Peer(serve(repository), home) as ours,
        Peer(serve(repository), home) as stateless,
        listening(over_http, home) as connection,
    ):
        bare.initialize()
        ours.initialize()
        servers: dict[str, Send] = {
            "bare": lambda query: bare.request("tools/call", {"name": "nothing", "arguments": {"q": query}}),
            "stdio": lambda query: ours.request("tools/call", _call(query)),
            "stateless": lambda query: stateless.request("tools/call", _call(query) | {"_meta": ENVELOPE}),
            "http": partial(_post, connection),
        }
        for query in sets.warm_up:
            for send in servers.values():
                send(query)
        first, second = (_measure_alternately(servers, sets.queries) for _ in range(2))
    return {
        name: {"first": percentiles(first[name]), "second": percentiles(second[name])} for name in servers
    }


def _measure_alternately(servers: dict[str, Send], queries: Sequence[str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in servers}
    for query in queries:
        for name, send in servers.items():
            times[name].append(seconds(partial(send, query)))
    return times


def _call(query: str) -> dict[str, Any]:
    return {"name": "search_docs", "arguments": {"query": query}}


def _post(connection: http.client.HTTPConnection, query: str) -> None:
    """Send a query over HTTP. Raises MeasurementFailed if the response is not a result."""
    request = {
        "jsonrpc": "2.0",
        "id": next(_numbers),
        "method": "tools/call",
        "params": _call(query) | {"_meta": ENVELOPE},
    }
    connection.request("POST", "/mcp", json.dumps(request).encode(), _HEADERS)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200 or "result" not in json.loads(body):
        raise MeasurementFailed(f"POST /mcp: {answer.status} {body[:200]!r}")
