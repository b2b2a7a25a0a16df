"""Oversized calls on a workspace of huge documents, in a process with a memory limit.

`python -m tests.tools.oversized_calls` makes the calls. Its arguments are a repository and the limit of the
address space in bytes; its output is one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

MAX_CPU_SECONDS = 900


def call_tools(repository: Path) -> dict[str, Any]:
    """Return the code of each call ("ok" if it succeeded), the hints, the hits, and the sizes of views."""
    from index.service import SearchIndex
    from tools.dispatcher import ToolDispatcher
    from workspace.workspace import Workspace

    workspace = Workspace.open(repository, durable=False)
    dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), None, False)
    results: dict[str, Any] = {}

    def call_tool(name: str, tool: str, **fields: Any) -> dict[str, Any]:
        answer = dispatcher.call(tool, fields, client="tester")
        results[name] = answer.data.get("code", "ok")
        return answer.data

    documents = call_tool("list", "list_documents")["documents"]
    results["hints"] = {entry["path"]: entry["hints"][0] for entry in documents if "hints" in entry}
    hits = call_tool("search", "search_docs", query="needle")
    results["hits"] = json.dumps(hits)
    for path in sorted(workspace.snapshot().documents):
        view = call_tool(f"view {path}", "view_document", file=path)
        results[f"size {path}"] = len(json.dumps(view))
        fields = {"operation": "append_content", "file": path, "slug": "_preamble", "content": "More."}
        call_tool(f"write {path}", "edit_document", **fields)
    new_section = {"operation": "add_section", "file": "small.md", "title": "Oversized"}
    call_tool("50 MB", "edit_document", **new_section, content="x" * 50_000_000)
    call_tool("11 MB", "edit_document", **new_section, content="some words\n\n" * 900 + "x" * 11_000_000)
    call_tool("headings", "edit_document", **new_section, content="### A\n" * 100_000)
    call_tool("lines", "edit_document", **new_section, content="a\n" * 300_000)
    call_tool("blocks", "edit_document", **new_section, content="> > > > > > > > a\n\n" * 90_000)
    call_tool("nesting", "edit_document", **new_section, content="- " * 30 + "a")
    call_tool("operations", "edit_document", operations=[new_section] * 201)
    call_tool("call", "edit_document", operations=[{**new_section, "content": "x" * 1_000_000}] * 21)
    call_tool("one more heading", "edit_document", **{**new_section, "file": "headings.md"})
    call_tool("small", "edit_document", **new_section, content="Text.")
    return results


if __name__ == "__main__":
    address_space_bytes = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes, address_space_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    print(json.dumps(call_tools(Path(sys.argv[1]))))
