"""Cost of a work tree: an edit of 10,000 files in two levels, checked out and bare."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pygit2

from benchmarks.corpus import Corpus, make_repository
from benchmarks.timing import percentile, seconds
from workspace.edits import AppendContent
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

FOLDERS, FILES = 100, 100
_WARM_UP = 5


def measure(folder: str, count: int) -> dict[str, Any]:
    """Return medians of `count` alternating edits in each, in milliseconds, and of their differences."""
    documents = {
        f"folder{outer:02}/file{inner:02}.md": f"# File {inner}\n\n## One\n\nText of {outer}.\n".encode()
        for outer in range(FOLDERS)
        for inner in range(FILES)
    }
    checked_out = Path(folder) / "checked-out"
    make_repository(Corpus(documents), checked_out)
    bare = Path(folder) / "bare"
    pygit2.clone_repository(str(checked_out), str(bare), bare=True)
    places = [Workspace.open(path, durable=False) for path in (checked_out, bare)]
    times: list[tuple[float, ...]] = []
    for number, path in enumerate(islice(documents, 0, None, len(documents) // (count + _WARM_UP))):
        operation = AppendContent(file=path, slug="one", content=f"Line {number}.")
        times.append(tuple(seconds(lambda: _write(place, operation)) for place in places))  # noqa: B023
    measured_times = times[_WARM_UP : _WARM_UP + count]
    return {
        "checked_out_p50_ms": percentile([one for one, _ in measured_times], 0.5) * 1e3,
        "bare_p50_ms": percentile([two for _, two in measured_times], 0.5) * 1e3,
        "more_p50_ms": percentile([one - two for one, two in measured_times], 0.5) * 1e3,
    }


def _write(workspace: Workspace, operation: AppendContent) -> None:
    workspace.write([operation], mode=Mode.ALL, tool="benchmark", client="benchmark")
