"""One door for each outside thing: which module may import what is outside, by parsing every module."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loops import loop_over

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("docyard", "tools", "index", "workspace", "templates")

# What is outside, and the only places that may touch it: a module, or a folder whose modules all may.
DOORS = {
    "pygit2": ("workspace/git/",),
    "markdown_it": ("workspace/markdown/",),
    "mdit_py_plugins": ("workspace/markdown/",),
    "linkify_it": ("workspace/markdown/html/reader.py",),
    "yaml": ("workspace/frontmatter/", "docyard/eval/cases.py"),
    "slugify": ("workspace/markdown/slugs.py",),
    "whoosh": ("index/whoosh_engine/",),
    "Stemmer": ("index/analysis/",),
    "sqlite3": ("index/link_graph/store.py",),
    "jinja2": ("docyard/web/templates.py",),
    "starlette": (
        "docyard/http/",
        "docyard/web/",
        "docyard/mcp_server/http.py",
        "docyard/forges/webhooks.py",
    ),
    "uvicorn": ("docyard/http/",),
    "httpx2": ("docyard/forges/",),
    "nh3": ("workspace/rendering/sanitizer.py",),
    "latex2mathml": ("workspace/rendering/",),
    "matplotlib": ("docyard/eval/plot.py",),
    "mcp": ("docyard/mcp_server/",),
    "mcp_types": ("docyard/mcp_server/",),
    "subprocess": ("docyard/",),
    "os.environ": ("docyard/environment.py",),
    "os.environb": ("docyard/environment.py",),
    "os.getenv": ("docyard/environment.py",),
    "os.getenvb": ("docyard/environment.py",),
    "os.putenv": ("docyard/environment.py",),
    "os.getcwd": ("docyard/environment.py",),
    "os.getcwdb": ("docyard/environment.py",),
    "os.chdir": ("docyard/environment.py",),
    "os.system": (),
    "pathlib.Path.cwd": ("docyard/environment.py",),
}

# The same by the first part of each name.
OUTSIDE = {
    first: {name: doors for name, doors in DOORS.items() if name.partition(".")[0] == first}
    for first in {name.partition(".")[0] for name in DOORS}
}

pytestmark = pytest.mark.smoke

# Without one of these words nothing outside is touched; and this begins a relative import.
WORDS = "|".join(re.escape(name.rpartition(".")[2]) for name in DOORS)
SUSPECT = re.compile(rf"\b(?:{WORDS})\b|^\s*from\s*\.", re.MULTILINE)


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Those that are worth parsing, which takes a while."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if SUSPECT.search(source):
                yield path.relative_to(ROOT).as_posix(), ast.parse(source, str(path))


def touched(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(dotted name, line) of all that a module imports, and of all attributes of what it imports."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}", node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = attribute(node, names)
            if dotted:
                yield dotted, node.lineno
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = attribute(node.func, names) or getattr(node.func, "id", "")
            if called in ("__import__", "importlib.import_module") and isinstance(node.args[0].value, str):
                yield node.args[0].value, node.lineno


def attribute(node: ast.expr, names: dict[str, str]) -> str | None:
    """`a.b.c` with the imported name that `a` stands for, or None."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        head = attribute(node.value, names)
        return f"{head}.{node.attr}" if head else None
    return None


def trespasses(module: str, tree: ast.Module) -> list[str]:
    found = set()
    for name, line in touched(tree):
        for outside, doors in OUTSIDE.get(name.partition(".")[0], {}).items():
            if f"{name}.".startswith(f"{outside}.") and not module.startswith(doors):
                found.add(f"{module}:{line} touches {outside}; its door: {', '.join(doors) or 'none'}")
    return sorted(found)


def test_outside_things_come_in_by_their_door_and_modules_by_full_names() -> None:
    """A relative import would hide its layer from a reader. Each module is read once for both."""
    trespassing, relative = [], []
    for module, tree in modules():
        trespassing += trespasses(module, tree)
        relative += [
            f"{module}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level
        ]
    assert trespassing == []
    assert relative == []


@loop_over(
    "source",
    [
        "import pygit2",
        "import pygit2.enums as e",
        "from pygit2.enums import FileMode",
        "def f():\n    from whoosh import index",
        "import importlib\nimportlib.import_module('yaml')",
        "__import__('mcp.server')",
        "from os import environ",
        "import os as o\no.environ.get('X')",
        "import os\nos.getcwd()",
        "from pathlib import Path\nPath.cwd()",
        "import pathlib as p\np.Path.cwd()",
        "import subprocess",
        "import os\nos.system('x')",
    ],
)
def test_every_way_around_a_door_is_seen(source: str) -> None:
    assert SUSPECT.search(source)
    assert trespasses("tools/search/example.py", ast.parse(source))


@loop_over("source", ["import os\nos.fsync(1)", "import yamllike", "import pathlib\npathlib.Path('x')"])
def test_what_has_no_door_passes(source: str) -> None:
    assert trespasses("tools/search/example.py", ast.parse(source)) == []


def test_no_private_name_of_a_dependency_is_used() -> None:
    own = {*PACKAGES, *sys.stdlib_module_names}
    assert [
        f"{module.relative_to(ROOT)}:{line} uses {name}"
        for package in ("docyard", "tools")
        for module in (ROOT / package).rglob("*.py")
        if re.search(r"\._|import _", source := module.read_text(encoding="utf-8"))
        for name, line in touched(ast.parse(source))
        if name.partition(".")[0] not in own and re.search(r"\._(?!_)", name)
    ] == []
