"""The memory of a server that handles queries over stdio."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.memory import list_child_pids, read_peak_mb
from benchmarks.serving.startup import make_server_command
from benchmarks.serving.stdio import StdioServer


def measure_memory(repository: Path, home: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Return the peak memory of a server after all queries in MB; empty if the system lists no children."""
    earlier_pids = set(list_child_pids(os.getpid()))
    with StdioServer(make_server_command(repository), home) as server:
        server.initialize()
        server.request("tools/list")
        for query in queries:
            server.request("tools/call", {"name": "search_docs", "arguments": {"query": query}})
        pids = set(list_child_pids(os.getpid())) - earlier_pids
        return {"peak_mb": max(map(read_peak_mb, pids))} if pids else {}
