"""Examples in `tests/cases/*.md`, read as test cases: each is a heading, fences and prose.

A fence contains an input or an expected result. Its invisible characters are written as `␍` (carriage
return), `␉` (tab), `␠` (space), `␀` (NUL), `⟨BOM⟩` (byte-order mark), and `⟨end⟩` at the end if the last line
has no line ending.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

CASES_FOLDER = Path(__file__).resolve().parents[1] / "cases"
_CHARACTERS_BY_SIGN = {
    "␍": "\r",
    "␉": "\t",
    "␠": " ",
    "␀": "\0",
    "⟨BOM⟩": "\ufeff",
    "⟨end⟩\n": "",
    "⟨end⟩": "",
}


@dataclass(frozen=True, slots=True)
class Case:
    """An example: its heading, the heading's line, and the content of each fence by its info string."""

    name: str
    line: int
    fences: Mapping[str, str]

    def data(self, fence: str) -> bytes:
        """Return the bytes of the document in a fence, with invisible characters in place of their signs."""
        text = self.fences[fence]
        for sign, character in _CHARACTERS_BY_SIGN.items():
            text = text.replace(sign, character)
        return text.encode()

    def json(self, fence: str) -> Any:
        """Return the value of a JSON fence."""
        return json.loads(self.fences[fence])


def read_cases(name: str) -> list[Any]:
    """Return the examples of a file, as parameters of a test."""
    tokens = MarkdownIt("commonmark").parse((CASES_FOLDER / name).read_text(encoding="utf-8"))
    cases: list[Any] = []
    title, line, fences = "", 0, dict[str, str]()
    for position, token in enumerate([*tokens, Token("heading_open", "", 1)]):
        if token.type == "heading_open":
            if fences:
                cases.append(pytest.param(Case(title, line, fences), id=title))
            if position < len(tokens):
                title, line, fences = tokens[position + 1].content, (token.map or [0])[0] + 1, {}
        elif token.type == "fence":
            fences[token.info.strip()] = token.content
    return cases
