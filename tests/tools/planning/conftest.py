"""A function that reads all pages of a list."""

from __future__ import annotations

from typing import Any

from tests.tools.conftest import CallTool


def read_pages(call_tool: CallTool, tool: str, field: str, **arguments: Any) -> list[Any]:
    """Return the entries of all pages of a list. Each page has at least one entry."""
    entries: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        data = call_tool(tool, **arguments, **cursor).data
        assert data[field], data
        entries += data[field]
        if "next_cursor" not in data:
            return entries
        cursor = {"cursor": data["next_cursor"]}
