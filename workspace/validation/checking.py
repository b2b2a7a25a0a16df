"""A document is held against the rules: places in its bytes become findings with lines and columns."""

from __future__ import annotations

import re
from functools import partial
from itertools import filterfalse, islice
from typing import TYPE_CHECKING

from workspace.validation.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workspace.document.document import Document
    from workspace.markdown.lines import Lines
    from workspace.validation.rule import Rule, Spot, Subject

MOST = 100_000
"""Places of one document that a rule tells of at most."""

_KEPT = 200
_SWITCH = re.compile(
    rb"^[ \t]{0,3}<!--[ \t]{0,9}docyard:[ \t]{0,9}(off|on)((?:[ \t]{1,9}[a-z0-9-]{1,40}){0,32})[ \t]{0,9}-->",
    re.MULTILINE,
)


def check(
    subject: Subject, rules: Iterable[Rule], severities: Mapping[str, Severity], most: int = MOST
) -> list[Finding]:
    """What the rules that have a severity find in a document, in order of place: of each rule so many."""
    document = subject.document
    found: list[tuple[Spot, Rule]] = []
    switches = switches_of(document.data)
    for rule in rules:
        if rule.find is not None and rule.name in severities:
            spots = rule.find(subject)
            if switches:
                spots = filterfalse(partial(_is_switched_off, switches, rule.name), spots)
            for spot in islice(spots, most):
                found.append((spot, rule))
    if not found:
        return []
    found.sort(key=lambda one: one[0][:2])
    places = _Places(document.lines)
    return [_finding(document, places, spot, rule.name, severities[rule.name]) for spot, rule in found]


def whole(path: str, rule: str, severity: Severity, message: str, fix: str | None, line: int = 1) -> Finding:
    """A finding of a line, or of a file, whose text is not at hand."""
    return Finding(rule, severity, path, line, 1, line, 1, message, fix)


def _finding(document: Document, places: _Places, spot: Spot, rule: str, severity: Severity) -> Finding:
    data, start = document.data, spot.start
    end = max(start, start + len(data[start : spot.end].rstrip(b"\r\n")))
    line, column = places.of(start)
    last, last_column = places.of_end(start, end)
    raw = document.lines.raw(line - 1)[:_KEPT] if len(document.lines) else b""
    text = b"\0".join((raw.strip(), data[start : min(end, start + _KEPT)]))
    return Finding(
        rule,
        severity,
        document.path,
        line,
        column,
        last,
        last_column,
        spot.message,
        spot.suggestion,
        spot.mend,
        text.decode("utf-8", "replace"),
        spot.same_as,
    )


class _Places:
    """Lines and columns of bytes that are asked for in their order, so that a long line is read once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._line, self._offset, self._column = -1, 0, 1

    def of(self, offset: int) -> tuple[int, int]:
        """The line and the column of a byte, which is not before the one that was asked for last."""
        line = self._lines.line_at(offset)
        if line != self._line:
            self._line, self._offset, self._column = line, self._lines.offset(line), 1
        self._column += self._length(self._offset, offset)
        self._offset = max(offset, self._offset)
        return line + 1, self._column

    def of_end(self, start: int, end: int) -> tuple[int, int]:
        """The line and the column of the end of what begins at the byte that was asked for last."""
        line = self._lines.line_at(max(start, end - 1))
        if line == self._line:
            return line + 1, self._column + self._length(start, end)
        return line + 1, 1 + self._length(self._lines.offset(line), end)

    def _length(self, start: int, end: int) -> int:
        return len(self._lines.data[start:end].decode("utf-8", "replace")) if end > start else 0


def switches_of(data: bytes) -> list[tuple[int, bool, frozenset[str]]]:
    """Where comments switch rules off and on again: the byte, and the rules, none of which stands for all."""
    if b"docyard:" not in data:
        return []
    return [
        (found.start(), found[1] == b"off", frozenset(found[2].decode().split()))
        for found in _SWITCH.finditer(data)
    ]


def _is_switched_off(switches: list[tuple[int, bool, frozenset[str]]], rule: str, spot: Spot) -> bool:
    is_off = False
    for start, off, names in switches:
        if start > spot.start:
            break
        if not names or rule in names:
            is_off = off
    return is_off
