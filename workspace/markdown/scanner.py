"""The scanner: a document's headings and front matter, found without reading its lines one by one.

What it finds is what the parser of `workspace.markdown` finds. Where that is not certain the answer is None,
and the parser reads the document. It stays for the rows "first list by type" and "full index" of `make bench`
(3.1 and 2.2 times as long without it, at 14,000 files).

Blocks at the top level of a text: which lines are headings, told without reading every line.

One regular expression stops at the lines that could matter: headings, and what may hide them. What makes so
little enough: a line indented by less than two columns (a *low* one) stands in no list, because an item's
text is indented by two or more; and headings, fences and HTML end every quotation and paragraph before them.
So above such a line only a fence or HTML counts that is open at the top level. It is the scanner's part
(`scan.py`), and stays with it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import BOM, LIST_MARKER_BYTES
from workspace.markdown.outline import Heading, detect_html_block_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEWLINE, _EQUALS = b"\n="

_CANDIDATE = re.compile(
    rb"\n {0,3}+(?=[#`~=<-])(?:"
    rb"(#{1,6})(?=[ \t\n])"
    rb"|(`{3,}(?=[^`\n]*\n)|~{3,})"
    rb"|(=+|-+)(?=[ \t]*\n)"
    rb"|(<(?:[!?]|(?i:script|pre|style|textarea)(?![\w-])))"
    rb")"
)

_HEADING, _FENCE, _UNDERLINE = 1, 2, 3

# CommonMark 0.31 §4.6: the ends of the kinds 1 to 5. The kinds 6 and 7 end at a blank line, and 7 does not
# end a paragraph.
_HTML_ENDS = {
    1: re.compile(rb"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    2: re.compile(rb"-->"),
    3: re.compile(rb"\?>"),
    4: re.compile(rb">"),
    5: re.compile(rb"\]\]>"),
}

_NO_INTERRUPTION = 7

# How far behind the line end above it the first mark of a low line stands at most.
_LOW = 2
_BLANK_LINE = re.compile(rb"\n[ \t]*(?=\n)")
_HTML_LINE = re.compile(rb"\n {0,3}(?=<)")
_LIST_MARKER = re.compile(rb"\n {0,3}%b(?=[ \t\n])" % LIST_MARKER_BYTES)

# After a blank line, a block that is indented too little to stand in a list, and begins none.
_TOP_BLOCK = re.compile(rb"\n[ \t]*(?=\n ?(?!%b[ \t\n])[^ \t\n])" % LIST_MARKER_BYTES)
_OUTDENTED = {2: re.compile(rb"\n ?[^ \t\n]"), 3: re.compile(rb"\n {0,2}[^ \t\n]")}

# What makes a line a part of a paragraph whatever stands above it, and the same in list items and quotations.
_WORDS = rb"(?:[^-+*_=~`<\[#>\d\s]|\d+(?![\d.)])|[*_]{1,3}[A-Za-z0-9]|`[^`\n])"
_CONTAINED = rb"(?:(?:[-+*>]|\d{1,9}[.)]) {1,3})+" + _WORDS
_FIRST_LINE = re.compile(rb"\n ?" + _WORDS)
_FIRST_CONTAINED = re.compile(rb"\n ?" + _CONTAINED)
_LATER_LINE = re.compile(rb"\n[ \t]*" + _WORDS)
_LATER_CONTAINED = re.compile(rb"\n[ \t]*" + _CONTAINED)

# What the parser takes off both ends of a heading.
_SPACES = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class NeedsFullParse(Exception):
    """Only the parser can tell."""


def find_headings(text: bytes, top: int) -> Iterator[tuple[Heading, int, int]]:
    """Yield the headings at the top level of a text, in order, with the line ends before and behind each.

    The text begins with a line end, above line 0, and ends with one; the walk begins at `top`, another. Lines
    end in LF only, and no byte is NUL. Raises Unsure.
    """
    return _Walk(text, top).headings()


class _Walk:
    """A walk over the blocks at the top level of a text. All places in it are line ends.

    `top` is behind the last block that stood at the top level for certain, `seen` is as far as lines were
    looked at for HTML, and `listed_to` for lists. None goes back, so the walk takes time in proportion to
    the text.
    """

    __slots__ = ("_is_listed", "_listed_to", "_seen", "_text", "_top")

    def __init__(self, text: bytes, top: int) -> None:
        self._text = text
        self._top = self._seen = self._listed_to = top
        self._is_listed = False

    def headings(self) -> Iterator[tuple[Heading, int, int]]:
        """Yield the headings in order, with the line ends before and behind each. Raises Unsure."""
        text, at = self._text, self._top
        line = text.count(b"\n", 1, at + 1)
        counted = at + 1
        while found := _CANDIDATE.search(text, at):
            start, kind = found.start(), found.lastindex
            below_text = start > self._top and text[start - 1] != _NEWLINE
            if below_text and (hidden := self._html_end(start)):
                at = self._top = hidden
                continue
            at = text.index(b"\n", found.end())
            block = None
            if kind == _HEADING:
                block = self._atx(found, at)
            elif kind == _UNDERLINE:
                block = self._setext(found, at, below_text)
            else:
                at = self._passed(found, at)
            if block is None:
                continue
            self._top = at
            level, start, source = block
            line += text.count(b"\n", counted, start + 1)
            counted = start + 1
            is_setext = kind == _UNDERLINE
            after = line + (text.count(b"\n", counted, at + 1) if is_setext else 1)
            yield Heading(level, line, after, source, is_setext), start, at

    def _atx(self, found: re.Match[bytes], end: int) -> tuple[int, int, str]:
        """Return the level, the beginning and the words of a heading of #s that ends at `end`."""
        start, (first, mark) = found.start(), found.span(_HEADING)
        if first - start > _LOW and self._may_be_listed(start):
            raise NeedsFullParse
        return mark - first, start, _words(self._text[mark:end])

    def _setext(self, found: re.Match[bytes], end: int, below_text: bool) -> tuple[int, int, str] | None:
        """Return the same of a heading that a line of `=` or `-` ends; None for a thematic break, or text."""
        start, (first, last) = found.start(), found.span(_UNDERLINE)
        is_equals, is_low = self._text[first] == _EQUALS, first - start <= _LOW
        paragraph = self._paragraph(start, is_low) if below_text else None
        if paragraph is not None:
            return 1 if is_equals else 2, paragraph, _decoded(self._text[paragraph:start])
        if is_low and not is_equals and last - first > 2:
            self._top = end
        self._seen = start
        return None

    def _passed(self, found: re.Match[bytes], end: int) -> int:
        """Return the end of the fence or the HTML that begins on the line that ends at `end`."""
        text, start = self._text, found.start()
        first, last = found.span(found.lastindex or 0)
        if found.lastindex == _FENCE:
            closing = _closing_fence(text[first : first + 1], last - first).search(text, end)
        else:
            kind = detect_html_block_kind(_decoded(text[first:end]))
            if kind not in _HTML_ENDS:
                self._seen = start
                return end
            closing = _HTML_ENDS[kind].search(text, first)
        behind = text.index(b"\n", closing.end()) if closing else len(text) - 1
        if first - start <= _LOW or not self._may_be_listed(start):
            self._top = behind
        # Perhaps in a list: it ends there too, unless a line leaves the list before.
        elif _OUTDENTED[first - start - 1].search(text, end, behind):
            raise NeedsFullParse
        self._seen = behind
        return behind

    def _lines_above(self, start: int) -> tuple[int, bool]:
        """Return where the lines begin that lead to a place without a blank one, and whether no more do."""
        floor = max(self._top, self._seen)
        blank = self._text.rfind(b"\n\n", floor, start)
        return (floor, floor == self._top) if blank < 0 else (blank + 1, True)

    def _html_end(self, start: int) -> int:
        """Return the end of the HTML that hides a line without a blank one above it; 0 if none does."""
        text = self._text
        place, is_first = self._lines_above(start)
        if text.find(b"<", place, start) < 0:
            return 0
        while place < start:
            end = text.index(b"\n", place + 1)
            opening = _HTML_LINE.match(text, place)
            kind = detect_html_block_kind(_decoded(text[opening.end() : end])) if opening else 0
            if opening and kind:
                if kind in _HTML_ENDS or (kind == _NO_INTERRUPTION and not is_first):
                    raise NeedsFullParse
                if opening.end() - place > _LOW and self._may_be_listed(start):
                    raise NeedsFullParse
                blank = _BLANK_LINE.search(text, end)
                end = blank.start() if blank else len(text) - 1
                if end >= start:
                    return end
            is_first = not text[place + 1 : end].strip(b" \t")
            place = end
        return 0

    def _paragraph(self, start: int, is_low: bool) -> int | None:
        """Return the start of the top-level paragraph that an underline ends; None if there is none."""
        text = self._text
        place, is_whole = self._lines_above(start)
        if not is_whole:
            raise NeedsFullParse
        first, is_contained = None, False
        while place < start:
            if _BLANK_LINE.match(text, place):
                first = None
            elif first is None:
                first, is_contained = place, _FIRST_LINE.match(text, place) is None
                if is_contained and not _FIRST_CONTAINED.match(text, place):
                    raise NeedsFullParse
            elif not (
                _LATER_LINE.match(text, place) or (is_contained and _LATER_CONTAINED.match(text, place))
            ):
                raise NeedsFullParse
            place = text.index(b"\n", place + 1)
        if first is None or not is_contained:
            return first
        if not is_low:
            raise NeedsFullParse
        return None

    def _may_be_listed(self, start: int) -> bool:
        """Return True if a list that began above a place may still be open there."""
        text, place = self._text, self._listed_to
        if place <= self._top:
            place, self._is_listed = self._top, False
        for block in _TOP_BLOCK.finditer(text, place, start):
            place, self._is_listed = block.end(), False
        if not self._is_listed:
            self._is_listed = _LIST_MARKER.search(text, place, start + 1) is not None
        self._listed_to = start
        return self._is_listed


@lru_cache(maxsize=64)
def _closing_fence(character: bytes, length: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n {0,3}%s{%d,}[ \t]*(?=\n)" % (character, length))


def _words(line: bytes) -> str:
    """Return what stands behind the #s of a heading, without those that close it (CommonMark 0.31 §4.2)."""
    words = line.rstrip(b" \t")
    if words.endswith(b"#"):
        kept = words.rstrip(b"#")
        words = kept if kept.endswith((b" ", b"\t")) else words
    return _decoded(words)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip(_SPACES)


_OPENING_MARK = re.compile(rb"\n---[ \t]*(?=\n)")
_CLOSING_MARK = re.compile(rb"\n(?: {0,3}-{3,}|\.\.\.)[ \t]*(?=\n)")
_ITEM = re.compile(rb"^ {0,3}%b(?=[ \t\r\n])" % LIST_MARKER_BYTES, re.MULTILINE)


class ScannedHeadings(NamedTuple):
    """The headings of a document, and the bytes [start, end) of the lines of each.

    `front_matter` are the bytes between its two marks, `front_matter_lines` counts its lines, the marks
    included; `body` is where the text after it begins. `lines` counts all lines of the document.
    """

    front_matter: tuple[int, int]
    front_matter_lines: int
    body: int
    lines: int
    headings: list[Heading]
    spans: list[tuple[int, int]]


def scan(data: bytes) -> ScannedHeadings | None:
    """Return the headings of a document; None where only the parser can tell them."""
    first = len(BOM) if data.startswith(BOM) else 0
    # With a line end before the first line and after the last, one expression fits them all.
    text = b"\n" + data[first:] + b"\n"
    shift = 0
    if b"\r" in text:
        if not data.count(b"\r\n") == data.count(b"\n") == data.count(b"\r"):
            return None
        text = text.replace(b"\r\n", b"\n")
        # A line stands in the document one byte later for each line above it.
        shift = 1
    if b"\0" in text:
        return None
    opening, closing, top = _front_matter(text)
    marks = text.count(b"\n", 1, top + 1)
    headings: list[Heading] = []
    spans: list[tuple[int, int]] = []
    try:
        for heading, start, end in find_headings(text, top):
            headings.append(heading)
            spans.append(
                (first + start + shift * heading.line, min(first + end + shift * heading.end, len(data)))
            )
    except NeedsFullParse:
        return None
    return ScannedHeadings(
        front_matter=(first + opening + shift, first + closing + shift * (marks - 1)) if marks else (0, 0),
        front_matter_lines=marks,
        body=min(first + top + shift * marks, len(data)),
        lines=text.count(b"\n", 1, len(text) - 1) + (text[-2:-1] != b"\n"),
        headings=headings,
        spans=spans,
    )


def may_hold_list(data: bytes, start: int, end: int) -> bool:
    """Return True if a list may begin on a line between two places at the top level of a document."""
    return _ITEM.search(data, start, end) is not None


def _front_matter(text: bytes) -> tuple[int, int, int]:
    """Return the line ends after the opening mark, before and after the closing mark; zeros without them."""
    opening = _OPENING_MARK.match(text)
    closing = opening and _CLOSING_MARK.search(text, opening.end())
    return (opening.end(), closing.start(), closing.end()) if opening and closing else (0, 0, 0)
