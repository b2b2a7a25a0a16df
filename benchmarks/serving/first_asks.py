"""First asks over stdio and HTTP: each question once, of servers that have answered none of them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.child import MeasurementFailed
from benchmarks.search.questions import Questions
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

Ask = Callable[[str], object]
"""Sends a question to a server and reads its answer."""


def measure(repository: Path, home: Path, questions: Questions) -> dict[str, dict[str, dict[str, float]]]:
    """Return the times of the first and the second ask of each question, by server; phrases are left out.

    The servers take turns at each question, so that a machine which is slow for a while is slow for all.
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
        asks: dict[str, Ask] = {
            "bare": lambda question: bare.ask(
                "tools/call", {"name": "nothing", "arguments": {"q": question}}
            ),
            "stdio": lambda question: ours.ask("tools/call", _call(question)),
            "stateless": lambda question: stateless.ask("tools/call", _call(question) | {"_meta": ENVELOPE}),
            "http": partial(_post, connection),
        }
        for question in questions.warm_up:
            for ask in asks.values():
                ask(question)
        first, second = (_ask_in_turns(asks, questions.questions) for _ in range(2))
    return {name: {"first": percentiles(first[name]), "second": percentiles(second[name])} for name in asks}


def _ask_in_turns(asks: dict[str, Ask], questions: Sequence[str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in asks}
    for question in questions:
        for name, ask in asks.items():
            times[name].append(seconds(partial(ask, question)))
    return times


def _call(question: str) -> dict[str, Any]:
    return {"name": "search_docs", "arguments": {"query": question}}


def _post(connection: http.client.HTTPConnection, question: str) -> None:
    """Ask over HTTP. Raises MeasurementFailed for anything but an answer."""
    request = {
        "jsonrpc": "2.0",
        "id": next(_numbers),
        "method": "tools/call",
        "params": _call(question) | {"_meta": ENVELOPE},
    }
    connection.request("POST", "/mcp", json.dumps(request).encode(), _HEADERS)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200 or "result" not in json.loads(body):
        raise MeasurementFailed(f"POST /mcp: {answer.status} {body[:200]!r}")
