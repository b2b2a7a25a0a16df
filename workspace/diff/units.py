"""The units in which a text is compared: paragraphs, list items, rows of tables, lines of code.

This reads lines as people see them, and need not know all of CommonMark: whatever it takes for a unit, the
units joined are the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workspace.diff.texts import BLANKS
from workspace.markdown.lines import LIST_MARKER

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_ITEM = re.compile(rf"[ \t]*{LIST_MARKER}[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")


class Unit(NamedTuple):
    """The characters [start, end) of a text. `is_whole`: a line of code or a row, never told word by word."""

    start: int
    end: int
    is_whole: bool
    is_blank: bool = False


def units(text: str) -> list[Unit]:
    """The units of a text, in order, which together are the text."""
    found: list[Unit] = []
    fence = ""
    is_open = False  # whether the next line of words goes on with the unit before it
    at = 0
    for line in _lines(text):
        end = at + len(line)
        opening = _FENCE.match(line)
        if fence:
            found.append(Unit(at, end, True))
            if opening and opening[1].startswith(fence) and not opening[2].strip(BLANKS):
                fence = ""
            is_open = False
        elif opening and ("`" not in opening[2] or opening[1][0] == "~"):
            fence = opening[1]
            found.append(Unit(at, end, True))
            is_open = False
        elif not line.strip(BLANKS):
            found.append(Unit(at, end, True, True))
            is_open = False
        elif line.lstrip(" \t").startswith("|"):
            found.append(Unit(at, end, True))
            is_open = False
        elif _HEADING.match(line):
            found.append(Unit(at, end, False))
            is_open = False
        elif is_open and not _ITEM.match(line):
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(Unit(at, end, False))
            is_open = True
        at = end
    return found


def _lines(text: str) -> list[str]:
    """The lines of a text, which end in LF alone."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])
