"""The first `tools/list` over stdio, alternating with a minimal server, and pings after it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.serving.stdio import Peer
from benchmarks.timing import ROUNDS, seconds, spread
from index.service import SearchIndex
from tools.registry import Toolbox
from workspace.workspace import Workspace

RUNS = 15
PINGS = 200
FIRST_SEARCHES = 5
WARM_UP = 2.0
"""Seconds in which an idle server should be ready for a search."""

BARE = (sys.executable, "-m", "benchmarks.serving.bare_server")


def serve(repository: Path) -> tuple[str, ...]:
    """Return the command line of Docyard's server."""
    return (sys.executable, "-m", "docyard", "serve", "-C", str(repository))


def first_list(command: Sequence[str], home: Path) -> tuple[float, float | None]:
    """Measure the time from the start of a server to its tools, and its processor time."""
    with Peer(command, home) as peer:
        peer.initialize()
        peer.request("tools/list")
        return time.perf_counter() - peer.started, peer.cpu_seconds()


def measure_start(repository: Path, home: Path) -> dict[str, Any]:
    """Return medians over several alternating runs; `ratio` is the median of the ratios of neighbours."""
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


def first_search(repository: Path, home: Path, query: str, pause: float = 0.0) -> float:
    """Return seconds of a server's first search, sent `pause` seconds after its list of tools."""
    with Peer(serve(repository), home) as peer:
        peer.initialize()
        peer.request("tools/list")
        time.sleep(pause)
        return seconds(lambda: _search(peer, query))


def measure_first_search(repository: Path, home: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Return medians of the first search of new servers: sent immediately, and after the warm-up."""
    first_search(repository, home, queries[0])  # files that the system has not read yet
    queried = queries[:FIRST_SEARCHES]
    return {
        "at_once_ms": median(first_search(repository, home, query) for query in queried) * 1e3,
        "warmed_up_ms": median(first_search(repository, home, query, WARM_UP) for query in queried) * 1e3,
    }


def measure_pings(repository: Path, home: Path) -> dict[str, Any]:
    """Measure pings of a minimal server and of ours, alternately."""
    bare_pings, pings = [], []
    with Peer(BARE, home) as bare, Peer(serve(repository), home) as ours:
        bare.initialize()
        ours.initialize()
        ours.request("tools/list")
        for _ in range(ROUNDS):
            bare_pings += _pings(bare)
            pings += _pings(ours)
    return {"ping": spread(pings), "bare_ping": spread(bare_pings)}


def _search(peer: Peer, query: str) -> None:
    peer.request("tools/call", {"name": "search_docs", "arguments": {"query": query}})


def _pings(peer: Peer) -> list[float]:
    peer.request("ping")
    return [seconds(lambda: peer.request("ping")) for _ in range(PINGS)]


def definitions_bytes(repository: Path) -> int:
    """Return the size of the default tools' definitions as compact JSON, in bytes."""
    workspace = Workspace.open(repository)
    definitions = Toolbox(workspace, SearchIndex(workspace), None, False).definitions()
    return len(json.dumps(definitions, separators=(",", ":"), ensure_ascii=False).encode())
