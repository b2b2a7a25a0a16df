"""Searches over HTTP of several nodes that share an index in PostgreSQL, beside servers with files.

Each node is a process with a folder of its own for its segments; all read one repository. The clients are
divided between the nodes, as by a load balancer. All run on one machine, so that more nodes than processors
cannot answer more. The windows, the questions and the clients are those of `benchmarks.serving.http_load`,
without records.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpus import SectionText
from benchmarks.serving.http_load import LoadedServer, draw_questions, measure_servers
from benchmarks.serving.sources import build_indexes, make_command, write_sources_file
from docyard import environment

NODE_COUNTS = (1, 2, 4)
FILE_PROCESS_COUNTS = (1, 2, 4)


def measure_load(
    repository: Path, home: Path, section_texts: Sequence[SectionText], url: str
) -> dict[str, dict[str, float]]:
    """Return the measurements of servers with files (`files_N`) and of nodes (`nodes_N`), N processes each.

    Raises CorpusTooSmall, MeasurementFailed.
    """
    questions = draw_questions(section_texts)
    file = write_sources_file(home / "load" / "sources.toml", [repository])
    build_indexes(file)
    nodes = [
        _create_node(repository, home / f"load-node-{number}", url) for number in range(max(NODE_COUNTS))
    ]
    results = {}
    for count in FILE_PROCESS_COUNTS:
        command = (*make_command(file, "--http"), "--workers", str(count))
        results[f"files_{count}"] = measure_servers(
            [LoadedServer(command, home)], questions, "search_documentation"
        )
    for count in NODE_COUNTS:
        results[f"nodes_{count}"] = measure_servers(nodes[:count], questions, "search_documentation")
    return results


def _create_node(repository: Path, home: Path, url: str) -> LoadedServer:
    file = write_sources_file(home / "sources.toml", [repository])
    return LoadedServer(make_command(file, "--http"), home, {environment.ENGINE_URL: url})
