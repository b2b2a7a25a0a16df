"""Times of `tools/list` with as many keys and values as the contract of `metadata.json` allows.

python -m benchmarks.serving.taxonomy [--length N]     milliseconds, also of a bare server

The bare server is the SDK's own, with the same definitions and no other work.
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

from benchmarks.child import environment
from benchmarks.corpus import Corpus, make_repository
from benchmarks.serving.startup import serve
from benchmarks.serving.stdio import Peer
from benchmarks.timing import seconds, spread
from index.service import SearchIndex
from index.storage.metadata import MAX_KEYS, MAX_VALUES
from workspace.workspace import Workspace

LISTS = 40
LENGTH = 20
"""The default length of a value in characters; the contract allows 128."""


def corpus(length: int) -> Corpus:
    """Return a document for each value; every document has a value of `length` characters of every key."""
    settings = "".join(
        f"[taxonomy.key{key}]\ndescription = 'Filter by key {key}.'\n" for key in range(MAX_KEYS)
    )
    documents = {"docyard.toml": settings.encode()}
    for number in range(MAX_VALUES):
        values = "".join(f"key{key}: {f'v{key}-{number}-':x<{length}}\n" for key in range(MAX_KEYS))
        documents[f"document-{number}.md"] = f"---\n{values}---\n# Document {number}\n".encode()
    return Corpus(documents)


def lists(command: Sequence[str], home: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """Measure `tools/list` of a server that has listed its tools before; return the list too."""
    with Peer(command, home) as peer:
        peer.initialize()
        listed = peer.request("tools/list")
        return spread([seconds(lambda: peer.request("tools/list")) for _ in range(LISTS)]), listed


async def serve_bare(tools: Sequence[dict[str, Any]]) -> None:
    """Run a server that lists these tools until standard input ends."""

    async def list_tools(
        context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools])

    server: Server[Any] = Server("bare", version="1", on_list_tools=list_tools)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print, or run the bare server of a file of definitions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving.taxonomy")
    parser.add_argument("--length", type=int, default=LENGTH, help="characters of each value")
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.bare:
        anyio.run(serve_bare, json.loads(options.bare.read_text())["tools"])
        return 0
    with tempfile.TemporaryDirectory(prefix="docyard-taxonomy-") as folder:
        home = Path(folder)
        os.environ.update(environment(home))
        make_repository(corpus(options.length), home / "repository")
        index = SearchIndex(Workspace.open(home / "repository"))
        index.rebuild()
        index.close()
        ours, listed = lists(serve(home / "repository"), home)
        (home / "tools.json").write_text(json.dumps(listed))
        command = (sys.executable, "-m", "benchmarks.serving.taxonomy", "--bare", str(home / "tools.json"))
        bare, _ = lists(command, home)
        size = (home / "tools.json").stat().st_size
    print(json.dumps({"keys": MAX_KEYS, "values": MAX_VALUES, "bytes": size, "ours": ours, "bare": bare}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
