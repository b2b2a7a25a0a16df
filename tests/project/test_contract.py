"""Every sentence of a contract has a test, and every named test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {"contract_search.md": 166, "contract_proposals.md": 98, "contract_page.md": 81}

_ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<sentence>.+) \| (?P<shown>[^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


class Row(NamedTuple):
    """A sentence of the contract, and the file and name of each of its tests."""

    number: int
    sentence: str
    shown: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        return _TEST.findall(self.shown)


every_table = pytest.mark.parametrize("table", SENTENCES)


def text_of(table: str) -> str:
    return (ROOT / "tests" / "cases" / table).read_text(encoding="utf-8")


def rows_of(table: str) -> list[Row]:
    return [Row(int(row["number"]), row["sentence"], row["shown"]) for row in _ROW.finditer(text_of(table))]


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


@every_table
def test_sentences_of_contracts_are_counted(table: str) -> None:
    assert [row.number for row in rows_of(table)] == [*range(1, SENTENCES[table] + 1)]
    lines = [line for line in text_of(table).splitlines() if re.match(r"\| *\d", line)]
    assert len(lines) == SENTENCES[table]


@every_table
def test_every_sentence_has_a_test(table: str) -> None:
    for row in rows_of(table):
        assert row.tests
        assert ", ".join(f"`{file}::{name}`" for file, name in row.tests) == row.shown


@every_table
def test_every_named_test_exists(table: str) -> None:
    named = sorted({test for row in rows_of(table) for test in row.tests})
    missing = [
        f"{file}::{name}" for file, name in named if not (ROOT / file).exists() or name not in names_in(file)
    ]
    assert missing == []
