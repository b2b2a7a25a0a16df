"""The imports in code strings of tests and benchmarks refer to existing names."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(
    r"\bfrom ((?:docyard|tools|index|workspace|benchmarks|release|tests)(?:\.\w+)*) import (\w+(?:, \w+)*)"
)


def _has_name(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


def test_imports_in_code_strings_refer_to_existing_names() -> None:
    imports = {
        (module, name, str(path.relative_to(ROOT)))
        for folder in ("tests", "benchmarks", "release")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for module, names in IMPORT.findall(node.value)
        for name in names.split(", ")
    }
    assert len(imports) > 10
    assert {entry for entry in imports if not _has_name(*entry[:2])} == set()
