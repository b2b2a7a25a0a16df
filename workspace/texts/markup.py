"""Find the headings of reStructuredText and AsciiDoc.

Sources: docutils, "reStructuredText Markup Specification", Sections; AsciiDoc Language, "Section Titles and
Levels" and "Delimited Blocks".
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from workspace.texts.headings import TextHeading, promote_title

if TYPE_CHECKING:
    from workspace.markdown.lines import Lines

_ADORNMENT = re.compile(rb"([!-/:-@\[-`{-~])\1*")

# docutils reads an underline that is shorter than its title as text, unless it has at least four characters.
_MIN_UNDERLINE_LENGTH = 4
_MAX_LINE_LENGTH = 1000
_RST_COMMENT_MARKS = (b"..", b" ", b"\t")
_NON_TITLE = re.compile(r"(?:[-*+•] |\.\. |\.\.$|\+-|>>> |\| |:[^:\s][^:]*: )")
_ROLE = re.compile(r":[a-z][a-z:+-]*:(?=`)", re.IGNORECASE)
_REFERENCE = re.compile(r"`__?")
_TARGET = re.compile(r" ?<[^<>`]*>(?=`)")


def read_restructuredtext(lines: Lines) -> list[TextHeading]:
    """Return the section titles; their levels follow the first appearance of each style.

    A title is a line with an adornment below it, or above and below it, at the beginning of a paragraph.
    Indented lines without an overline are not titles: they are literal blocks, quotations or the content of
    directives.
    """
    headings: list[TextHeading] = []
    styles: dict[tuple[bytes, bool], int] = {}
    line, line_count, may_be_title = 0, len(lines), True
    while line < line_count:
        title = _read_title(lines, line) if may_be_title else None
        if title is None:
            raw_line = lines.line_bytes(line)
            may_be_title = not raw_line.strip() or raw_line.startswith(b".. ")
            line += 1
            continue
        text, mark, is_overlined = title
        level = styles.setdefault((mark, is_overlined), len(styles) + 1)
        headings.append(TextHeading(_strip_markup(text), level, line + is_overlined, line))
        line += 2 + is_overlined
    return promote_title(lines, headings, _RST_COMMENT_MARKS)


def _read_title(lines: Lines, line: int) -> tuple[str, bytes, bool] | None:
    """Return the title that begins on a line, its adornment, and True if it has an overline.

    Return None if no title begins on the line.
    """
    overline = _read_adornment(lines, line)
    is_overlined = bool(overline) and line + 2 < len(lines) and _read_adornment(lines, line + 2) == overline
    underline_line = line + 1 + is_overlined
    if underline_line >= len(lines) or (overline and not is_overlined):
        return None
    mark = _read_adornment(lines, underline_line)
    text = _read_text(lines, underline_line - 1)
    text = text.lstrip() if is_overlined else text
    return (
        (text, mark, is_overlined)
        if mark and _is_title(text, len(lines.line_bytes(underline_line).rstrip()))
        else None
    )


def _read_adornment(lines: Lines, line: int) -> bytes:
    """Return the character that a full line repeats; b"" for other lines and for a single character."""
    raw_line = lines.line_bytes(line).rstrip()
    return raw_line[:1] if len(raw_line) > 1 and _ADORNMENT.fullmatch(raw_line) else b""


def _read_text(lines: Lines, line: int) -> str:
    raw_line = lines.line_bytes(line)
    return raw_line.decode("utf-8", "replace").rstrip() if len(raw_line) <= _MAX_LINE_LENGTH else ""


def _is_title(title: str, underline_length: int) -> bool:
    """Return True if a line with an underline of this length is a title."""
    if not title or title[0].isspace() or _NON_TITLE.match(title) or _ADORNMENT.fullmatch(title.encode()):
        return False
    return underline_length >= _MIN_UNDERLINE_LENGTH or underline_length >= _count_columns(title)


def _count_columns(title: str) -> int:
    """Return the number of columns of a title: a wide character takes two, a combining character zero."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in title)
    return len(title) + wide - sum(map(bool, map(unicodedata.combining, title)))


def _strip_markup(title: str) -> str:
    """Return a title without its inline markup."""
    text = _REFERENCE.sub("`", _TARGET.sub("", _ROLE.sub("", title))) if "`" in title else title
    return text.replace("`", "").replace("*", "").strip()


_TITLE = re.compile(rb"(={1,6}|#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(rb"([-.=*_+/])\1{3,}|--|```[^`]*|[|,:!]={3,}")
_PRECEDES_TITLE = re.compile(rb"\[[^\[\]].*\]|\[\[.+\]\]|//[^/].*|//|:[^:\s][^:]*:.*|\.[^.\s].*")
_UNDERLINE_LEVELS = {ord("="): 1, ord("-"): 2, ord("~"): 3, ord("^"): 4, ord("+"): 5}
_ASCIIDOC_HEADER_MARKS = (b"//", b":", b"[")
_ANCHOR = re.compile(r" ?\[\[[^\[\]]*\]\]$")
_INLINE_MARKS = re.compile(r"[`*]|(?<!\w)_|_(?!\w)")


def read_asciidoc(lines: Lines) -> list[TextHeading]:
    """Return the section titles outside of delimited blocks: of one line, or with an underline.

    `= Title` and `# Title` have level 1, and each further mark is one level deeper. A block without an end
    extends to the end of the text.
    """
    headings: list[TextHeading] = []
    fence, may_be_title, line, line_count = b"", True, 0, len(lines)
    while line < line_count:
        raw_line = (
            lines.line_bytes(line).rstrip()
            if lines.offset(line + 1) - lines.offset(line) <= _MAX_LINE_LENGTH
            else b"-"
        )
        line += 1
        if fence:
            fence = b"" if raw_line == fence else fence
            may_be_title = True
            continue
        title = _TITLE.fullmatch(raw_line) if may_be_title else None
        if title:
            headings.append(
                TextHeading(_strip_asciidoc_markup(title[2], title[1]), len(title[1]), line - 1, line - 1)
            )
            continue
        level = _read_underline_level(lines, line, raw_line) if may_be_title else 0
        if level:
            headings.append(TextHeading(_strip_asciidoc_markup(raw_line, b""), level, line - 1, line - 1))
            line += 1
            continue
        if _FENCE.fullmatch(raw_line):
            fence = b"```" if raw_line.startswith(b"```") else raw_line
            continue
        may_be_title = not raw_line or _PRECEDES_TITLE.fullmatch(raw_line) is not None
    return promote_title(lines, headings, _ASCIIDOC_HEADER_MARKS)


def _read_underline_level(lines: Lines, line: int, raw_line: bytes) -> int:
    """Return the level of a title with an underline, or 0 for another line.

    The lengths of a title and its underline differ by at most one character.
    """
    underline = lines.line_bytes(line).rstrip() if line < len(lines) else b""
    level = _UNDERLINE_LEVELS.get(underline[0], 0) if len(underline) > 1 else 0
    if not level or underline.count(underline[:1]) != len(underline):
        return 0
    title = raw_line.decode("utf-8", "replace")
    return level if abs(len(underline) - len(title)) <= 1 and any(map(str.isalnum, title)) else 0


def _strip_asciidoc_markup(raw_title: bytes, marks: bytes) -> str:
    """Return a title without its inline markup, its anchor and its closing marks."""
    title = raw_title.decode("utf-8", "replace").strip()
    if marks and title.endswith(f" {marks.decode()}"):
        title = title[: -len(marks)].rstrip()
    return _INLINE_MARKS.sub("", _ANCHOR.sub("", title)).strip()
