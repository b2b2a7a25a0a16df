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

from workspace.markdown.inline import read_inline_sources, unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document
    from workspace.markdown.inline import InlineSource


class LinkKind(StrEnum):
    """The syntax of a link. A `reference` uses a `definition`, which alone has a destination to rewrite."""

    INLINE = "inline"  # [text](destination "title"), ![alt](destination)
    REFERENCE = "reference"  # [text][label], [label][], [label], and images of these forms
    DEFINITION = "definition"  # [label]: destination "title"
    AUTOLINK = "autolink"  # <https://example.org>
    HTML = "html"  # href or src of an HTML tag
    WIKI = "wiki"  # [[Page#Heading|text]], where the workspace turns them on


class Enclosure(StrEnum):
    """The marks around a destination, which decide the characters that must be escaped."""

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
    """The links of a document, and the names beside its headings, each in order of place."""

    links: tuple[Link, ...]
    anchors: tuple[Anchor, ...]


_REPLACEMENT = "\ufffd"

# Letters without case, none of which is white space.
_FIRST_LETTER = 0x3400

# CommonMark §2.3: a NUL is read as a replacement character.
_DECODED = _REPLACEMENT + "".join(chr(i if i < 0x80 else _FIRST_LETTER + i) for i in range(1, 0x100))
_ENCODED: dict[int, int | bytes] = {ord(character): byte for byte, character in enumerate(_DECODED)}
_ENCODED[ord(_REPLACEMENT)] = _REPLACEMENT.encode()


def decode_bytes(data: bytes) -> str:
    """Return bytes as a text of as many characters."""
    if data.isascii() and b"\0" not in data:
        return data.decode("ascii")
    return codecs.charmap_decode(data, "strict", _DECODED)[0]


def decode_utf8(text: str) -> str:
    """Return what such a text says: its bytes as UTF-8, with U+FFFD for what is none."""
    if text.isascii():
        return text
    return codecs.charmap_encode(text, "strict", _ENCODED)[0].decode("utf-8", "replace")


class LinkSpan(NamedTuple):
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


class NameSpan(NamedTuple):
    """A name that the HTML tag or footnote at `start` gives to its place."""

    name: str
    start: int


def decode_destination(text: str, part: LinkSpan | NameSpan, *, in_cell: bool = False) -> str:
    r"""Return what a link's destination says; nothing for a name. In a table's cell `\|` stands for `|`."""
    if isinstance(part, NameSpan):
        return ""
    raw = text[part.destination_start : part.destination_end]
    destination = raw if raw.isascii() else decode_utf8(raw)
    if part.kind is LinkKind.INLINE or part.kind is LinkKind.DEFINITION:
        return unescape(destination)
    if in_cell:
        destination = destination.replace("\\|", "|")
    return decode_attribute(destination) if part.kind is LinkKind.HTML else destination


def decode_attribute(text: str) -> str:
    """Return what an HTML attribute says: its entities resolved, and no white space around it."""
    if "&" in text:
        from html import unescape

        text = unescape(text)
    return text.strip(" \t\n\f\r")


_LINE_ENDS = re.compile(r"\r\n?|\n")


class DocumentBody(NamedTuple):
    """One character for each byte, but for line ends, which are LF; `place` tells a character's byte."""

    text: str
    place: Callable[[int], int]


def read_body(document: Document) -> DocumentBody:
    """Return the text below a document's front matter."""
    begin = document.front_matter_end
    source = decode_bytes(document.data[begin:])
    text = _LINE_ENDS.sub("\n", source)
    if len(text) == len(source):
        return DocumentBody(text, lambda position: position + begin)
    first, lines = document.front_matter_lines, document.lines
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(position: int) -> int:
        line = bisect_right(starts, position) - 1
        return lines.offset(first + line) + position - starts[line]

    return DocumentBody(text, place)


class BodySources(NamedTuple):
    """The leaves of a document's body, in order; `place` tells the byte of a character of the body."""

    leaves: Sequence[InlineSource]
    place: Callable[[int], int]


def read_body_sources(document: Document) -> BodySources:
    """Return the leaves of a document; they are kept with it. Raises LimitExceeded for too many blocks."""
    return document.derive(_leaves)


def _leaves(document: Document) -> BodySources:
    text, place = read_body(document)
    return BodySources(read_inline_sources(text), place)


_MAX_DISPLAYED = 200


def display_destination(destination: str) -> str:
    """Return a destination for a message: on one line, at most 200 characters, invisible ones escaped."""
    text = destination if len(destination) <= _MAX_DISPLAYED else destination[:_MAX_DISPLAYED] + "…"
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
