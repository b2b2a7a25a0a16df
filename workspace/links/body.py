"""The text below a document's front matter as links are read in it, and where its characters stand."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.links.characters import as_text
from workspace.markdown import read_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document
    from workspace.markdown import Leaf

_LINE_ENDS = re.compile(r"\r\n?|\n")


class Body(NamedTuple):
    """One character for each byte, but for line ends, which are LF; `place` tells a character's byte."""

    text: str
    place: Callable[[int], int]


def body_of(document: Document) -> Body:
    """The text below a document's front matter."""
    begin = document.front_matter_end
    source = as_text(document.data[begin:])
    text = _LINE_ENDS.sub("\n", source)
    if len(text) == len(source):
        return Body(text, lambda position: position + begin)
    first, lines = document.front_matter_lines, document.lines
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(position: int) -> int:
        line = bisect_right(starts, position) - 1
        return lines.offset(first + line) + position - starts[line]

    return Body(text, place)


class Leaves(NamedTuple):
    """The leaves of a document's body, in order; `place` tells the byte of a character of the body."""

    leaves: Sequence[Leaf]
    place: Callable[[int], int]


def leaves_of(document: Document) -> Leaves:
    """The leaves of a document; they are kept with it. Raises LimitExceeded for too many blocks."""
    return document.derive(_leaves)


def _leaves(document: Document) -> Leaves:
    text, place = body_of(document)
    return Leaves(read_leaves(text), place)
