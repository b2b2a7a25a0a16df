"""Times of `tools/list` with as many keys and values as the contract of `metadata.json` allows.

python -m benchmarks.serving.taxonomy [--length N]     prints milliseconds, also of a minimal server

The minimal server is a server of the SDK that returns the same definitions and does no other work.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, PaginatedRequestParams, Tool

from benchmarks.child import make_child_environment
from benchmarks.corpus import Corpus, make_repository
from benchmarks.serving.startup import make_server_command
from benchmarks.serving.stdio import StdioServer
from benchmarks.timing import compute_p50_p95_ms, measure_seconds
from index.service import SearchIndex
from index.storage.metadata import MAX_KEYS, MAX_VALUES
from workspace.workspace import Workspace

LIST_COUNT = 40
VALUE_LENGTH = 20
"""The default length of a value in characters; the contract allows 128."""


def make_corpus(length: int) -> Corpus:
    """Return a corpus of MAX_VALUES documents, each with other values of `length` characters for all keys."""
    settings = "".join(
        f"[taxonomy.key{key}]\ndescription = 'Filter by key {key}.'\n" for key in range(MAX_KEYS)
    )
    documents = {"docyard.toml": settings.encode()}
    for number in range(MAX_VALUES):
        values = "".join(f"key{key}: {f'v{key}-{number}-':x<{length}}\n" for key in range(MAX_KEYS))
        documents[f"document-{number}.md"] = f"---\n{values}---\n# Document {number}\n".encode()
    return Corpus(documents)


def measure_tool_list(command: Sequence[str], home: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """Measure `tools/list` of a server after its first list; return the times and the list of tools."""
    with StdioServer(command, home) as server:
        server.initialize()
        tools = server.request("tools/list")
        times = [measure_seconds(lambda: server.request("tools/list")) for _ in range(LIST_COUNT)]
        return compute_p50_p95_ms(times), tools


async def serve_tool_list(tools: Sequence[dict[str, Any]]) -> None:
    """Run a minimal server, which lists the given tools, until standard input ends."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools])

    server: Server[Any] = Server("minimal", version="1", on_list_tools=list_tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the times, or run the minimal server with a file of definitions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving.taxonomy")
    parser.add_argument("--length", type=int, default=VALUE_LENGTH, help="characters of each value")
    parser.add_argument("--minimal-server", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.minimal_server:
        anyio.run(serve_tool_list, json.loads(options.minimal_server.read_text())["tools"])
        return 0
    with tempfile.TemporaryDirectory(prefix="docyard-taxonomy-") as folder:
        home = Path(folder)
        os.environ.update(make_child_environment(home))
        make_repository(make_corpus(options.length), home / "repository")
        index = SearchIndex(Workspace.open(home / "repository"))
        index.rebuild()
        index.close()
        docyard_times, tools = measure_tool_list(make_server_command(home / "repository"), home)
        (home / "tools.json").write_text(json.dumps(tools))
        command = (
            sys.executable,
            "-m",
            "benchmarks.serving.taxonomy",
            "--minimal-server",
            str(home / "tools.json"),
        )
        minimal_server_times, _ = measure_tool_list(command, home)
        size = (home / "tools.json").stat().st_size
    print(
        json.dumps(
            {
                "keys": MAX_KEYS,
                "values": MAX_VALUES,
                "bytes": size,
                "docyard": docyard_times,
                "minimal_server": minimal_server_times,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
