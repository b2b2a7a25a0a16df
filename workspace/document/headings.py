"""Headings with their anchors, and the layout of a document.

An anchor can be in the heading, in HTML on the lines above it, or in a kramdown attribute list (`{: #id}`)
right below it. The layout is the spans of the front matter and the headings, in bytes and in
lines. The scanner reads the layout if it can, else the parser does; their results are equal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm, read_attribute_line
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import BLANK, Lines
from workspace.markdown.outline import read_outline
from workspace.markdown.scanner import may_contain_list, scan_headings
from workspace.markdown.slugs import PREAMBLE, make_heading_slug

if TYPE_CHECKING:
    from workspace.markdown.anchors import HeadingText
    from workspace.markdown.lines import Lines
    from workspace.markdown.outline import BlockOutline, Heading
    from workspace.markdown.scanner import ScannedHeadings

# The maximum number of attribute lists that are read below one heading.
_MAX_LISTS_BELOW = 4
_LIST_BELOW = re.compile(rb" {0,3}(\{:[^\r\n]{0,4000})(?:\r\n|\n|\r|\Z)")
_ATX_MARK = re.compile(rb" {0,3}#{1,6}(?:[ \t]+|$)")


class AnchoredHeading(NamedTuple):
    """A heading with its text and anchors, its title as plain text, and the slug of the title.

    `first_line`, counted from 0, is the first line with its anchors. Offsets are bytes: `start` is the start
    of that line, and `heading_start` the start of the heading's own line. `below_start` is the end
    of the heading's own lines. `body_start` is the end of the attribute lists below them, whose ids are
    `names_below`.
    """

    block: Heading
    text: HeadingText
    names_above: tuple[str, ...]
    first_line: int
    title: str
    slug: str
    start: int
    heading_start: int
    body_start: int
    names_below: tuple[str, ...] = ()
    below_start: int = 0

    @property
    def anchor(self) -> str | None:
        """The anchor in the heading, else the nearest anchor. `_preamble` is reserved and ignored."""
        nearby_names = () if self.text.name else self.names_below or self.names_above
        name = self.text.name or (nearby_names[-1] if nearby_names else None)
        return None if name == PREAMBLE else name

    @property
    def anchor_form(self) -> AnchorForm | None:
        """The form of the anchor."""
        if self.text.anchor_form or not (self.names_above or self.names_below):
            return self.text.anchor_form
        # The list `{: #id}` below a heading corresponds to `{#id}` in the heading.
        return AnchorForm.BRACES if self.names_below else AnchorForm.HTML

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other anchors of the heading."""
        own_names = (self.text.name,) if self.text.name else ()
        names = dict.fromkeys((*self.text.aliases, *self.names_above, *self.names_below, *own_names))
        return tuple(name for name in names if name not in (self.anchor, PREAMBLE))


def read_headings(lines: Lines, outline: BlockOutline, first_line: int = 0) -> list[AnchoredHeading]:
    """Return the headings of a text with their anchors.

    Anchor lines in list items and above `first_line` do not belong to a heading.
    """
    headings: list[AnchoredHeading] = []
    floor = first_line
    items = iter(outline.items)
    item = next(items, None)
    for heading in outline.headings:
        while item and item.line < heading.line:
            floor = max(floor, item.end)
            item = next(items, None)
        anchor_line, names_above = find_anchors_above(lines, heading.line, floor)
        floor = heading.end
        span = lines.offset(heading.line), lines.offset(heading.end)
        start = lines.offset(anchor_line)
        headings.append(parse_anchored_heading(heading, names_above, anchor_line, start, span))
    return add_lists_below(lines.data, headings)


def parse_anchored_heading(
    heading: Heading, names_above: tuple[str, ...], first_line: int, start: int, span: tuple[int, int]
) -> AnchoredHeading:
    """Return a heading with the anchors above it, which begin on `first_line` at offset `start`.

    `span` is the start and the end of the heading's own lines.
    """
    text = anchors.read_heading(heading.source)
    title = to_plain_text(text.title)
    slug = make_heading_slug(title)
    return AnchoredHeading(heading, text, names_above, first_line, title, slug, start, *span, (), span[1])


def add_lists_below(data: bytes, headings: list[AnchoredHeading]) -> list[AnchoredHeading]:
    """Return headings with the attribute lists on the lines between each heading and the next heading."""
    if not headings or b"{:" not in data:
        return headings
    ends = [*(heading.start for heading in headings[1:]), len(data)]
    return [_add_lists_below(data, heading, end) for heading, end in zip(headings, ends, strict=True)]


def _add_lists_below(data: bytes, heading: AnchoredHeading, end: int) -> AnchoredHeading:
    names: list[str] = []
    position = heading.body_start
    for _ in range(_MAX_LISTS_BELOW):
        line = _LIST_BELOW.match(data, position, end)
        attributes = read_attribute_line(line[1].decode("utf-8", "replace")) if line else None
        if line is None or attributes is None:
            break
        names += (name.name for name in attributes.names)
        position = line.end()
    if position == heading.body_start:
        return heading
    return heading._replace(names_below=tuple(names), body_start=position)


def find_anchors_above(lines: Lines, heading_line: int, floor: int) -> tuple[int, tuple[str, ...]]:
    """Return the first line of the HTML anchors above a heading, and their names from top to bottom.

    Without such anchors, the line is `heading_line`. Lines above `floor` are not read. One blank line may
    separate the anchors from the heading.
    """
    line = heading_line - 1
    if line >= floor and not lines.line_bytes(line).strip(BLANK):
        line -= 1
    line_names: list[tuple[str, ...]] = []
    first_line = heading_line
    while line >= floor and b"<" in (line_bytes := lines.line_bytes(line)):
        text = line_bytes.decode("utf-8", "replace")
        if not anchors.is_anchor_line(text):
            break
        line_names.append(anchors.find_html_names(text))
        first_line, line = line, line - 1
    return first_line, tuple(name for names in reversed(line_names) for name in names)


def find_inline_span(lines: Lines, heading: Heading) -> tuple[int, int]:
    """Return the bytes [start, end) of a heading's inline Markdown, without #s and underline."""
    start, last_line = lines.offset(heading.line), heading.end - (2 if heading.is_setext else 1)
    if heading.is_setext:
        text = lines.data[start : lines.offset(last_line)] + lines.line_bytes(last_line)
        return start + len(text) - len(text.lstrip(b" \t")), start + len(text.rstrip(b" \t"))
    text = lines.line_bytes(heading.line)
    mark = _ATX_MARK.match(text)
    text_start = mark.end() if mark else 0
    inline = text[text_start:].rstrip(b" \t")
    text_without_marks = inline.rstrip(b"#")
    # CommonMark §4.2: closing #s follow a space, or are the full text.
    if not text_without_marks or text_without_marks.endswith((b" ", b"\t")):
        inline = text_without_marks.rstrip(b" \t")
    return start + text_start, start + text_start + len(inline)


def plan_inline_replacement(lines: Lines, heading: Heading, inline: str) -> tuple[int, int, bytes]:
    """Return the bytes [start, end) to replace if a heading gets other inline Markdown, and the replacement.

    Usually these are the bytes of the old inline Markdown. The full heading is rewritten with #s if it is
    empty, or if the new text would not be a heading above an underline (`- a list`, `> a quote`).
    """
    start, end = find_inline_span(lines, heading)
    if start < end and (not heading.is_setext or _can_be_setext(inline)):
        return start, end, inline.encode()
    heading_start, last_line = lines.offset(heading.line), heading.end - 1
    heading_end = lines.offset(last_line) + len(lines.line_bytes(last_line))
    return heading_start, heading_end, f"{'#' * heading.level} {inline}".encode()


def _can_be_setext(inline: str) -> bool:
    headings = read_outline(f"{inline}\n===").headings
    return len(headings) == 1 and headings[0].is_setext and headings[0].source == inline


# The number of bytes to read before a heading: two line endings, and some white space between them.
_BYTES_READ_ABOVE = 8
_BYTES_NEVER_LAST_IN_TAG = frozenset(range(ord("!"), ord("~") + 1)) - {ord(">")}


class DocumentLayout(NamedTuple):
    """The spans of a document's front matter and headings.

    `front_matter` is the span of bytes between the two marks. `front_matter_lines` counts the lines with the
    marks. `body_start` is the byte after the front matter. `line_count` counts the lines of the document.
    """

    front_matter: tuple[int, int]
    front_matter_lines: int
    body_start: int
    line_count: int
    headings: list[AnchoredHeading]


def scan_layout(data: bytes) -> DocumentLayout | None:
    """Return the layout as the scanner reads it, or None if the document needs a full parse."""
    scan_result = scan_headings(data)
    headings = _add_anchors(data, scan_result) if scan_result else None
    if scan_result is None or headings is None:
        return None
    return DocumentLayout(
        scan_result.front_matter,
        scan_result.front_matter_lines,
        scan_result.body_start,
        scan_result.line_count,
        headings,
    )


def parse_layout(lines: Lines, outline: BlockOutline) -> DocumentLayout:
    """Return the layout as the parser reads it."""
    front_matter_lines = outline.front_matter_lines
    return DocumentLayout(
        front_matter=(lines.offset(1), lines.offset(front_matter_lines - 1))
        if front_matter_lines
        else (0, 0),
        front_matter_lines=front_matter_lines,
        body_start=lines.offset(front_matter_lines),
        line_count=len(lines),
        headings=read_headings(lines, outline, front_matter_lines),
    )


def _add_anchors(data: bytes, scan_result: ScannedHeadings) -> list[AnchoredHeading] | None:
    """Return the scanner's headings with their anchors, or None if an anchor line may be in a list."""
    headings: list[AnchoredHeading] = []
    floor, position = scan_result.front_matter_lines, scan_result.body_start
    lines: Lines | None = None
    has_tags = b"<a" in data or b"<A" in data
    for heading, span in zip(scan_result.headings, scan_result.spans, strict=True):
        start, first_line = span[0], heading.line
        names_above: tuple[str, ...] = ()
        if has_tags and _may_have_anchor_above(data, start):
            lines = lines or Lines(data)
            first_line, names_above = find_anchors_above(lines, heading.line, floor)
            start = lines.offset(first_line)
            if names_above and may_contain_list(data, position, start):
                return None
        headings.append(parse_anchored_heading(heading, names_above, first_line, start, span))
        floor, position = heading.end, span[1]
    return add_lists_below(data, headings)


def _may_have_anchor_above(data: bytes, start: int) -> bool:
    """Return True if the line above a heading is blank or may end with HTML."""
    bytes_above = data[max(0, start - _BYTES_READ_ABOVE) : start].rstrip()
    return not bytes_above or bytes_above[-1] not in _BYTES_NEVER_LAST_IN_TAG
