"""Headings of reStructuredText (docutils, "reStructuredText Markup Specification", Sections)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from workspace.texts.headings import Heading, with_title

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


def read_headings(lines: Lines) -> list[Heading]:
    """The section titles: a line with an adornment below it, or above it too; levels by first appearance.

    Nothing indented is one, such as literal blocks, quotations and what directives hold.
    """
    found: list[Heading] = []
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
        found.append(Heading(_plain(words), level, line + is_overlined, line))
        line += 2 + is_overlined
    return with_title(lines, found, _COMMENTS)


def _title(lines: Lines, line: int) -> tuple[str, bytes, bool] | None:
    """The title that begins on a line, its adornment, and whether one stands above it too; else None."""
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
    """The sign of which a whole line is made; empty if it is another line, or shorter than two signs."""
    raw = lines.raw(line).rstrip()
    return raw[:1] if len(raw) > 1 and _ADORNMENT.fullmatch(raw) else b""


def _words(lines: Lines, line: int) -> str:
    raw = lines.raw(line)
    return raw.decode("utf-8", "replace").rstrip() if len(raw) <= _LONGEST else ""


def _is_title(title: str, underline: int) -> bool:
    """Whether a line that is underlined by so many signs is a title."""
    if not title or title[0].isspace() or _NO_TITLE.match(title) or _ADORNMENT.fullmatch(title.encode()):
        return False
    return underline >= _UNDERLINE or underline >= _columns(title)


def _columns(title: str) -> int:
    """How many columns a title takes: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in title)
    return len(title) + wide - sum(map(bool, map(unicodedata.combining, title)))


def _plain(title: str) -> str:
    """A title without its inline markup."""
    words = _REFERENCE.sub("`", _TARGET.sub("", _ROLE.sub("", title))) if "`" in title else title
    return words.replace("`", "").replace("*", "").strip()
