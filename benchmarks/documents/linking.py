"""The link graph: made from every document, then following edits of a section, each with a new link."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import SEED
from benchmarks.documents.editing import NotFound, places
from benchmarks.timing import seconds, spread
from index.link_graph.graph import LinkGraph
from index.storage.location import IndexLocation
from workspace.edits import AppendContent
from workspace.links.inbound import ScannedInbound
from workspace.workspace import Workspace
from workspace.writing.plan import Mode

_WARM_UP = 3
_SCANS = 3


def measure(repository: str, count: int) -> dict[str, Any]:
    """Seconds and bytes of the first graph; how long it takes to follow each edit, and to say who links.

    `scan` is the same question where there is no graph.
    """
    workspace = Workspace.open(Path(repository), durable=False)
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        graph = LinkGraph(workspace, IndexLocation(lambda: "benchmark", lambda name: [Path(folder)]))
        try:
            built = seconds(lambda: graph.follow(workspace.snapshot()))
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
            follows, asks = _edits(workspace, graph, count)
        finally:
            graph.close()
    snapshot = workspace.snapshot()
    paths = list(snapshot.documents)[:: max(1, len(snapshot.documents) // _SCANS)][:_SCANS]
    scans = [seconds(lambda: ScannedInbound().linking_to(snapshot, [path])) for path in paths]  # noqa: B023
    return {
        "seconds": built,
        "bytes": size,
        "follow": spread(follows[_WARM_UP:]),
        "ask": spread(asks[_WARM_UP:]),
        "scan": spread(scans),
    }


def _edits(workspace: Workspace, graph: LinkGraph, count: int) -> tuple[list[float], list[float]]:
    follows: list[float] = []
    asks: list[float] = []
    for number, (path, slug) in enumerate(places(workspace, count + _WARM_UP, SEED)):
        text = f"A sentence with [a link](../zq/linked-{number}.md)."
        operation = AppendContent(file=path, slug=slug, content=text)
        written = workspace.write([operation], mode=Mode.ALL, tool="benchmark", client="benchmark")
        if not written.is_committed:
            raise NotFound(f"{path}: {written.steps[0].error}")
        snapshot = workspace.snapshot()
        follows.append(seconds(lambda: graph.follow(snapshot)))  # noqa: B023
        asks.append(seconds(lambda: graph.linking_to(snapshot, [path])))  # noqa: B023
    return follows, asks
