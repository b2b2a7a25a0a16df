"""The imports of help, the version and completion, which a user waits for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.environment import COMPLETION, copy_variables

ROOT = Path(__file__).resolve().parents[3]

LIBRARIES = frozenset(
    {
        *("anyio", "asyncio", "httpx2", "jinja2", "logging.config", "markdown_it", "mcp", "mcp_types", "nh3"),
        *("numpy", "orjson", "packaging", "pydantic", "pygit2", "pygments", "rich", "slugify", "sqlalchemy"),
        *("sqlite3", "ssl", "starlette", "Stemmer", "uvicorn", "whoosh", "yaml"),
    }
)
"""Modules whose import takes longer than that of a command."""

_PRINT_MODULES = "import json, sys; print('\\n' + json.dumps(sorted(sys.modules)))"

_PRINT_HELP_OF_ALL_COMMANDS = """
import click
from docyard.cli.main import docyard, main

def print_help(command, context, names):
    assert main([*names, "-h"]) == 0
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            print_help(subcommand, click.Context(subcommand, parent=context), [*names, name])

print_help(docyard, click.Context(docyard), [])
"""


def list_imported_modules(code: str, **variables: str) -> set[str]:
    """Return the names of the modules that are imported after some code has run in a new process."""
    completed = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_PRINT_MODULES}"],
        cwd=ROOT,
        env={**copy_variables(), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    modules: list[str] = json.loads(completed.stdout.splitlines()[-1])
    return set(modules)


@pytest.mark.process
def test_help_of_every_command_imports_no_library() -> None:
    modules = list_imported_modules(_PRINT_HELP_OF_ALL_COMMANDS)
    assert "docyard.commands.proposals.merge" in modules
    assert not modules & LIBRARIES
    assert not {name for name in modules if name.split(".")[0] in ("tools", "index", "templates")}
    assert not {name for name in modules if name.startswith(("workspace.git", "workspace.config.tables"))}


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["-h"], ["--version"], ["nonsense"]])
def test_help_and_version_import_no_command(arguments: list[str]) -> None:
    modules = list_imported_modules(f"from docyard.cli.main import main\nmain({arguments})")
    assert not {name for name in modules if name.startswith("docyard.commands")}
    assert not modules & LIBRARIES


@pytest.mark.process
def test_completion_of_a_command_name_imports_no_command() -> None:
    code = """
import sys
from docyard.cli.main import main
try:
    main([])
except SystemExit:
    pass
"""
    modules = list_imported_modules(
        code, **{COMPLETION: "bash_complete", "_DOCYARD_LINE": "docyard se", "_DOCYARD_WORD": "se"}
    )
    assert "docyard.cli.shells" in modules
    assert not {name for name in modules if name.startswith("docyard.commands")}
    assert not modules & LIBRARIES


def test_libraries_exist() -> None:
    from importlib.util import find_spec

    assert all(map(find_spec, LIBRARIES))
