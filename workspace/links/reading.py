"""The links of a document, and the names in it that links may use beside those of its headings.

Exact by CommonMark 0.31, and by GFM for tables' cells and footnotes. What can be read line by line is; the
parser finds the blocks of the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from workspace.links.characters import as_text
from workspace.links.leaves import read_leaf_links
from workspace.links.linewise import ABOVE, may_have_definitions, read_linewise
from workspace.links.link import Anchor, Link, Links
from workspace.links.spans import Name, destination_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.document import Document
    from workspace.links.spans import Span

_LINE_ENDS = re.compile(r"\r\n?|\n")


def links_of(document: Document, wiki: bool = False) -> Links:
    """The links and names of a document as `read_links` finds them; they are kept with it."""
    key = "_wiki_links" if wiki else "_links"
    found: Links | None = document.__dict__.get(key)
    if found is None:
        found = document.__dict__[key] = read_links(document, wiki=wiki)
    return found


def read_links(document: Document, *, wiki: bool = False) -> Links:
    """The links and names of a document; `wiki` turns on `[[links]]`."""
    begin = document.front_matter_end
    body = document.data[begin:]
    if b"[" not in body and b"<" not in body:
        return Links((), ())
    text = f"{ABOVE}{as_text(body)}"
    if "\r" in text or may_have_definitions(text):
        return read_by_parser(document, wiki=wiki)
    shift = begin - len(ABOVE)
    starts = {begin, *(section.heading_start for section in document.sections)}
    sure, unsure = read_linewise(text, sorted(start - shift for start in starts))
    found = [(part, destination_of(text, part)) for part in sure]
    for start, end in unsure:
        found += read_leaf_links(text[start:end], start, wiki=wiki)
    return _links(document, text, found, lambda place: place + shift)


def read_by_parser(document: Document, *, wiki: bool = False) -> Links:
    """The links and names of a document as `read_links` finds them, by the parser alone."""
    begin = document.front_matter_end
    source = as_text(document.data[begin:])
    text = ABOVE + _LINE_ENDS.sub("\n", source)
    found = read_leaf_links(text[len(ABOVE) :], len(ABOVE), wiki=wiki)
    if len(text) == len(source) + len(ABOVE):
        return _links(document, text, found, lambda place: place + begin - len(ABOVE))
    return _links(document, text, found, _places(document, text))


def _places(document: Document, text: str) -> Callable[[int], int]:
    """Where each character of the text stands, in which lines end in one character each, in the document."""
    first, lines = document.front_matter_lines - len(ABOVE), document.lines
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(position: int) -> int:
        line = bisect_right(starts, position) - 1
        return lines.offset(first + line) + position - starts[line]

    return place


def _links(
    document: Document, text: str, parts: list[tuple[Span | Name, str]], place: Callable[[int], int]
) -> Links:
    """The links and names in order, by their places in a document's bytes; `place` tells those of a text."""
    links: list[Link] = []
    anchors: list[Anchor] = []
    line, counted = document.front_matter_lines + 1 - len(ABOVE), 0
    for part, destination in sorted(parts, key=lambda part: part[0].start):
        start = part.start
        line += text.count("\n", counted, start)
        counted = start
        if isinstance(part, Name):
            anchors.append(Anchor(part.name, place(start), line))
            continue
        kind, is_image, _, end, first, last, enclosure, label = part
        at = place(first) if first < last else place(first - 1) + 1
        links.append(
            Link(
                kind,
                is_image,
                place(start),
                place(end - 1) + 1,
                at,
                place(last - 1) + 1 if first < last else at,
                enclosure,
                destination,
                label,
                line,
            )
        )
    return Links(tuple(links), tuple(anchors))
