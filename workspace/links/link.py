"""Links as values: where each stands in a document's bytes, and what it says."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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
