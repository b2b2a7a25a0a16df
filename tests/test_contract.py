"""Every sentence of the contract of search has a test, and every test that is named for one exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "cases" / "contract_search.md"
SENTENCES = 166

_ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<sentence>.+) \| (?P<shown>[^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


class Row(NamedTuple):
    """A sentence of the contract, and the tests that show it: file and name of each."""

    number: int
    sentence: str
    shown: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        return _TEST.findall(self.shown)


ROWS = [
    Row(int(row["number"]), row["sentence"], row["shown"]) for row in _ROW.finditer(TABLE.read_text("utf-8"))
]


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of the tests of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_the_sentences_are_counted() -> None:
    assert [row.number for row in ROWS] == [*range(1, SENTENCES + 1)]
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if re.match(r"\| *\d", line)]
    assert len(lines) == SENTENCES


def test_no_sentence_is_without_a_test() -> None:
    for row in ROWS:
        assert row.tests
        assert ", ".join(f"`{file}::{name}`" for file, name in row.tests) == row.shown


def test_every_test_that_is_named_exists() -> None:
    named = sorted({test for row in ROWS for test in row.tests})
    missing = [
        f"{file}::{name}" for file, name in named if not (ROOT / file).exists() or name not in names_in(file)
    ]
    assert missing == []
