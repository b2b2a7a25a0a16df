"""Links of a text whose blocks the parser finds: in inline Markdown, raw HTML and link definitions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.links.characters import meaning
from workspace.links.html import read_html
from workspace.links.inline import read_inline
from workspace.links.link import LinkKind
from workspace.links.links_destinations import read_definition
from workspace.links.spans import Name, Span, destination_of
from workspace.links.tables import regions
from workspace.markdown import Leaf, LeafKind, normalized_label, read_leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# GFM: a footnote may begin on any line of a paragraph.
_FOOTNOTE = re.compile(r"^[ \t]*\[\^([^\]\s]+)\]:", re.MULTILINE)
# What GitHub calls the place of a footnote: in the page, and in links to it.
_FOOTNOTE_NAMES = ("user-content-fn-{}", "fn-{}")


def read_leaf_links(text: str, shift: int, *, wiki: bool = False) -> list[tuple[Span | Name, str]]:
    """The links and names of a text that stands at `shift`, and what the destination of each says.

    A reference has the destination of its definition.
    """
    leaves = read_leaves(text)
    definitions: dict[str, tuple[Span, str]] = {}
    found: list[tuple[Span | Name, str]] = []
    for leaf in leaves:
        if leaf.kind is LeafKind.DEFINITION and (span := _definition(leaf.text)):
            label = span.label or ""
            # CommonMark §4.7: the first of several definitions counts.
            if label not in definitions:
                definitions[label] = span, destination_of(leaf.text, span)
                found.append((_moved(span, leaf, shift), definitions[label][1]))
    parts: Iterable[tuple[Span | Name, str]]
    for leaf in leaves:
        if leaf.kind is LeafKind.HTML:
            parts = ((part, destination_of(leaf.text, part)) for part in read_html(leaf.text))
        elif leaf.kind is LeafKind.INLINE:
            parts = _read_inline(leaf.text, definitions, wiki)
        else:
            continue
        found += [(_moved(part, leaf, shift), destination) for part, destination in parts]
    return found


def _definition(text: str) -> Span | None:
    found = read_definition(text)
    if found is None:
        return None
    label, (start, end, enclosure, _) = found
    whole = len(text.rstrip(" \t\n"))
    name = normalized_label(meaning(label))
    return Span(LinkKind.DEFINITION, False, 0, whole, start, end, enclosure, name)


def _read_inline(
    text: str, definitions: Mapping[str, tuple[Span, str]], wiki: bool
) -> Iterator[tuple[Span | Name, str]]:
    for footnote in _FOOTNOTE.finditer(text):
        for name in _FOOTNOTE_NAMES:
            yield Name(name.format(meaning(footnote[1])), footnote.start()), ""
    parts = regions(text)
    for start, end in parts:
        for part in read_inline(text, start, end, definitions, wiki=wiki):
            if isinstance(part, Span) and part.label is not None:
                yield part, definitions[part.label][1]
            else:
                yield part, destination_of(text, part, in_cell=len(parts) > 1)


def _moved(part: Span | Name, leaf: Leaf, shift: int) -> Span | Name:
    """A part of a leaf by its place in the document's text."""
    start = shift + leaf.place(part.start)
    if isinstance(part, Name):
        return part._replace(start=start)
    end = shift + leaf.place(part.end - 1) + 1
    if part.destination_start == part.destination_end:
        first = last = shift + leaf.place(part.destination_start - 1) + 1
    else:
        first = shift + leaf.place(part.destination_start)
        last = shift + leaf.place(part.destination_end - 1) + 1
    return part._replace(start=start, end=end, destination_start=first, destination_end=last)
