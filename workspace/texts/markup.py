"""Headings of reStructuredText (docutils, "reStructuredText Markup Specification", Sections).

Headings of AsciiDoc (AsciiDoc Language, "Section Titles and Levels", "Delimited Blocks").
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from workspace.texts.headings import TextHeading, promote_title

if TYPE_CHECKING:
    from workspace.markdown.lines import Lines

_ADORNMENT = re.compile(rb"([!-/:-@\[-`{-~])\1*")

# docutils takes a shorter underline for text; one of four signs and more is only warned of.
_UNDERLINE = 4
_LONGEST = 1000
_COMMENTS = (b"..", b" ", b"\t")
_NO_TITLE = re.compile(r"(?:[-*+•] |\.\. |\.\.$|\+-|>>> |\| |:[^:\s][^:]*: )")
_ROLE = re.compile(r":[a-z][a-z:+-]*:(?=`)", re.IGNORECASE)
_REFERENCE = re.compile(r"`__?")
_TARGET = re.compile(r" ?<[^<>`]*>(?=`)")


def read_restructuredtext(lines: Lines) -> list[TextHeading]:
    """Return the section titles: lines with an adornment below, or above too; levels by first appearance.

    Nothing indented is one, such as literal blocks, quotations and what directives hold.
    """
    found: list[TextHeading] = []
    styles: dict[tuple[bytes, bool], int] = {}
    line, count, free = 0, len(lines), True
    while line < count:
        title = _title(lines, line) if free else None
        if title is None:
            raw = lines.raw(line)
            free = not raw.strip() or raw.startswith(b".. ")
            line += 1
            continue
        words, mark, is_overlined = title
        level = styles.setdefault((mark, is_overlined), len(styles) + 1)
        found.append(TextHeading(_plain(words), level, line + is_overlined, line))
        line += 2 + is_overlined
    return promote_title(lines, found, _COMMENTS)


def _title(lines: Lines, line: int) -> tuple[str, bytes, bool] | None:
    """Return the title that begins on a line, its adornment, and True if one is above it too; else None."""
    over = _adornment(lines, line)
    is_overlined = bool(over) and line + 2 < len(lines) and _adornment(lines, line + 2) == over
    below = line + 1 + is_overlined
    if below >= len(lines) or (over and not is_overlined):
        return None
    mark = _adornment(lines, below)
    words = _words(lines, below - 1)
    words = words.lstrip() if is_overlined else words
    return (words, mark, is_overlined) if mark and _is_title(words, len(lines.raw(below).rstrip())) else None


def _adornment(lines: Lines, line: int) -> bytes:
    """Return the character that a whole line repeats; "" for another line, or fewer than two of them."""
    raw = lines.raw(line).rstrip()
    return raw[:1] if len(raw) > 1 and _ADORNMENT.fullmatch(raw) else b""


def _words(lines: Lines, line: int) -> str:
    raw = lines.raw(line)
    return raw.decode("utf-8", "replace").rstrip() if len(raw) <= _LONGEST else ""


def _is_title(title: str, underline: int) -> bool:
    """Return True if a line that is underlined by so many signs is a title."""
    if not title or title[0].isspace() or _NO_TITLE.match(title) or _ADORNMENT.fullmatch(title.encode()):
        return False
    return underline >= _UNDERLINE or underline >= _columns(title)


def _columns(title: str) -> int:
    """Return how many columns a title takes: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in title)
    return len(title) + wide - sum(map(bool, map(unicodedata.combining, title)))


def _plain(title: str) -> str:
    """Return a title without its inline markup."""
    words = _REFERENCE.sub("`", _TARGET.sub("", _ROLE.sub("", title))) if "`" in title else title
    return words.replace("`", "").replace("*", "").strip()


_TITLE = re.compile(rb"(={1,6}|#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(rb"([-.=*_+/])\1{3,}|--|```[^`]*|[|,:!]={3,}")
_BETWEEN = re.compile(rb"\[[^\[\]].*\]|\[\[.+\]\]|//[^/].*|//|:[^:\s][^:]*:.*|\.[^.\s].*")
_UNDERLINES = {ord("="): 1, ord("-"): 2, ord("~"): 3, ord("^"): 4, ord("+"): 5}
_HEADER = (b"//", b":", b"[")
_ANCHOR = re.compile(r" ?\[\[[^\[\]]*\]\]$")
_MARKS = re.compile(r"[`*]|(?<!\w)_|_(?!\w)")


def read_asciidoc(lines: Lines) -> list[TextHeading]:
    """Return the section titles outside of delimited blocks; `= Title` is of level 1, and so on.

    A block that is not closed goes on to the end of the text.
    """
    found: list[TextHeading] = []
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
            found.append(TextHeading(_plain_asciidoc(title[2], title[1]), len(title[1]), line - 1, line - 1))
            continue
        level = _read_underline_level(lines, line, raw) if free else 0
        if level:
            found.append(TextHeading(_plain_asciidoc(raw, b""), level, line - 1, line - 1))
            line += 1
            continue
        if _FENCE.fullmatch(raw):
            fence = b"```" if raw.startswith(b"```") else raw
            continue
        free = not raw or _BETWEEN.fullmatch(raw) is not None
    return promote_title(lines, found, _HEADER)


def _read_underline_level(lines: Lines, line: int, raw: bytes) -> int:
    """Return the level of a two-line title whose underline is as long, within one character; else 0."""
    under = lines.raw(line).rstrip() if line < len(lines) else b""
    level = _UNDERLINES.get(under[0], 0) if len(under) > 1 else 0
    if not level or under.count(under[:1]) != len(under):
        return 0
    title = raw.decode("utf-8", "replace")
    return level if abs(len(under) - len(title)) <= 1 and any(map(str.isalnum, title)) else 0


def _plain_asciidoc(words: bytes, marks: bytes) -> str:
    """Return a title without its inline markup, its anchor and its closing marks."""
    title = words.decode("utf-8", "replace").strip()
    if marks and title.endswith(f" {marks.decode()}"):
        title = title[: -len(marks)].rstrip()
    return _MARKS.sub("", _ANCHOR.sub("", title)).strip()
