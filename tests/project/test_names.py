"""Identifiers do not contain words that standard terms have replaced (`docs/glossary.md`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.layout import PACKAGES, ROOT

pytestmark = pytest.mark.docs

_WORDS = (
    "told tell tells telling said say says saying stands standing mend mends mended mending anew beside "
    "hands sight kept keeping looked nasty door doors house room era eras hear heard hearing wake waking "
    "woken asked ask asks asking brought dressed born taken twins whoever nobody meant lacking gone"
)
REPLACED_WORDS = frozenset(_WORDS.split())
"""Words of earlier names. Use terms such as report, state, fix, missing, preserved or boundary module."""

PUBLIC_NAMES = frozenset({"asked", "GONE", "GenerationGone", "ParentGone"})
"""Names in events and error codes, which are public."""

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def find_identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a module defines or assigns, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case _:
                pass


def find_names_with_replaced_words(source: str) -> list[tuple[str, int]]:
    """Return the identifiers of a module that have a replaced word, with their lines."""
    return [
        (name, line)
        for name, line in find_identifiers(ast.parse(source))
        if name not in PUBLIC_NAMES
        and REPLACED_WORDS.intersection(word.lower() for word in WORD.findall(name))
    ]


@pytest.mark.parametrize("package", [*PACKAGES, "templates", "tests", "benchmarks", "release"])
def test_no_identifier_has_a_replaced_word(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    names_by_path = {
        str(path.relative_to(ROOT)): find_names_with_replaced_words(path.read_text()) for path in paths
    }
    assert {path: names for path, names in names_by_path.items() if names} == {}


@pytest.mark.parametrize("package", [*PACKAGES, "templates", "tests", "benchmarks", "release"])
def test_no_module_name_has_a_replaced_word(package: str) -> None:
    names = [path.stem for path in (ROOT / package).rglob("*") if path.suffix in ("", ".py")]
    assert [name for name in names if REPLACED_WORDS.intersection(name.lower().split("_"))] == []


@pytest.mark.parametrize(
    "source", ["told = 1", "def said_at(): ...", "class LooseMend: ...", "x.kept_rows = 2"]
)
def test_replaced_word_is_detected(source: str) -> None:
    assert len(find_names_with_replaced_words(source)) == 1


def test_identifier_without_replaced_word_is_accepted() -> None:
    assert find_names_with_replaced_words("keep = 1\nasked = 2\nclass Handler: ...\ndef restand(): ...") == []


def test_no_test_name_begins_with_a_vague_word() -> None:
    vague_words = (
        "what",
        "who",
        "nothing",
        "nor",
        "where",
        "which",
        "how",
        "it",
        "its",
        "they",
        "there",
        "so",
        "of",
    )
    pattern = re.compile(rf"def (test_(?:{'|'.join(vague_words)})_\w*)")
    paths = Path(ROOT / "tests").rglob("test_*.py")
    assert [name for path in paths for name in pattern.findall(path.read_text())] == []
