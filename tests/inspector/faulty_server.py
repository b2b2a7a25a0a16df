"""A server with one tool, about whose schema the inspector warns: `python faulty_server.py`."""

from __future__ import annotations

from typing import Any

from docyard.mcp_server.server import run_stdio


class FaultyDispatcher:
    on_list_change: Any = None
    build_review_url: Any = None
    has_resources = True

    def definitions(self) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}
        return [{"name": "faulty", "description": "A union of types", "inputSchema": schema}]

    def tool_names(self) -> frozenset[str]:
        return frozenset(("faulty",))

    def may_change_prompts(self) -> bool:
        return False

    def awaits_taxonomy(self) -> bool:
        return False


run_stdio(FaultyDispatcher(), version="0", warm=lambda progress: None)  # type: ignore[arg-type]
