"""The entry of the MCP registry, generated from the metadata of the project.

python -m release.registry_entry
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from docyard import __version__
from release.installation import Installer, create_repository, try_server
from release.programs import ReleaseError

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
ENTRY_FILE = ROOT / "server.json"
SCHEMA_FILE = Path(__file__).with_name("server.schema.json")


class EntryError(ReleaseError):
    """The entry does not have the form that the registry requires."""


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


def check_entry(entry: dict[str, Any]) -> None:
    """Raise EntryError for an entry that the schema does not accept."""
    validator = Draft7Validator(json.loads(SCHEMA_FILE.read_bytes()))
    if messages := [f"{error.json_path}: {error.message}" for error in validator.iter_errors(entry)]:
        raise EntryError(f"server.json is invalid: {'; '.join(messages)}")


def try_entry(entry: dict[str, Any], wheel: Path, installer: Installer, docyard: Path, home: Path) -> str:
    """Start the server of an entry as a host does, and return a summary.

    The package is the wheel, because it is not on PyPI yet. `docyard` creates the repository. All files are
    written in the new folder `home`. Raises EntryError, ProgramError.
    """
    check_entry(entry)
    home.mkdir()
    repository = create_repository(docyard, home)
    [package] = entry["packages"]
    values = {"--repo": str(repository)}
    arguments: list[str] = []
    for argument in package["packageArguments"]:
        is_named = argument["type"] == "named"
        arguments += [argument["name"], values[argument["name"]]] if is_named else [argument["value"]]
    command = [str(installer.uv.with_name(package["runtimeHint"])), "--constraints", str(installer.versions)]
    command += ["--from", str(wheel), package["identifier"], *arguments]
    return try_server(command, repository, home, installer.variables)


def main() -> int:
    """Write `server.json`."""
    ENTRY_FILE.write_text(format_entry(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
