"""Signatures: the lines of code that declare something, or say how a thing is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.texts.code import MODIFIER

if TYPE_CHECKING:
    from collections.abc import Sequence

_DECLARES = re.compile(
    rf"[ \t]*{MODIFIER}{{0,5}}"
    r"(?:class|def|defp|enum|fn|func|fun|function|impl|interface|macro|message|module|namespace|package|proc|rpc"
    r"|service|struct|sub|trait|type|typedef|union|CREATE[ \t]+TABLE)\b[ \t]+[\w(*&<\"]"
)
_TEMPLATE = re.compile(r"[ \t]*template[ \t]*<")
_ENDPOINT = re.compile(r"[ \t]*(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)[ \t]+(?:/|https?:)\S*")
_USAGE = re.compile(r"[ \t]*(?:usage:|synopsis:|\$[ \t]+\S)", re.IGNORECASE)
# A type, and a name with an opening parenthesis: a declaration in C and what descends from it. No word may be
# one of those that begin a statement.
_C_LIKE = re.compile(
    r"[ \t]*(?!return\b|else\b|new\b|delete\b|throw\b|if\b|while\b|for\b|switch\b|await\b|yield\b|print\b)"
    r"(?:[\w:<>,*&\[\]~]+[ \t]+){1,6}[*&]*[\w:~]+(?:[ \t]?[-+*/%&|^!=<>\[\]]{1,3})?[ \t]*\("
)
_COMMENT = re.compile(r"[ \t]*(?://|#(?!define|pragma|include)|/\*|\*|--|;|@\w|<!--)")

# So many lines are looked at for a declaration, which goes over so many more.
_FIRST_LINES = 6
_MOST_LINES = 12
_LINE = 300


def signature(lines: Sequence[str]) -> str | None:
    """The declaration, endpoint or command with which a block of code begins, on one line; None if with none.

    It ends where its parentheses are closed.
    """
    looked_at = [line[:_LINE] for line in lines[: _FIRST_LINES + _MOST_LINES]]
    for place, line in enumerate(looked_at[:_FIRST_LINES]):
        if not line.strip() or _COMMENT.match(line):
            continue
        if _ENDPOINT.match(line) or _USAGE.match(line):
            return " ".join(line.split())
        if _DECLARES.match(line) or _TEMPLATE.match(line) or _is_c_declaration(line):
            return declaration(looked_at[place:])
        return None
    return None


def _is_c_declaration(line: str) -> bool:
    before = line.partition("(")[0]
    return ("=" not in before or "operator" in before) and _C_LIKE.match(line) is not None


def declaration(lines: Sequence[str]) -> str:
    """The lines of a declaration, joined, up to where its parentheses are closed."""
    kept: list[str] = []
    depth = 0
    for line in lines[:_MOST_LINES]:
        if not line.strip() and kept:
            break
        kept.append(line)
        depth += line.count("(") - line.count(")")
        is_open = _TEMPLATE.match(line) and "(" not in line and ";" not in line
        if depth <= 0 and not is_open:
            break
    return " ".join(" ".join(kept).split())
