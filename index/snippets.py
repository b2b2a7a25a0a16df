"""The stretch of a section that shows best why it was found, in its own words and case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from index.analysis import TOKEN, expand

LENGTH = 260
"""Characters in a snippet, more or less a word or an added mark."""

_READ = 100_000
_LEAD = 80

_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|\{#[^\s{}]++[^{}\n]*+\}|<#[^\s<>]+>|<a\s[^<>]*>\s*</a>|<a\s+(?:id|name)=[^<>]*/>",
    re.DOTALL,
)
# What may repeat keeps what it took (`++`), or a long line would take time that grows with its square.
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^\n`]*+$", re.MULTILINE)
_START = re.compile(r"\n\s*|[.!?:;]\s+")
_EDGE = re.compile(r"\s")
_BLANK_LINES = re.compile(r"\n[ \t\r\n]*\n")


class _Fence(NamedTuple):
    """A fenced block: [start, body) is its opening line, [end, close) its closing one."""

    start: int
    body: int
    end: int
    close: int
    mark: str
    info: str

    @property
    def is_open(self) -> bool:
        """Whether it has no closing line, and so runs to the end."""
        return self.end == self.close


def snippet(text: str, terms: Collection[str]) -> str:
    """Cut the window of a section's text with the most different query terms, then the most of them.

    `text` is the section without its heading; the first 100,000 characters are looked at. A window that
    begins or ends inside a code fence gets the fence's opening or closing mark, so that it reads as the
    code that it is.
    """
    text = _HIDDEN.sub("", text[:_READ]).strip("\r\n").rstrip()
    fences = list(_fences(text))
    start = _outside_marks(_start(text, _best(text, frozenset(terms)), fences), fences)
    end = _end(text, start)
    return _marked(text, start, end, fences)


def _best(text: str, terms: frozenset[str]) -> int:
    """Find where the best window's first match is."""
    matches = [
        (match.start(), frozenset(expand(match.group())) & terms)
        for match in TOKEN.finditer(text)
        if not terms.isdisjoint(expand(match.group()))
    ]
    best, found = (0, 0), 0
    window: Counter[str] = Counter()
    left = 0
    for position, here in matches:
        window.update(here)
        while position - matches[left][0] > LENGTH - _LEAD:
            window.subtract(matches[left][1])
            left += 1
        score = (sum(1 for count in window.values() if count > 0), sum(window.values()))
        if score > best:
            best, found = score, matches[left][0]
    return found


def _start(text: str, match: int, fences: list[_Fence]) -> int:
    """Begin at the sentence or line of the match, else at a word a little before it."""
    fence = next((fence for fence in fences if fence.start <= match < fence.close), None)
    floor = max(0, match - _LEAD)
    if fence and fence.start >= floor:
        return fence.start
    if floor == 0:
        return 0
    starts = [found.end() for found in _START.finditer(text, floor, match)]
    if starts:
        return starts[0]
    edge = _EDGE.search(text, floor, match)
    return edge.end() if edge else match


def _outside_marks(start: int, fences: list[_Fence]) -> int:
    """Move a start out of the middle of a fence's own lines."""
    for fence in fences:
        if fence.start < start < fence.body:
            return fence.start
        if fence.end < start < fence.close:
            return fence.close
    return start


def _end(text: str, start: int) -> int:
    end = start + LENGTH
    if end >= len(text):
        return len(text)
    edge = max(text.rfind(" ", start + LENGTH // 2, end), text.rfind("\n", start + LENGTH // 2, end))
    return edge if edge > 0 else end


def _marked(text: str, start: int, end: int, fences: list[_Fence]) -> str:
    first = next((fence for fence in fences if fence.body <= start < fence.end), None)
    last = next(
        (fence for fence in fences if fence.start < end and (end < fence.close or fence.is_open)), None
    )
    if last and end < last.body:
        end, last = last.start, None
    elif last:
        end = min(end, last.end)
    end = start + len(text[start:end].rstrip())
    if first:
        opening = f"{first.mark}{first.info}\n"
    else:
        opening = "" if start == 0 else "…\n" if any(fence.start == start for fence in fences) else "… "
    if last:
        closing = f"\n{last.mark}"
    else:
        closing = "" if end == len(text) else "\n…" if any(fence.close == end for fence in fences) else " …"
    return _BLANK_LINES.sub("\n", opening + text[start:end] + closing)


def _fences(text: str) -> list[_Fence]:
    """Find the fenced blocks, by CommonMark 0.31 §4.5 as far as blocks at the top level go."""
    fences: list[_Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif line[1][0] == opened[1][0] and len(line[1]) >= len(opened[1]) and not line[2]:
            fences.append(
                _Fence(opened.start(), opened.end() + 1, line.start(), line.end(), opened[1], opened[2])
            )
            opened = None
    if opened is not None:
        fences.append(_Fence(opened.start(), opened.end() + 1, len(text), len(text), opened[1], opened[2]))
    return fences
