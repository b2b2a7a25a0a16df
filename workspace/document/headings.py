"""Headings as sections begin with them: their words, and the anchors in them or on the lines next to them.

HTML anchors stand on the lines just above a heading, attribute lists of kramdown (`{: #id}`) just below it.

Where a document's parts lie: its front matter and its headings, in bytes and in lines.

The scanner finds them where it can, and the parser elsewhere; what they find is the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm, read_attribute_line
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import BLANK, Lines
from workspace.markdown.outline import read_outline
from workspace.markdown.scanner import may_hold_list, scan
from workspace.markdown.slugs import PREAMBLE, make_heading_slug

if TYPE_CHECKING:
    from workspace.markdown.anchors import HeadingText
    from workspace.markdown.lines import Lines
    from workspace.markdown.outline import BlockOutline, Heading
    from workspace.markdown.scanner import ScannedHeadings

# More lines of attributes below one heading are nobody's.
_MAX_BELOW = 4
_BELOW = re.compile(rb" {0,3}(\{:[^\r\n]{0,4000})(?:\r\n|\n|\r|\Z)")
_ATX_MARK = re.compile(rb" {0,3}#{1,6}(?:[ \t]+|$)")


class AnchoredHeading(NamedTuple):
    """A heading, its words and anchors, its title as a reader sees it, and the slug of that.

    `first_line`, counted from 0, is the first that holds its anchors. Offsets are bytes: `start` is where
    that line begins, `heading_start` where its own does, `below_start` is behind its own lines, and `body`
    behind the attribute lists below them, whose ids are `below`.
    """

    block: Heading
    text: HeadingText
    above: tuple[str, ...]
    first_line: int
    title: str
    slug: str
    start: int
    heading_start: int
    body: int
    below: tuple[str, ...] = ()
    below_start: int = 0

    @property
    def anchor(self) -> str | None:
        """The explicit anchor: in the heading, else the nearest to it. `_preamble` is not to be taken."""
        near = () if self.text.name else self.below or self.above
        name = self.text.name or (near[-1] if near else None)
        return None if name == PREAMBLE else name

    @property
    def form(self) -> AnchorForm | None:
        """The form of the anchor."""
        if self.text.form or not (self.above or self.below):
            return self.text.form
        # What kramdown reads in a heading itself is `{#id}`.
        return AnchorForm.BRACES if self.below else AnchorForm.HTML

    @property
    def aliases(self) -> tuple[str, ...]:
        """The further names that it answers to."""
        own = (self.text.name,) if self.text.name else ()
        names = dict.fromkeys((*self.text.aliases, *self.above, *self.below, *own))
        return tuple(name for name in names if name not in (self.anchor, PREAMBLE))


def read_headings(lines: Lines, outline: BlockOutline, first_line: int = 0) -> list[AnchoredHeading]:
    """Return the headings of a text with their anchors, except those in lists and above `first_line`."""
    found: list[AnchoredHeading] = []
    floor = first_line
    items = iter(outline.items)
    item = next(items, None)
    for heading in outline.headings:
        while item and item.line < heading.line:
            floor = max(floor, item.end)
            item = next(items, None)
        first, above = find_anchors_above(lines, heading.line, floor)
        floor = heading.end
        span = lines.offset(heading.line), lines.offset(heading.end)
        found.append(parse_anchored_heading(heading, above, first, lines.offset(first), span))
    return add_lists_below(lines.data, found)


def parse_anchored_heading(
    heading: Heading, above: tuple[str, ...], first: int, start: int, span: tuple[int, int]
) -> AnchoredHeading:
    """Return a heading with the anchors above it, which begin on the line `first` at `start`."""
    text = anchors.read_heading(heading.source)
    title = to_plain_text(text.words)
    slug = make_heading_slug(title)
    return AnchoredHeading(heading, text, above, first, title, slug, start, *span, (), span[1])


def add_lists_below(data: bytes, headings: list[AnchoredHeading]) -> list[AnchoredHeading]:
    """Return headings with the attribute lists on the lines below them, each at most as far as the next."""
    if not headings or b"{:" not in data:
        return headings
    ends = [*(heading.start for heading in headings[1:]), len(data)]
    return [_with_lists_below(data, heading, end) for heading, end in zip(headings, ends, strict=True)]


def _with_lists_below(data: bytes, heading: AnchoredHeading, end: int) -> AnchoredHeading:
    names: list[str] = []
    place = heading.body
    for _ in range(_MAX_BELOW):
        line = _BELOW.match(data, place, end)
        found = read_attribute_line(line[1].decode("utf-8", "replace")) if line else None
        if line is None or found is None:
            break
        names += (name.name for name in found.names)
        place = line.end()
    return heading if place == heading.body else heading._replace(below=tuple(names), body=place)


def find_anchors_above(lines: Lines, heading: int, floor: int) -> tuple[int, tuple[str, ...]]:
    """Return the first line of the HTML anchors above a heading, and their names from the top down.

    One blank line may stand between them and the heading.
    """
    line = heading - 1
    if line >= floor and not lines.raw(line).strip(BLANK):
        line -= 1
    found: list[tuple[str, ...]] = []
    first = heading
    while line >= floor and b"<" in (raw := lines.raw(line)):
        text = raw.decode("utf-8", "replace")
        if not anchors.is_anchor_line(text):
            break
        found.append(anchors.find_html_names(text))
        first, line = line, line - 1
    return first, tuple(name for names in reversed(found) for name in names)


def find_inline_span(lines: Lines, heading: Heading) -> tuple[int, int]:
    """Return the bytes [start, end) of a heading's inline Markdown: no marks, no closing #s, no underline."""
    start, last = lines.offset(heading.line), heading.end - (2 if heading.is_setext else 1)
    if heading.is_setext:
        text = lines.data[start : lines.offset(last)] + lines.raw(last)
        return start + len(text) - len(text.lstrip(b" \t")), start + len(text.rstrip(b" \t"))
    text = lines.raw(heading.line)
    mark = _ATX_MARK.match(text)
    begin = mark.end() if mark else 0
    words = text[begin:].rstrip(b" \t")
    kept = words.rstrip(b"#")
    # CommonMark §4.2: closing #s stand behind a space, or alone.
    if not kept or kept.endswith((b" ", b"\t")):
        words = kept.rstrip(b" \t")
    return start + begin, start + begin + len(words)


def replace_words(lines: Lines, heading: Heading, inline: str) -> tuple[int, int, bytes]:
    """Return the bytes [start, end) that say a heading's words, and what says others.

    Where an underline would not make a heading of the words (`- a list`, `> a quote`), or where none stand
    yet, the whole heading is written anew with #s.
    """
    start, end = find_inline_span(lines, heading)
    if start < end and (not heading.is_setext or _underlines(inline)):
        return start, end, inline.encode()
    first = lines.offset(heading.line)
    last = heading.end - 1
    end = lines.offset(last) + len(lines.raw(last))
    return first, end, f"{'#' * heading.level} {inline}".encode()


def _underlines(inline: str) -> bool:
    found = read_outline(f"{inline}\n===").headings
    return len(found) == 1 and found[0].is_setext and found[0].source == inline


# Two line ends, and what people leave between them.
_BLANK_ABOVE = 8
_ENDS_NO_TAG = frozenset(range(ord("!"), ord("~") + 1)) - {ord(">")}


class DocumentLayout(NamedTuple):
    """`front_matter` is the span of bytes between its two marks, `front_matter_lines` counts its lines.

    `body` is the byte after the front matter, `lines` the number of lines of the whole document.
    """

    front_matter: tuple[int, int]
    front_matter_lines: int
    body: int
    lines: int
    headings: list[AnchoredHeading]


def scan_layout(data: bytes) -> DocumentLayout | None:
    """Return the layout as the scanner sees it; None where only the parser can tell."""
    found = scan(data)
    headings = _headings(data, found) if found else None
    if found is None or headings is None:
        return None
    return DocumentLayout(found.front_matter, found.front_matter_lines, found.body, found.lines, headings)


def parse_layout(lines: Lines, outline: BlockOutline) -> DocumentLayout:
    """Return the layout as the parser sees it."""
    marks = outline.front_matter_lines
    return DocumentLayout(
        front_matter=(lines.offset(1), lines.offset(marks - 1)) if marks else (0, 0),
        front_matter_lines=marks,
        body=lines.offset(marks),
        lines=len(lines),
        headings=read_headings(lines, outline, marks),
    )


def _headings(data: bytes, scanned: ScannedHeadings) -> list[AnchoredHeading] | None:
    """Return the scanner's headings with their anchors; None where those above one may stand in a list."""
    found: list[AnchoredHeading] = []
    floor, behind = scanned.front_matter_lines, scanned.body
    lines: Lines | None = None
    has_tags = b"<a" in data or b"<A" in data
    for heading, span in zip(scanned.headings, scanned.spans, strict=True):
        start, first = span[0], heading.line
        above: tuple[str, ...] = ()
        if has_tags and _may_be_anchored_above(data, start):
            lines = lines or Lines(data)
            first, above = find_anchors_above(lines, heading.line, floor)
            start = lines.offset(first)
            if above and may_hold_list(data, behind, start):
                return None
        found.append(parse_anchored_heading(heading, above, first, start, span))
        floor, behind = heading.end, span[1]
    return add_lists_below(data, found)


def _may_be_anchored_above(data: bytes, start: int) -> bool:
    """Return True if the line above a heading, or a blank one, may end with HTML."""
    above = data[max(0, start - _BLANK_ABOVE) : start].rstrip()
    return not above or above[-1] not in _ENDS_NO_TAG
