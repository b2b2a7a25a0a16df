"""Where a document's parts lie: its front matter and its headings, in bytes and in lines.

The scanner finds them where it can, and the parser elsewhere; what they find is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.headings import anchored, anchors_above, read_headings, with_lists_below
from workspace.markdown.lines import Lines
from workspace.markdown.scanner import may_hold_list, scan

if TYPE_CHECKING:
    from workspace.document.headings import AnchoredHeading
    from workspace.markdown import Outline
    from workspace.markdown.scanner import Scanned

# Two line ends, and what people leave between them.
_BLANK_ABOVE = 8
_ENDS_NO_TAG = frozenset(range(ord("!"), ord("~") + 1)) - {ord(">")}


class Layout(NamedTuple):
    """`front_matter` is the span of bytes between its two marks, `front_matter_lines` counts its lines.

    `body` is the byte after the front matter, `lines` the number of lines of the whole document.
    """

    front_matter: tuple[int, int]
    front_matter_lines: int
    body: int
    lines: int
    headings: list[AnchoredHeading]


def scanned_layout(data: bytes) -> Layout | None:
    """The layout as the scanner sees it; None where only the parser can tell."""
    found = scan(data)
    headings = _headings(data, found) if found else None
    if found is None or headings is None:
        return None
    return Layout(found.front_matter, found.front_matter_lines, found.body, found.lines, headings)


def parsed_layout(lines: Lines, outline: Outline) -> Layout:
    """The layout as the parser sees it."""
    marks = outline.front_matter_lines
    return Layout(
        front_matter=(lines.offset(1), lines.offset(marks - 1)) if marks else (0, 0),
        front_matter_lines=marks,
        body=lines.offset(marks),
        lines=len(lines),
        headings=read_headings(lines, outline, marks),
    )


def _headings(data: bytes, scanned: Scanned) -> list[AnchoredHeading] | None:
    """The scanner's headings with their anchors; None where those above one may stand in a list."""
    found: list[AnchoredHeading] = []
    floor, behind = scanned.front_matter_lines, scanned.body
    lines: Lines | None = None
    has_tags = b"<a" in data or b"<A" in data
    for heading, span in zip(scanned.headings, scanned.spans, strict=True):
        start, first = span[0], heading.line
        above: tuple[str, ...] = ()
        if has_tags and _may_be_anchored_above(data, start):
            lines = lines or Lines(data)
            first, above = anchors_above(lines, heading.line, floor)
            start = lines.offset(first)
            if above and may_hold_list(data, behind, start):
                return None
        found.append(anchored(heading, above, first, start, span))
        floor, behind = heading.end, span[1]
    return with_lists_below(data, found)


def _may_be_anchored_above(data: bytes, start: int) -> bool:
    """Whether the line above a heading, or a blank one, may hold HTML: whether a letter or so ends it."""
    above = data[max(0, start - _BLANK_ABOVE) : start].rstrip()
    return not above or above[-1] not in _ENDS_NO_TAG
