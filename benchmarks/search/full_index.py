"""A full build, from a Git commit to a searchable index on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.timing import measure_seconds
from index.segments.file_storage import FileStorage
from index.source import GitSource
from index.storage.location import IndexLocation
from index.whoosh_engine.engine import WhooshEngine
from workspace.workspace import Workspace

PROCESS_COUNTS = (1, 2)
"""The numbers of processes of the measured builds."""


def measure(repository: str, processes: int, folder: str) -> dict[str, Any]:
    """Build an index in `folder`; return seconds, CPU seconds of all processes, sections, segments and bytes.

    The build does not wait for the disk, like those of the compared engines.
    """
    workspace = Workspace.open(Path(repository), read_only=True)
    engine = WhooshEngine(
        FileStorage(IndexLocation(lambda: "benchmark", lambda name: [Path(folder)]), durable=False),
        lambda record: b"",
        processes=processes,
    )

    def build() -> None:
        engine.rebuild(GitSource(workspace.snapshot()))

    start = os.times()
    elapsed = measure_seconds(build)
    end = os.times()
    status = engine.status(workspace.tip())
    return {
        "seconds": elapsed,
        "cpu_seconds": sum(end[:4]) - sum(start[:4]),
        "sections": status.state.chunks if status.state else 0,
        "segments": status.segments,
        "bytes": status.size,
    }
