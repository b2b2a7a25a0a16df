"""The contracts: every sentence has a test, and every named test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SENTENCE_COUNTS = {"contract_search.md": 166, "contract_proposals.md": 98, "contract_page.md": 81}

_ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<sentence>.+) \| (?P<test_column>[^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


class ContractRow(NamedTuple):
    """A sentence of the contract, and the file and name of each of its tests."""

    number: int
    sentence: str
    test_column: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        return _TEST.findall(self.test_column)


parametrize_tables = pytest.mark.parametrize("table", SENTENCE_COUNTS)


def read_table(table: str) -> str:
    return (ROOT / "tests" / "cases" / table).read_text(encoding="utf-8")


def read_rows(table: str) -> list[ContractRow]:
    return [
        ContractRow(int(row["number"]), row["sentence"], row["test_column"])
        for row in _ROW.finditer(read_table(table))
    ]


@cache
def read_test_names(file: str) -> frozenset[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


@parametrize_tables
def test_sentences_of_contracts_are_counted(table: str) -> None:
    assert [row.number for row in read_rows(table)] == [*range(1, SENTENCE_COUNTS[table] + 1)]
    lines = [line for line in read_table(table).splitlines() if re.match(r"\| *\d", line)]
    assert len(lines) == SENTENCE_COUNTS[table]


@parametrize_tables
def test_every_sentence_has_a_test(table: str) -> None:
    for row in read_rows(table):
        assert row.tests
        assert ", ".join(f"`{file}::{name}`" for file, name in row.tests) == row.test_column


@parametrize_tables
def test_every_named_test_exists(table: str) -> None:
    named_tests = sorted({test for row in read_rows(table) for test in row.tests})
    missing = [
        f"{file}::{name}"
        for file, name in named_tests
        if not (ROOT / file).exists() or name not in read_test_names(file)
    ]
    assert missing == []
