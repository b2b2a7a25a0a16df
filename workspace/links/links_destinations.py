"""Link destinations and titles as CommonMark writes them (§6.3, §4.7)."""

from __future__ import annotations

import re
from typing import NamedTuple

from workspace.links.link import Enclosure

_SPACES = re.compile(r"[ \t\n]*")
_ANGLE = re.compile(r"<([^<>\n\\]*(?:\\.[^<>\n\\]*)*)>")
_BARE = re.compile(r"[^\x00-\x20\x7f()\\]+|\\[!-/:-@\[-`{-~]|[\\()]")
_TITLE = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"' r"|'[^'\\]*(?:\\.[^'\\]*)*'" r"|\([^()\\]*(?:\\.[^()\\]*)*\)", re.DOTALL
)
_LABEL = re.compile(r"\[([^\[\]\\]*(?:\\.[^\[\]\\]*)*)\]", re.DOTALL)
# How nearly all are written: a destination of plain characters, and the parenthesis behind it.
_PLAIN = re.compile(r"\(([^\x00-\x20\x7f()\\<][^\x00-\x20\x7f()\\]*)\)")

# The reference implementations take as many.
_MAX_PARENTHESES = 32


class Destination(NamedTuple):
    """A destination [start, end) without what encloses it; `behind` is the position after all of it."""

    start: int
    end: int
    enclosure: Enclosure
    behind: int


def read_destination(text: str, at: int, end: int) -> Destination | None:
    """The destination that begins at a position, which is no white space; None if none does."""
    if text.startswith("<", at, end):
        found = _ANGLE.match(text, at, end)
        return Destination(*found.span(1), Enclosure.ANGLE, found.end()) if found else None
    depth, position = 0, at
    while found := _BARE.match(text, position, end):
        if found.group() == "(":
            depth += 1
            if depth > _MAX_PARENTHESES:
                return None
        elif found.group() == ")":
            if not depth:
                break
            depth -= 1
        position = found.end()
    return None if depth or position == at else Destination(at, position, Enclosure.BARE, position)


def read_parentheses(text: str, at: int, end: int) -> Destination | None:
    """What the parentheses of an inline link hold that open at a position; None if they are none of one."""
    plain = _PLAIN.match(text, at, end)
    if plain:
        return Destination(*plain.span(1), Enclosure.BARE, plain.end())
    begin = _behind_spaces(text, at + 1, end)
    found = read_destination(text, begin, end) or Destination(begin, begin, Enclosure.BARE, begin)
    if found.behind == begin and text.startswith("<", begin, end):
        return None
    behind = _behind_spaces(text, found.behind, end)
    if behind > found.behind > begin and (title := _TITLE.match(text, behind, end)):
        behind = _behind_spaces(text, title.end(), end)
    return found._replace(behind=behind + 1) if text.startswith(")", behind, end) else None


def read_label(text: str, at: int, end: int) -> str | None:
    """The link label whose bracket opens at a position, as it is written; None if there is none."""
    found = _LABEL.match(text, at, end)
    return found[1] if found else None


def read_definition(text: str) -> tuple[str, Destination] | None:
    """The label and the destination of a link definition, which is all of the text."""
    label = read_label(text, 0, len(text))
    if label is None:
        return None
    found = read_destination(text, _behind_spaces(text, len(label) + 3, len(text)), len(text))
    return (label, found) if found else None


def _behind_spaces(text: str, at: int, end: int) -> int:
    found = _SPACES.match(text, at, end)
    return found.end() if found else at
