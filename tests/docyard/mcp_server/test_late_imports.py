"""The imports of a server that only lists its tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.process
def test_list_of_tools_imports_no_modules_for_calls(repo: Path) -> None:
    code = f"""
import sys
from importlib.util import find_spec
from pathlib import Path
import docyard.commands.serve, docyard.mcp_server.server
from docyard.service import build_repository_service
from workspace.workspace import Workspace
service = build_repository_service(Workspace.open(Path({str(repo)!r})), None, read_only=False, syncs=True)
assert service.dispatcher.definitions()
modules = {{"numpy", "whoosh", "markdown_it", "jinja2", "yaml", "index.snippets"}}
modules |= {{"index.whoosh_engine.engine", "tomllib"}}
modules |= {{"tools.proposals", "tools.history", "workspace.proposals", "workspace.merge"}}
modules |= {{"workspace.edits", "workspace.writing.plan", "workspace.document.tasks", "index.port"}}
assert not modules & sys.modules.keys(), modules & sys.modules.keys()
assert all(map(find_spec, modules)), "a module does not exist"
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
