"""Boundary modules: only some modules may import an outside library."""

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

# The modules that may use each outside library; a folder includes all of its modules.
BOUNDARY_MODULES = {
    "pygit2": ("workspace/git/",),
    "markdown_it": ("workspace/markdown/",),
    "mdit_py_plugins": ("workspace/markdown/",),
    "linkify_it": ("workspace/markdown/html/reader.py",),
    "yaml": ("workspace/frontmatter/", "docyard/eval/cases.py"),
    "slugify": ("workspace/markdown/slugs.py",),
    "whoosh": ("index/whoosh_engine/",),
    "Stemmer": ("index/analysis/",),
    "sqlite3": ("index/storage/database.py",),
    "jinja2": ("docyard/web/templates.py",),
    "starlette": (
        "docyard/http/",
        "docyard/web/",
        "docyard/mcp_server/http.py",
        "docyard/forges/webhooks/receiver.py",
        "docyard/nodes/",
    ),
    "uvicorn": ("docyard/http/",),
    "httpx2": ("docyard/forges/", "docyard/identity/"),
    "numkong": ("index/vectors/codes.py",),
    "onnxruntime": ("docyard/embedding/local.py",),
    "tokenizers": ("docyard/embedding/local.py",),
    "nh3": ("workspace/rendering/sanitizer.py",),
    "latex2mathml": ("workspace/rendering/formulas.py",),
    "pygments": ("workspace/rendering/tokens.py",),
    "matplotlib": ("docyard/eval/plot.py",),
    "mcp": ("docyard/mcp_server/",),
    "mcp_types": ("docyard/mcp_server/",),
    "alembic": ("docyard/database/",),
    "jwt": ("docyard/identity/",),
    "prometheus_client": ("docyard/telemetry/",),
    "psycopg": (
        "docyard/database/",
        "docyard/nodes/lease.py",
        "docyard/sessions/engine.py",
        "index/postgres/",
    ),
    "pyarrow": ("docyard/records/",),
    "pydantic_settings": ("docyard/settings/",),
    "sqlalchemy": (
        "docyard/database/",
        "docyard/identity/",
        "docyard/notifications/",
        "docyard/organizations/",
        "docyard/records/",
        "docyard/sessions/",
    ),
    "smtplib": ("docyard/notifications/mail.py",),
    "http.client": ("docyard/nodes/client.py", "docyard/notifications/webhook.py"),
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

# The boundary modules by the first part of each name.
BOUNDARIES_BY_LIBRARY = {
    library: {
        name: allowed for name, allowed in BOUNDARY_MODULES.items() if name.partition(".")[0] == library
    }
    for library in {name.partition(".")[0] for name in BOUNDARY_MODULES}
}

pytestmark = pytest.mark.smoke

# A module without a match uses no outside library. The last alternative matches a relative import.
OUTSIDE_WORDS = "|".join(re.escape(name.rpartition(".")[2]) for name in BOUNDARY_MODULES)
OUTSIDE_NAME = re.compile(rf"\b(?:{OUTSIDE_WORDS})\b|^\s*from\s*\.", re.MULTILINE)


def read_modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield the path and tree of each module that may use an outside library; do not parse other modules."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if OUTSIDE_NAME.search(source):
                yield path.relative_to(ROOT).as_posix(), ast.parse(source, str(path))


def find_used_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the dotted name and line of each import, and of each attribute of an imported name."""
    imported_names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported_names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                imported_names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}", node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted_name = resolve_attribute(node, imported_names)
            if dotted_name:
                yield dotted_name, node.lineno
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function_name = resolve_attribute(node.func, imported_names) or getattr(node.func, "id", "")
            if function_name in ("__import__", "importlib.import_module") and isinstance(
                node.args[0].value, str
            ):
                yield node.args[0].value, node.lineno


def resolve_attribute(node: ast.expr, imported_names: dict[str, str]) -> str | None:
    """Return `a.b.c` with the imported name of `a`; None for any other expression."""
    if isinstance(node, ast.Name):
        return imported_names.get(node.id)
    if isinstance(node, ast.Attribute):
        dotted_head = resolve_attribute(node.value, imported_names)
        return f"{dotted_head}.{node.attr}" if dotted_head else None
    return None


def find_violations(module: str, tree: ast.Module) -> list[str]:
    violations = set()
    for name, line in find_used_names(tree):
        for outside_name, allowed in BOUNDARIES_BY_LIBRARY.get(name.partition(".")[0], {}).items():
            if f"{name}.".startswith(f"{outside_name}.") and not module.startswith(allowed):
                modules = ", ".join(allowed) or "none"
                violations.add(f"{module}:{line} uses {outside_name}; its boundary modules: {modules}")
    return sorted(violations)


def test_imports_use_boundary_modules_and_full_names() -> None:
    """Check both rules in one pass over the modules. A relative import would hide the layer of a module."""
    violations, relative_imports = [], []
    for module, tree in read_modules():
        violations += find_violations(module, tree)
        relative_imports += [
            f"{module}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level
        ]
    assert violations == []
    assert relative_imports == []


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
def test_every_bypass_of_a_boundary_module_is_found(source: str) -> None:
    assert OUTSIDE_NAME.search(source)
    assert find_violations("tools/search/example.py", ast.parse(source))


@loop_over("source", ["import os\nos.fsync(1)", "import yamllike", "import pathlib\npathlib.Path('x')"])
def test_import_without_boundary_module_is_accepted(source: str) -> None:
    assert find_violations("tools/search/example.py", ast.parse(source)) == []


def test_no_private_name_of_a_dependency_is_used() -> None:
    own_names = {*PACKAGES, *sys.stdlib_module_names}
    assert [
        f"{module.relative_to(ROOT)}:{line} uses {name}"
        for package in ("docyard", "tools")
        for module in (ROOT / package).rglob("*.py")
        if re.search(r"\._|import _", source := module.read_text(encoding="utf-8"))
        for name, line in find_used_names(ast.parse(source))
        if name.partition(".")[0] not in own_names and re.search(r"\._(?!_)", name)
    ] == []
