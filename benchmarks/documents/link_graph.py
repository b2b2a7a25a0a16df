"""The link graph: built from every document, then updated after edits that add links."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.documents.edits import EditFailed, draw_sections
from benchmarks.timing import compute_p50_p95_ms, measure_seconds
from index.link_graph.graph import LinkGraph
from index.storage.location import IndexLocation
from workspace.edits.text import AppendContent
from workspace.links.inbound_links import InboundLinkScanner
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

_WARM_UP_EDITS = 3
_SCAN_COUNT = 3


def measure(repository: str, count: int) -> dict[str, Any]:
    """Measure the first build in seconds and bytes, and an update and a backlinks query after each edit.

    `backlinks_scan` is the backlinks query of a few documents without a graph. Raises EditFailed.
    """
    workspace = Workspace.open(Path(repository), durable=False)
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        graph = LinkGraph(workspace, IndexLocation(lambda: "benchmark", lambda name: [Path(folder)]))
        try:
            build_s = measure_seconds(lambda: graph.update_to(workspace.snapshot()))
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
            update_times, query_times = _measure_edits(workspace, graph, count)
        finally:
            graph.close()
    snapshot = workspace.snapshot()
    paths = list(snapshot.documents)[:: max(1, len(snapshot.documents) // _SCAN_COUNT)][:_SCAN_COUNT]
    scan_times = [
        measure_seconds(partial(InboundLinkScanner().find_linking_documents, snapshot, [path]))
        for path in paths
    ]
    return {
        "seconds": build_s,
        "bytes": size,
        "update": compute_p50_p95_ms(update_times[_WARM_UP_EDITS:]),
        "backlinks_query": compute_p50_p95_ms(query_times[_WARM_UP_EDITS:]),
        "backlinks_scan": compute_p50_p95_ms(scan_times),
    }


def _measure_edits(workspace: Workspace, graph: LinkGraph, count: int) -> tuple[list[float], list[float]]:
    update_times: list[float] = []
    query_times: list[float] = []
    for number, (path, slug) in enumerate(draw_sections(workspace, count + _WARM_UP_EDITS, SEED)):
        text = f"A sentence with [a link](../zq/linked-{number}.md)."
        operation = AppendContent(file=path, slug=slug, content=text)
        result = workspace.write([operation], mode=BatchMode.ALL, tool="benchmark", client="benchmark")
        if not result.is_committed:
            raise EditFailed(f"{path}: {result.steps[0].error}")
        snapshot = workspace.snapshot()
        update_times.append(measure_seconds(lambda: graph.update_to(snapshot)))  # noqa: B023
        query_times.append(measure_seconds(lambda: graph.find_linking_documents(snapshot, [path])))  # noqa: B023
    return update_times, query_times
