"""The first `tools/list` over stdio, in turns with a server that does nothing, and round trips after it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.stdio import Peer
from benchmarks.timing import seconds, spread, warm_seconds
from index.service import SearchIndex
from tools.registry import Toolbox
from workspace.workspace import Workspace

RUNS = 15
PINGS = 200

BARE = (sys.executable, "-m", "benchmarks.bare_server")


def serve(repository: Path) -> tuple[str, ...]:
    """The command line of our own server."""
    return (sys.executable, "-m", "docyard", "serve", "-C", str(repository))


def first_list(command: Sequence[str], home: Path) -> tuple[float, float | None]:
    """Seconds from the start of a server to its tools, and its processor time until then."""
    with Peer(command, home) as peer:
        peer.initialize()
        peer.ask("tools/list")
        return time.perf_counter() - peer.started, peer.cpu_seconds()


def measure_start(repository: Path, home: Path) -> dict[str, Any]:
    """Medians over several runs of each, in turns; `ratio` is the median of the ratios of neighbours."""
    commands = {"ours": serve(repository), "bare": BARE}
    times: dict[str, list[tuple[float, float | None]]] = {name: [] for name in commands}
    for command in commands.values():
        first_list(command, home)  # files that the system has not read yet
    for run in range(RUNS):
        for name in sorted(commands, reverse=bool(run % 2)):
            times[name].append(first_list(commands[name], home))
    pairs = list(zip(times["ours"], times["bare"], strict=True))
    result: dict[str, Any] = {
        "ours_ms": median(elapsed for elapsed, _ in times["ours"]) * 1e3,
        "bare_ms": median(elapsed for elapsed, _ in times["bare"]) * 1e3,
        "ratio": median(ours / bare for (ours, _), (bare, _) in pairs),
    }
    cpu = [(ours, bare) for (_, ours), (_, bare) in pairs if ours is not None and bare is not None]
    if cpu:
        result |= {
            "ours_cpu_ms": median(ours for ours, _ in cpu) * 1e3,
            "bare_cpu_ms": median(bare for _, bare in cpu) * 1e3,
            "cpu_ratio": median(ours / bare for ours, bare in cpu),
        }
    return result


def measure_round_trips(repository: Path, home: Path, queries: Sequence[str]) -> dict[str, Any]:
    """A ping of each server, and searches of ours."""
    with Peer(BARE, home) as peer:
        peer.initialize()
        bare = _pings(peer)
    with Peer(serve(repository), home) as peer:
        peer.initialize()
        peer.ask("tools/list")

        def search(query: str) -> None:
            peer.ask("tools/call", {"name": "search_docs", "arguments": {"query": query}})

        for query in queries:
            search(query)
        searches = warm_seconds(search, queries)
        ours = _pings(peer)
    return {"ping": spread(ours), "bare_ping": spread(bare), "search": spread(searches)}


def _pings(peer: Peer) -> list[float]:
    peer.ask("ping")
    return [seconds(lambda: peer.ask("ping")) for _ in range(PINGS)]


def definitions_bytes(repository: Path) -> int:
    """The definitions of the default tools as compact JSON, in bytes."""
    workspace = Workspace.open(repository)
    definitions = Toolbox(workspace, SearchIndex(workspace), None, False).definitions()
    return len(json.dumps(definitions, separators=(",", ":"), ensure_ascii=False).encode())
