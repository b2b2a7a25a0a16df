"""Links as values: their positions in a document's bytes, and their destinations.

`LinkSpan` and `NameSpan` have positions in a text, such as a paragraph. `Link` has positions in the document.

Bytes are decoded to a text with one character for each byte, so that positions in both are equal. The ASCII
marks and white space of Markdown are exact in such a text. Words are decoded with `decode_utf8`.

`DocumentBody` is the text below a document's front matter, with a map from its characters to bytes.
`display_destination` formats a destination for messages and responses.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.inline import read_block_texts, unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document
    from workspace.markdown.inline import BlockText


class LinkKind(StrEnum):
    """The syntax of a link; the destination of a `reference` is in its `definition`."""

    INLINE = "inline"  # [text](destination "title"), ![alt](destination)
    REFERENCE = "reference"  # [text][label], [label][], [label], and images of these forms
    DEFINITION = "definition"  # [label]: destination "title"
    AUTOLINK = "autolink"  # <https://example.org>
    HTML = "html"  # href or src of an HTML tag
    WIKI = "wiki"  # [[Page#Heading|text]], if the workspace enables them


class Enclosure(StrEnum):
    """The marks around a destination, which determine the characters that must be escaped."""

    BARE = "bare"  # CommonMark §6.3: no spaces, balanced parentheses
    ANGLE = "angle"  # <…>: no line breaks, no unescaped < or >
    DOUBLE = "double"  # an HTML attribute in double quotes
    SINGLE = "single"  # an HTML attribute in single quotes
    UNQUOTED = "unquoted"  # an HTML attribute without quotes
    WIKI = "wiki"  # up to | or ]]


class Link(NamedTuple):
    """A link. Offsets are bytes of the document.

    [start, end) is the full construct. [destination_start, destination_end) is the destination as it is
    written, without its enclosing marks. The range is empty for a `reference`, whose destination is in its
    definition.

    `destination` is the decoded destination (of the definition, in a `reference`): backslashes and entities
    are resolved, percent escapes are not. `label` is the label of a reference or definition, normalized
    (CommonMark §4.7). `line` is the line of `start`, counted from 1.
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


class DefinedName(NamedTuple):
    """A name that an HTML tag (`id`, or `name` of an `a`) or a footnote defines, and its position."""

    name: str
    offset: int
    line: int


class LinksAndNames(NamedTuple):
    """The links of a document, and the names that its HTML and footnotes define, in document order."""

    links: tuple[Link, ...]
    names: tuple[DefinedName, ...]


_REPLACEMENT_CHARACTER = "\ufffd"

# The 256 code points from this one are letters without case, and none is white space.
_FIRST_LETTER = 0x3400

# CommonMark §2.3: a NUL is read as a replacement character.
_CHARACTERS = _REPLACEMENT_CHARACTER + "".join(
    chr(code if code < 0x80 else _FIRST_LETTER + code) for code in range(1, 0x100)
)
_BYTES_BY_CHARACTER: dict[int, int | bytes] = {
    ord(character): byte for byte, character in enumerate(_CHARACTERS)
}
_BYTES_BY_CHARACTER[ord(_REPLACEMENT_CHARACTER)] = _REPLACEMENT_CHARACTER.encode()


def decode_bytes(data: bytes) -> str:
    """Return bytes as a text with one character for each byte."""
    if data.isascii() and b"\0" not in data:
        return data.decode("ascii")
    return codecs.charmap_decode(data, "strict", _CHARACTERS)[0]


def decode_utf8(text: str) -> str:
    """Return the UTF-8 text of a result of `decode_bytes`, with U+FFFD for invalid bytes."""
    if text.isascii():
        return text
    return codecs.charmap_encode(text, "strict", _BYTES_BY_CHARACTER)[0].decode("utf-8", "replace")


class LinkSpan(NamedTuple):
    """The position of a link [start, end), and of its destination as it is written.

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
    """A name that an HTML tag or a footnote defines, and the position of that tag or footnote."""

    name: str
    start: int


def decode_destination(text: str, span: LinkSpan | NameSpan, *, in_cell: bool = False) -> str:
    r"""Return the decoded destination of a link; "" for a name.

    In a cell of a table, `\|` is decoded to `|`.
    """
    if isinstance(span, NameSpan):
        return ""
    source = text[span.destination_start : span.destination_end]
    destination = source if source.isascii() else decode_utf8(source)
    if span.kind is LinkKind.INLINE or span.kind is LinkKind.DEFINITION:
        return unescape(destination)
    if in_cell:
        destination = destination.replace("\\|", "|")
    return decode_attribute(destination) if span.kind is LinkKind.HTML else destination


def decode_attribute(text: str) -> str:
    """Return the value of an HTML attribute: entities resolved, surrounding white space removed."""
    if "&" in text:
        from html import unescape

        text = unescape(text)
    return text.strip(" \t\n\f\r")


_LINE_ENDS = re.compile(r"\r\n?|\n")


class DocumentBody(NamedTuple):
    """A text with one character for each byte, except that line ends are LF, and its map to bytes.

    `to_byte_offset` maps the position of a character in `text` to its byte offset in the document.
    """

    text: str
    to_byte_offset: Callable[[int], int]


def read_body(document: Document) -> DocumentBody:
    """Return the text below a document's front matter."""
    body_start = document.front_matter_end
    source = decode_bytes(document.data[body_start:])
    text = _LINE_ENDS.sub("\n", source)
    if len(text) == len(source):
        return DocumentBody(text, lambda position: position + body_start)
    first_line, lines = document.front_matter_lines, document.lines
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def to_byte_offset(position: int) -> int:
        line = bisect_right(line_starts, position) - 1
        return lines.offset(first_line + line) + position - line_starts[line]

    return DocumentBody(text, to_byte_offset)


class BodyTexts(NamedTuple):
    """The texts of the blocks of a document's body, in order; `to_byte_offset` is as in `DocumentBody`."""

    texts: Sequence[BlockText]
    to_byte_offset: Callable[[int], int]


def read_body_texts(document: Document) -> BodyTexts:
    """Return the texts of the blocks of a document, cached with it.

    Raises LimitExceeded if the document has too many blocks.
    """
    return document.derive(_read_uncached_texts)


def _read_uncached_texts(document: Document) -> BodyTexts:
    text, to_byte_offset = read_body(document)
    return BodyTexts(read_block_texts(text), to_byte_offset)


_MAX_DISPLAYED_LENGTH = 200


def display_destination(destination: str) -> str:
    """Return a destination for a message: one line, cut after 200 characters, invisible ones escaped."""
    text = (
        destination
        if len(destination) <= _MAX_DISPLAYED_LENGTH
        else destination[:_MAX_DISPLAYED_LENGTH] + "…"
    )
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
