"""The cells of tables (GFM §4.10): nothing in one reaches into another, not even a code span."""

from __future__ import annotations

import re

_DELIMITERS = re.compile(r"\n[-:| \t]++(?=\n|\Z)")
_DELIMITER = re.compile(r"[ \t]*:?-+:?[ \t]*")
_PIPE = re.compile(r"\\.|\|")


def regions(text: str) -> list[tuple[int, int]]:
    """The parts [start, end) of a paragraph's text that are read each by itself: a table's cells, or all."""
    if "|" in text:
        for found in _DELIMITERS.finditer(text):
            header = text.rfind("\n", 0, found.start()) + 1
            columns = delimiter_columns(text, found.start() + 1, found.end())
            if columns and "|" in text[header : found.start()]:
                if len(cells(text, header, found.start())) != columns:
                    continue
                return [(0, header), *_rows(text, header, columns)]
    return [(0, len(text))]


def delimiter_columns(text: str, start: int, end: int) -> int:
    """How many cells a delimiter row has; 0 if the line is none."""
    found = cells(text, start, end)
    return len(found) if all(_DELIMITER.fullmatch(text, *cell) for cell in found) else 0


def _rows(text: str, start: int, columns: int) -> list[tuple[int, int]]:
    """The cells of the lines from a position on; what a row has more than the header does not count."""
    found: list[tuple[int, int]] = []
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        found += cells(text, start, end)[:columns]
        start = end + 1
    return found


def cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The cells of a line; the pipes at both its ends may be left out."""
    while start < end and text[start] in " \t":
        start += 1
    while start < end and text[end - 1] in " \t":
        end -= 1
    if text.startswith("|", start, end):
        start += 1
    found: list[tuple[int, int]] = []
    for pipe in _PIPE.finditer(text, start, end):
        if pipe.group() == "|":
            found.append((start, pipe.start()))
            start = pipe.end()
    if start < end:
        found.append((start, end))
    return found
