"""Texts as they are compared and shown: LF line ends, no blank lines around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.document.document import Document, Section

Span = tuple[int, int]

BLANKS = " \t\r\n"
"""What a blank line is made of (CommonMark 0.31 §2.1); a no-break space, say, is text that somebody wrote."""

_BLANKS = re.compile(r"[ \t\r\n]+")


def spaced(text: str) -> str:
    """A text with one space for each run of blanks, and none around it."""
    return _BLANKS.sub(" ", text).strip(BLANKS)


def readable(data: bytes) -> str:
    """Bytes as text with LF line ends and one at the end, without blank lines around; "" if nothing is left.

    Bytes that are not UTF-8 become U+FFFD.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.rstrip(" \t\n").split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip(" \t")), len(lines))
    kept = "\n".join(lines[first:])
    return kept + "\n" if kept else ""


def source(document: Document, section: Section) -> str:
    """A section's own text with its heading."""
    return readable(document.source(section))


def raw_heading(document: Document, section: Section) -> bytes:
    """A section's heading with the anchors above it; a preamble's without the text above it."""
    start = section.heading_start if section.is_preamble else section.start
    return document.data[start : section.body]


def raw_text(document: Document, section: Section, holes: Iterable[Span] = ()) -> bytes:
    """A section's own bytes without its heading, some spans in order, and the blank lines around them.

    What stands above a document's title belongs to its preamble.
    """
    if not section.is_preamble:
        return _unpadded(without(document.data, section.body, section.end, holes))
    spans = sorted([*holes, (section.heading_start, section.body)])
    return _unpadded(without(document.data, section.start, section.end, spans))


def _unpadded(data: bytes) -> bytes:
    """Bytes without blank lines around; the first line keeps its indent, which can make it code."""
    lead = len(data) - len(data.lstrip(BLANK))
    first = max(data.rfind(b"\n", 0, lead), data.rfind(b"\r", 0, lead)) + 1
    return data[first:].rstrip(BLANK)


def without(data: bytes, start: int, end: int, holes: Iterable[Span]) -> bytes:
    """The bytes [start, end) without those of some spans, which are in order and do not overlap."""
    return b"".join(data[one:other] for one, other in _between(start, end, holes))


def _between(start: int, end: int, holes: Iterable[Span]) -> Iterator[Span]:
    for one, other in holes:
        yield start, max(start, one)
        start = max(start, other)
    yield start, max(start, end)
