"""Links as values: where each stands in a document's bytes, and what it says.

What is found in a text before it is known where the text stands: places are positions in that text.

Bytes as text of one character a byte, so that a place in the one is the same place in the other.

What Markdown means by its ASCII marks and white space is told exactly on such a text, whatever the bytes are;
what its words say is told by decoding them.

The text below a document's front matter as links are read in it, and where its characters stand.

How messages and answers show a destination.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.inline import read_leaves, unescaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document
    from workspace.markdown.inline import Leaf


class LinkKind(StrEnum):
    """How a link is written. A `reference` is a use of a `definition`, which alone has one to rewrite."""

    INLINE = "inline"  # [text](destination "title"), ![alt](destination)
    REFERENCE = "reference"  # [text][label], [label][], [label], and images of these forms
    DEFINITION = "definition"  # [label]: destination "title"
    AUTOLINK = "autolink"  # <https://example.org>
    HTML = "html"  # href or src of an HTML tag
    WIKI = "wiki"  # [[Page#Heading|text]], where the workspace turns them on


class Enclosure(StrEnum):
    """What encloses a destination, and so which characters must be escaped in it."""

    BARE = "bare"  # CommonMark §6.3: no spaces, balanced parentheses
    ANGLE = "angle"  # <…>: no line breaks, no unescaped < or >
    DOUBLE = "double"  # an HTML attribute in double quotes
    SINGLE = "single"  # an HTML attribute in single quotes
    UNQUOTED = "unquoted"  # an HTML attribute without quotes
    WIKI = "wiki"  # up to | or ]]


class Link(NamedTuple):
    """A link. Offsets are bytes of the document.

    [start, end) is the whole construct, [destination_start, destination_end) the destination as it is
    written, without what encloses it; both are of no bytes in a `reference`, whose destination stands in its
    definition. `destination` is what that says (in a `reference`, what its definition says): backslashes and
    entities are resolved, percent escapes are not. `label` is the label of a reference or definition,
    normalized (CommonMark §4.7); `line` counts from 1, where the construct begins.
    """

    kind: LinkKind
    is_image: bool
    start: int
    end: int
    destination_start: int
    destination_end: int
    enclosure: Enclosure
    destination: str
    label: str | None
    line: int


class Anchor(NamedTuple):
    """A name that an HTML tag gives to a place (`id`, or `name` of an `a`), or that of a footnote."""

    name: str
    offset: int
    line: int


class Links(NamedTuple):
    """What a document holds of links and of names beside its headings, each in order of place."""

    links: tuple[Link, ...]
    anchors: tuple[Anchor, ...]


_REPLACEMENT = "\ufffd"


# Letters without case, none of which is white space.
_FIRST_LETTER = 0x3400


# CommonMark §2.3: a NUL is read as a replacement character.
_DECODED = _REPLACEMENT + "".join(chr(i if i < 0x80 else _FIRST_LETTER + i) for i in range(1, 0x100))


_ENCODED: dict[int, int | bytes] = {ord(character): byte for byte, character in enumerate(_DECODED)}


_ENCODED[ord(_REPLACEMENT)] = _REPLACEMENT.encode()


def as_text(data: bytes) -> str:
    """Return bytes as a text of as many characters."""
    if data.isascii() and b"\0" not in data:
        return data.decode("ascii")
    return codecs.charmap_decode(data, "strict", _DECODED)[0]


def meaning(text: str) -> str:
    """Return what such a text says: its bytes as UTF-8, with U+FFFD for what is none."""
    if text.isascii():
        return text
    return codecs.charmap_encode(text, "strict", _ENCODED)[0].decode("utf-8", "replace")


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
    """Return what a link's destination says; nothing for a name. In a table's cell `\\|` stands for `|`."""
    if isinstance(part, Name):
        return ""
    raw = text[part.destination_start : part.destination_end]
    destination = raw if raw.isascii() else meaning(raw)
    if part.kind is LinkKind.INLINE or part.kind is LinkKind.DEFINITION:
        return unescaped(destination)
    if in_cell:
        destination = destination.replace("\\|", "|")
    return attribute_value(destination) if part.kind is LinkKind.HTML else destination


def attribute_value(text: str) -> str:
    """Return what an HTML attribute says: its entities resolved, and no white space around it."""
    if "&" in text:
        from html import unescape

        text = unescape(text)
    return text.strip(" \t\n\f\r")


_LINE_ENDS = re.compile(r"\r\n?|\n")


class Body(NamedTuple):
    """One character for each byte, but for line ends, which are LF; `place` tells a character's byte."""

    text: str
    place: Callable[[int], int]


def body_of(document: Document) -> Body:
    """Return the text below a document's front matter."""
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
    """Return the leaves of a document; they are kept with it. Raises LimitExceeded for too many blocks."""
    return document.derive(_leaves)


def _leaves(document: Document) -> Leaves:
    text, place = body_of(document)
    return Leaves(read_leaves(text), place)


_SHOWN = 200


def shown(destination: str) -> str:
    """A destination as one line can show it: cut at 200 characters, what is not to be seen written out."""
    text = destination if len(destination) <= _SHOWN else destination[:_SHOWN] + "…"
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
