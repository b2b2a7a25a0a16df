"""The entry of the MCP registry, generated from the metadata of the project.

python -m release.registry_entry
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from docyard import __version__

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
ENTRY_FILE = ROOT / "server.json"


def read_project(root: Path = ROOT) -> dict[str, Any]:
    """Return the contents of `pyproject.toml`."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def build_entry() -> dict[str, object]:
    """Return the entry: the package on PyPI, and the command that serves a folder over standard input."""
    project = read_project()
    metadata = project["project"]
    return {
        "$schema": SCHEMA,
        "name": project["tool"]["docyard"]["mcp-name"],
        "title": "Docyard",
        "description": metadata["description"],
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": metadata["name"],
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {
                        "type": "named",
                        "name": "--repo",
                        "description": "The Git repository with the documents; `docyard init` creates one",
                        "format": "filepath",
                        "isRequired": True,
                    },
                ],
            }
        ],
    }


def format_entry() -> str:
    """Return the text of `server.json`."""
    return json.dumps(build_entry(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write `server.json`."""
    ENTRY_FILE.write_text(format_entry(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
