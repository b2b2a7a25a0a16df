"""The fast readers of headings and links: times with these readers, and without each of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.corpus import SEED
from benchmarks.documents.edits import EditFailed, draw_sections
from benchmarks.search import full_index
from index.link_graph import build
from index.link_graph.graph import LinkGraph
from index.storage.location import IndexLocation
from workspace.document.document import Document
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.links import reader as link_reader
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

READERS = ("scanner", "linewise")
"""The scanner of headings (`workspace/markdown/scanner.py`), and the linewise reader of links."""


def measure(repository: str, without: str | None, count: int) -> dict[str, Any]:
    """Measure the processor time of work that reads headings or links.

    Returns the seconds of reading the type of every document, of building an index, and of building a link
    graph, and the median milliseconds of an edit that adds a link. `without` is the reader to replace by the
    parser; None replaces no reader. This process does all work, without child processes.
    """
    with ExitStack() as stack:
        stack.enter_context(patch.object(build, "MIN_DOCUMENTS_FOR_CHILDREN", 1_000_000))
        if without == "scanner":
            stack.enter_context(patch.object(Document, "parse", Document.parse_fully))
        elif without == "linewise":
            stack.enter_context(patch.object(link_reader, "read_links", link_reader.read_links_by_parser))
        folder = stack.enter_context(TemporaryDirectory())
        Path(folder).chmod(0o700)
        workspace = Workspace.open(Path(repository), durable=False)
        snapshot = workspace.snapshot()
        start = time.process_time()
        for path in snapshot.documents:
            with suppress(WorkspaceError):
                _ = snapshot.document(path).type
        list_s = time.process_time() - start
        index_s = full_index.measure(repository, 1, f"{folder}/index")["cpu_seconds"]
        graph = LinkGraph(workspace, IndexLocation(lambda: "benchmark", lambda name: [Path(folder)]))
        stack.callback(graph.close)
        start = time.process_time()
        graph.update_to(snapshot)
        links_s = time.process_time() - start
        return {
            "list_s": list_s,
            "index_s": index_s,
            "links_s": links_s,
            "edit_ms": _measure_edits(workspace, draw_sections(workspace, count, SEED)),
        }


def _measure_edits(workspace: Workspace, sections: Iterable[tuple[str, str]]) -> float:
    times: list[float] = []
    for number, (path, slug) in enumerate(sections):
        text = f"A sentence with [a link](../zr/linked-{number}.md)."
        start = time.process_time()
        result = workspace.write(
            [AppendContent(file=path, slug=slug, content=text)],
            mode=BatchMode.ALL,
            tool="benchmark",
            client="benchmark",
        )
        times.append(1000 * (time.process_time() - start))
        if not result.is_committed:
            raise EditFailed(f"{path}: {result.steps[0].error}")
    return median(times)
