"""Cost of a work tree: an edit among 10,000 files, checked out and bare."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pygit2

from benchmarks.corpus import Corpus, make_repository
from benchmarks.timing import compute_percentile, measure_seconds
from workspace.edits.text import AppendContent
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

FOLDER_COUNT, FILES_PER_FOLDER = 100, 100
_WARM_UP_EDITS = 5


def measure(folder: str, count: int) -> dict[str, Any]:
    """Return median milliseconds of `count` edits in each repository, alternately, and of the difference."""
    documents = {
        f"folder{outer:02}/file{inner:02}.md": f"# File {inner}\n\n## One\n\nText of {outer}.\n".encode()
        for outer in range(FOLDER_COUNT)
        for inner in range(FILES_PER_FOLDER)
    }
    checked_out_path = Path(folder) / "checked-out"
    make_repository(Corpus(documents), checked_out_path)
    bare_path = Path(folder) / "bare"
    pygit2.clone_repository(str(checked_out_path), str(bare_path), bare=True)
    workspaces = [Workspace.open(path, durable=False) for path in (checked_out_path, bare_path)]
    times: list[tuple[float, ...]] = []
    for number, path in enumerate(islice(documents, 0, None, len(documents) // (count + _WARM_UP_EDITS))):
        operation = AppendContent(file=path, slug="one", content=f"Line {number}.")
        times.append(tuple(measure_seconds(lambda: _write(workspace, operation)) for workspace in workspaces))  # noqa: B023
    measured_times = times[_WARM_UP_EDITS : _WARM_UP_EDITS + count]
    return {
        "checked_out_p50_ms": compute_percentile([work_tree_s for work_tree_s, _ in measured_times], 0.5)
        * 1e3,
        "bare_p50_ms": compute_percentile([bare_s for _, bare_s in measured_times], 0.5) * 1e3,
        "difference_p50_ms": compute_percentile(
            [work_tree_s - bare_s for work_tree_s, bare_s in measured_times], 0.5
        )
        * 1e3,
    }


def _write(workspace: Workspace, operation: AppendContent) -> None:
    workspace.write([operation], mode=BatchMode.ALL, tool="benchmark", client="benchmark")
