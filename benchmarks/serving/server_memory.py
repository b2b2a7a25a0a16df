"""The memory of a server that answers queries over stdio."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.memory import children, peak_mb
from benchmarks.serving.startup import serve
from benchmarks.serving.stdio import Peer


def measure_memory(repository: Path, home: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Return the peak of a server after all queries in MB, if the system reports it."""
    before = set(children(os.getpid()))
    with Peer(serve(repository), home) as peer:
        peer.initialize()
        peer.request("tools/list")
        for query in queries:
            peer.request("tools/call", {"name": "search_docs", "arguments": {"query": query}})
        servers = set(children(os.getpid())) - before
        return {"peak_mb": max(map(peak_mb, servers))} if servers else {}
