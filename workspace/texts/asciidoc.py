"""Headings of AsciiDoc (AsciiDoc Language, "Section Titles and Levels", "Delimited Blocks")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.texts.headings import Heading, with_title

if TYPE_CHECKING:
    from workspace.markdown.lines import Lines

_TITLE = re.compile(rb"(={1,6}|#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(rb"([-.=*_+/])\1{3,}|--|```[^`]*|[|,:!]={3,}")
_BETWEEN = re.compile(rb"\[[^\[\]].*\]|\[\[.+\]\]|//[^/].*|//|:[^:\s][^:]*:.*|\.[^.\s].*")
_UNDERLINES = {ord("="): 1, ord("-"): 2, ord("~"): 3, ord("^"): 4, ord("+"): 5}
_HEADER = (b"//", b":", b"[")
_LONGEST = 1000

_ANCHOR = re.compile(r" ?\[\[[^\[\]]*\]\]$")
_MARKS = re.compile(r"[`*]|(?<!\w)_|_(?!\w)")


def read_headings(lines: Lines) -> list[Heading]:
    """The section titles outside of delimited blocks; `= Title` is of level 1, and so on.

    A block that is not closed goes on to the end of the text.
    """
    found: list[Heading] = []
    fence, free, line, count = b"", True, 0, len(lines)
    while line < count:
        raw = lines.raw(line).rstrip() if lines.offset(line + 1) - lines.offset(line) <= _LONGEST else b"-"
        line += 1
        if fence:
            fence = b"" if raw == fence else fence
            free = True
            continue
        title = _TITLE.fullmatch(raw) if free else None
        if title:
            found.append(Heading(_plain(title[2], title[1]), len(title[1]), line - 1, line - 1))
            continue
        level = _underlined(lines, line, raw) if free else 0
        if level:
            found.append(Heading(_plain(raw, b""), level, line - 1, line - 1))
            line += 1
            continue
        if _FENCE.fullmatch(raw):
            fence = b"```" if raw.startswith(b"```") else raw
            continue
        free = not raw or _BETWEEN.fullmatch(raw) is not None
    return with_title(lines, found, _HEADER)


def _underlined(lines: Lines, line: int, raw: bytes) -> int:
    """The level of a title of two lines, whose underline is as long as it is, give or take one; else 0."""
    under = lines.raw(line).rstrip() if line < len(lines) else b""
    level = _UNDERLINES.get(under[0], 0) if len(under) > 1 else 0
    if not level or under.count(under[:1]) != len(under):
        return 0
    title = raw.decode("utf-8", "replace")
    return level if abs(len(under) - len(title)) <= 1 and any(map(str.isalnum, title)) else 0


def _plain(words: bytes, marks: bytes) -> str:
    """A title without its inline markup, its anchor and its closing marks."""
    title = words.decode("utf-8", "replace").strip()
    if marks and title.endswith(f" {marks.decode()}"):
        title = title[: -len(marks)].rstrip()
    return _MARKS.sub("", _ANCHOR.sub("", title)).strip()
