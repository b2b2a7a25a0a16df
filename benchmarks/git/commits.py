"""Git operations of a batch (objects, locks, the ref and its log) in a bare repository of 100,000 files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pygit2

from benchmarks.timing import compute_p50_p95_ms
from workspace.git import trees
from workspace.git.objects import Signature
from workspace.git.store import GitStore
from workspace.publishing.batch import Batch
from workspace.publishing.publish import Publication

FOLDER_COUNT, FILES_PER_FOLDER = 400, 250
BRANCH = "main"
_WARM_UP_COMMITS = 3
_AUTHOR = Signature("Benchmark", "benchmark@example.org", 1_700_000_000)


def measure(folder: str, count: int) -> dict[str, Any]:
    """Measure `count` commits without fsync, each of one changed file, in milliseconds."""
    path = Path(folder) / "nested.git"
    pygit2.init_repository(str(path), bare=True, initial_head=BRANCH)
    store = GitStore(path)
    blob = store.put_blob(b"# A page\n\nWords.\n")
    paths = [
        f"folder{outer:03}/file{inner:03}.md"
        for outer in range(FOLDER_COUNT)
        for inner in range(FILES_PER_FOLDER)
    ]
    tree = trees.rewrite_tree(store, None, dict.fromkeys(paths, blob))
    tip = store.put_commit(tree, (), _AUTHOR, _AUTHOR, "All files")
    (store.git_dir / "refs" / "heads" / BRANCH).write_text(tip + "\n")
    times, processor_times = [], []
    for number, file in enumerate(paths[:: len(paths) // (count + _WARM_UP_COMMITS)]):
        batch = Batch(BRANCH, tip, {file: f"# A page\n\nWords {number}.\n".encode()}, "An edit", _AUTHOR)
        start, processor_start = time.perf_counter(), time.process_time()
        with Publication(store, BRANCH, durable=False) as publication:
            tip = publication.publish(batch)
        times.append(time.perf_counter() - start)
        processor_times.append(time.process_time() - processor_start)
    measured_range = slice(_WARM_UP_COMMITS, _WARM_UP_COMMITS + count)
    return {
        "files": len(paths),
        "batch": compute_p50_p95_ms(times[measured_range]),
        "processor_time": compute_p50_p95_ms(processor_times[measured_range]),
    }
