"""Snapshots of the tools' definitions, for review: `python -m tests.tools.snapshots` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.arguments import build_input_schema
from tools.tool import Tool
from tools.toolsets import SOURCES_TOOLSET, all_tools, load_toolset

FOLDER = Path(__file__).parent
SNAPSHOT_TOOLS = (*all_tools(), *load_toolset(SOURCES_TOOLSET))


def build_definition(tool: Tool) -> dict[str, Any]:
    """Return a tool's definition without the additions of a workspace."""
    return {
        "name": tool.name,
        **tool.build_title_field(),
        "description": tool.description,
        "inputSchema": build_input_schema(tool.arguments),
        "annotations": tool.build_annotations(),
    }


def format_snapshot(tool: Tool) -> str:
    """Return the content of a snapshot file."""
    return json.dumps(build_definition(tool), indent=2, ensure_ascii=False) + "\n"


def write_snapshots() -> None:
    """Write every snapshot, and remove those of removed tools."""
    names = {f"{tool.name}.json" for tool in SNAPSHOT_TOOLS}
    for file in FOLDER.glob("*.json"):
        if file.name not in names:
            file.unlink()
    for tool in SNAPSHOT_TOOLS:
        (FOLDER / f"{tool.name}.json").write_text(format_snapshot(tool), encoding="utf-8")
