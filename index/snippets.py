"""The stretch of a section that shows best why it was found, in its own words and case."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from index.matches import Match, Matcher

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

    `text` is the section without its heading; the first 100,000 characters are looked at. A text that is no
    longer than a snippet is shown whole. A window that begins or ends inside a code fence gets the fence's
    opening or closing mark, so that it reads as the code that it is.
    """
    text = _shown(text[:_READ])
    fences = _fences(text) if "```" in text or "~~~" in text else []
    if len(text) <= LENGTH:
        return _marked(text, 0, len(text), fences)
    match = _best(_matcher(frozenset(terms)).matches(text))
    start = _outside_marks(_start(text, match, fences), fences)
    return _marked(text, start, _end(text, start), fences)


@lru_cache(maxsize=4)
def _matcher(terms: frozenset[str]) -> Matcher:
    """Give the same matcher to all snippets of a page of hits."""
    return Matcher(terms)


def _shown(text: str) -> str:
    if "<" in text or "{#" in text:
        text = _HIDDEN.sub("", text)
    return text.strip("\r\n").rstrip()


def _best(matches: Sequence[Match]) -> int:
    """Find where the best window's first match is."""
    best, found = (0, 0), 0
    counts: dict[str, int] = {}
    different = total = left = 0
    for position, here in matches:
        for term in here:
            counts[term] = count = counts.get(term, 0) + 1
            different += count == 1
        total += len(here)
        while position - matches[left][0] > LENGTH - _LEAD:
            for term in matches[left][1]:
                counts[term] -= 1
                different -= counts[term] == 0
            total -= len(matches[left][1])
            left += 1
        if (different, total) > best:
            best, found = (different, total), matches[left][0]
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
    first = last = None
    for fence in fences:
        if fence.body <= start < fence.end:
            first = first or fence
        if fence.start < end and (end < fence.close or fence.is_open):
            last = last or fence
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
