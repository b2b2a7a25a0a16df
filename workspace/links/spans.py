"""What is found in a text before it is known where the text stands: places are positions in that text."""

from __future__ import annotations

from typing import NamedTuple

from workspace import markdown
from workspace.links.characters import meaning
from workspace.links.link import Enclosure, LinkKind


class Span(NamedTuple):
    """A link: [start, end), and its destination [destination_start, destination_end) as it is written.

    `label` is the label of a reference or definition, normalized.
    """

    kind: LinkKind
    is_image: bool
    start: int
    end: int
    destination_start: int
    destination_end: int
    enclosure: Enclosure
    label: str | None = None


class Name(NamedTuple):
    """A name that the HTML tag or footnote at `start` gives to its place."""

    name: str
    start: int


def destination_of(text: str, part: Span | Name, *, in_cell: bool = False) -> str:
    """What a link's destination says; nothing for a name. In a table's cell `\\|` stands for `|`."""
    if isinstance(part, Name):
        return ""
    raw = text[part.destination_start : part.destination_end]
    destination = raw if raw.isascii() else meaning(raw)
    if part.kind is LinkKind.INLINE or part.kind is LinkKind.DEFINITION:
        return markdown.unescaped(destination)
    if in_cell:
        destination = destination.replace("\\|", "|")
    return attribute_value(destination) if part.kind is LinkKind.HTML else destination


def attribute_value(text: str) -> str:
    """What an HTML attribute says: its entities resolved, and no white space around it."""
    if "&" in text:
        from html import unescape

        text = unescape(text)
    return text.strip(" \t\n\f\r")
