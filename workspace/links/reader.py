"""The links of a document, and the names in it that links may use beside those of its headings.

Exact by CommonMark 0.31, and by GFM for tables' cells and footnotes. What can be read line by line is; the
parser finds the blocks of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.links.body import body_of
from workspace.links.characters import as_text
from workspace.links.leaves import read_leaf_links
from workspace.links.linewise import ABOVE, may_have_definitions, read_linewise
from workspace.links.link import Anchor, Link, Links
from workspace.links.spans import Name, destination_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspace.document.document import Document
    from workspace.links.spans import Span


def links_of(document: Document, wiki: bool = False) -> Links:
    """The links and names of a document as `read_links` finds them; they are kept with it."""
    return document.derive(read_links, wiki=wiki)


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
    first_line = document.front_matter_lines + 1 - ABOVE.count("\n")
    return _links(text, found, lambda place: place + shift, first_line)


def read_by_parser(document: Document, *, wiki: bool = False) -> Links:
    """The links and names of a document as `read_links` finds them, by the parser alone."""
    text, place = body_of(document)
    found = read_leaf_links(text, 0, wiki=wiki)
    return _links(text, found, place, document.front_matter_lines + 1)


def _links(
    text: str, parts: list[tuple[Span | Name, str]], place: Callable[[int], int], first_line: int
) -> Links:
    """The links and names in order; `place` tells the byte of a character, `first_line` counts from 1."""
    links: list[Link] = []
    anchors: list[Anchor] = []
    line, counted = first_line, 0
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
