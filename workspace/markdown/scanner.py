"""The scanner: a document's headings and front matter, found without reading its lines one by one.

What it finds is what the parser of `workspace.markdown` finds. Where that is not certain the answer is None,
and the parser reads the document. It stays for the rows "first list by type" and "full index" of `make bench`
(3.1 and 2.2 times as long without it, at 14,000 files).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workspace.markdown import Heading
from workspace.markdown.lines import BOM, LIST_MARKER_BYTES
from workspace.markdown.workspace_blocks import Unsure, find_headings

_OPENING_MARK = re.compile(rb"\n---[ \t]*(?=\n)")
_CLOSING_MARK = re.compile(rb"\n(?: {0,3}-{3,}|\.\.\.)[ \t]*(?=\n)")

_ITEM = re.compile(rb"^ {0,3}%b(?=[ \t\r\n])" % LIST_MARKER_BYTES, re.MULTILINE)


class Scanned(NamedTuple):
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


def scan(data: bytes) -> Scanned | None:
    """The headings of a document; None where only the parser can tell them."""
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
    except Unsure:
        return None
    return Scanned(
        front_matter=(first + opening + shift, first + closing + shift * (marks - 1)) if marks else (0, 0),
        front_matter_lines=marks,
        body=min(first + top + shift * marks, len(data)),
        lines=text.count(b"\n", 1, len(text) - 1) + (text[-2:-1] != b"\n"),
        headings=headings,
        spans=spans,
    )


def may_hold_list(data: bytes, start: int, end: int) -> bool:
    """Whether a list may begin on one of the lines between two places at the top level of a document."""
    return _ITEM.search(data, start, end) is not None


def _front_matter(text: bytes) -> tuple[int, int, int]:
    """The line ends behind the opening mark, before the closing one and behind it; zeros without them."""
    opening = _OPENING_MARK.match(text)
    closing = opening and _CLOSING_MARK.search(text, opening.end())
    return (opening.end(), closing.start(), closing.end()) if opening and closing else (0, 0, 0)
