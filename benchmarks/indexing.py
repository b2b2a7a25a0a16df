"""A full index, from a Git commit to a searchable index on disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import index.live  # noqa: F401  (imported before the clock starts, as in a server that runs)
from benchmarks.timing import seconds
from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str) -> dict[str, Any]:
    """Seconds, CPU seconds, the number of chunks, and the bytes of the index."""
    workspace = Workspace.open(Path(repository))
    search = SearchIndex(workspace)
    start = time.process_time()
    elapsed = seconds(search.follow)
    cpu = time.process_time() - start
    status = search.status()
    return {
        "seconds": elapsed,
        "cpu_seconds": cpu,
        "chunks": status.state.chunks if status.state else 0,
        "bytes": status.size,
    }
