"""Only one module imports markdown-it-py, and several threads can import it at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

FIRST_USES_SCRIPT = """
import sys
import threading
from workspace.markdown.parser import make_block_parser, make_bounded_state

errors = []
sys.setswitchinterval(1e-6)

def run(function):
    try:
        function()
    except Exception as error:
        errors.append(error)

threads = [threading.Thread(target=run, args=(use,)) for use in (make_block_parser, make_bounded_state)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
"""


def iter_imports(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the modules that statements import at run time."""
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for child in ast.walk(node):
            if isinstance(child, ast.ImportFrom):
                yield child.module or ""
            elif isinstance(child, ast.Import):
                yield from (alias.name for alias in child.names)


@pytest.mark.smoke
def test_only_one_module_imports_the_library_at_run_time() -> None:
    importing_modules = {
        path.name
        for path in (ROOT / "workspace" / "markdown").rglob("*.py")
        for name in iter_imports(ast.parse(path.read_text(encoding="utf-8")).body)
        if name.partition(".")[0] == "markdown_it"
    }
    assert importing_modules == {"library.py"}


@pytest.mark.slow
def test_first_uses_of_the_parser_in_several_threads_succeed() -> None:
    for _ in range(50):
        subprocess.run([sys.executable, "-c", FIRST_USES_SCRIPT], cwd=ROOT, check=True)
