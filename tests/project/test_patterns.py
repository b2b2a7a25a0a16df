"""Regular expressions match equally in every supported version of Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.loops import loop_over

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("docyard", "tools", "index", "workspace", "templates")

# After a possessive or atomic group, early releases of 3.11 match at a wrong position (CPython issue 106052).
POSSESSIVE_GROUP = re.compile(r"\)(?:[?*+]|\{[0-9,]+\})\+|\(\?>")

pytestmark = pytest.mark.smoke


@loop_over("package", PACKAGES)
def test_no_group_is_possessive_or_atomic(package: str) -> None:
    files = [
        file for file in (ROOT / package).rglob("*.py") if POSSESSIVE_GROUP.search(file.read_text("utf-8"))
    ]
    assert files == []


@loop_over("pattern", [r"(?:a|b)*+", r"(?:--)?+", r"(?:ab){2,}+", r"(?>a|b)"])
def test_possessive_or_atomic_group_is_found(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(f'PATTERN = re.compile(r"{pattern}c")')
