"""Splices that change the level and the anchors of a heading, and preserve its title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.addresses import InvalidAddress
from workspace.document.headings import find_inline_span
from workspace.document.splices import Splice, apply_splices
from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm, read_attribute_line
from workspace.markdown.lines import LINE_END_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section

# CommonMark §4.3: only these two levels have an underline.
_UNDERLINE_MARKS = {1: b"=", 2: b"-"}
_CLOSING_MARKS = re.compile(rb"(^|[ \t])(#+)$")


def rewrite_heading(
    document: Document,
    section: Section,
    *,
    level: int,
    anchor: str | None = None,
    form: AnchorForm = AnchorForm.BRACES,
    renamed_anchors: Mapping[str, str] | None = None,
    title_splices: Iterable[Splice] = (),
) -> list[Splice]:
    """Return the splices that set the level of a section's heading, and add an `anchor`.

    `renamed_anchors` maps anchors of the heading to their new names. A heading with an underline keeps the
    underline at levels 1 and 2, and gets #s at deeper levels. Closing #s change too if there are as many of
    them as opening #s. `title_splices` are splices of the title, which are part of the result. Raises
    InvalidAddress for an anchor that cannot be written.
    """
    heading = section.heading
    if heading is None:
        return []
    if anchor is not None and not anchors.is_valid_name(anchor):
        raise InvalidAddress(
            f"the address '{anchor}' cannot be written as an anchor",
            fix=f"Write an anchor into the heading '{section.title}' by hand first.",
        )
    splices = [*title_splices, *_rename_anchors(document, section, renamed_anchors or {})]
    start, end = find_inline_span(document.lines, heading.block)
    if start >= end:
        return [*splices, *_rewrite_untitled_heading(document, heading, level, anchor, form)]
    if anchor is not None:
        splices.append(make_anchor_splice(document, heading, anchor, form))
    if level == section.level:
        return splices
    if not heading.block.is_setext:
        return [*splices, *_change_marks(document, heading, level, end)]
    heading_start = heading.heading_start
    inner_splices = [splice for splice in splices if splice.start >= heading_start]
    underline_start = document.lines.offset(heading.block.end - 1)
    heading_end = underline_start + len(document.lines.line_bytes(heading.block.end - 1))
    splices_above = [splice for splice in splices if splice.start < heading_start]
    if level in _UNDERLINE_MARKS:
        title = _apply_within(document.data, heading_start, underline_start, inner_splices)
        marks = document.data[underline_start:heading_end].replace(
            _UNDERLINE_MARKS[section.level], _UNDERLINE_MARKS[level]
        )
        return [*splices_above, Splice(heading_start, heading_end, title + marks)]
    title = _join_lines(_apply_within(document.data, start, end, inner_splices))
    return [
        *splices_above,
        Splice(heading_start, heading_end, b"#" * level + b" " + _CLOSING_MARKS.sub(rb"\1\\\2", title)),
    ]


def make_anchor_splice(document: Document, heading: AnchoredHeading, name: str, form: AnchorForm) -> Splice:
    """Return the splice that adds an anchor to a heading with a title.

    If the heading ends in an attribute list, the anchor is added to that list.
    """
    start, end = find_inline_span(document.lines, heading.block)
    tail, text = anchors.plan_anchor_insertion(heading.block.source, name, form)
    if form is AnchorForm.HTML:
        return Splice(start, start, text.encode())
    position = end - len(tail.encode())
    if document.data[position:end] != tail.encode():  # bytes that are not UTF-8
        position, text = end, anchors.plan_anchor_insertion("", name, form)[1]
    return Splice(position, position, text.encode())


def _join_lines(title: bytes) -> bytes:
    """Return a title of several lines as one line, without hard line breaks (CommonMark §6.7)."""
    *lines, last = (line.strip(b" \t") for line in LINE_END_BYTES.split(title))
    break_lengths = [(len(line) - len(line.rstrip(b"\\"))) % 2 for line in lines]
    return b" ".join(
        [
            *(
                line[: len(line) - break_length]
                for line, break_length in zip(lines, break_lengths, strict=True)
            ),
            last,
        ]
    )


def _change_marks(document: Document, heading: AnchoredHeading, level: int, title_end: int) -> list[Splice]:
    """Return the splices that change the number of opening #s, and of closing #s if there are as many.

    See CommonMark §4.2.
    """
    line = document.lines.line_bytes(heading.block.line)
    start, old_level = heading.heading_start, heading.block.level
    indent = len(line) - len(line.lstrip(b" "))
    splices = [Splice(start, start + indent + old_level, line[:indent] + b"#" * level)]
    text = line.rstrip(b" \t")
    closing_count = len(text) - len(text.rstrip(b"#"))
    if closing_count == old_level and start + len(text) - closing_count >= title_end:
        splices.append(Splice(start + len(text) - closing_count, start + len(text), b"#" * level))
    return splices


def _rewrite_untitled_heading(
    document: Document, heading: AnchoredHeading, level: int, anchor: str | None, form: AnchorForm
) -> list[Splice]:
    """Return the splices that rewrite a heading without a title (CommonMark §4.2)."""
    start = heading.heading_start
    if anchor is None:
        return _change_marks(
            document, heading, level, start + len(document.lines.line_bytes(heading.block.line))
        )
    end = start + len(document.lines.line_bytes(heading.block.line))
    text = f"{'#' * level} {anchors.write_heading('', anchor, form)}"
    return [Splice(start, end, text.encode())]


def _rename_anchors(document: Document, section: Section, renamed_anchors: Mapping[str, str]) -> list[Splice]:
    """Return the splices that rename anchors in a heading and on the lines next to it."""
    heading = section.heading
    if heading is None or not renamed_anchors:
        return []
    splices: list[Splice] = []
    text = document.data[section.start : section.body_start]
    for start, end in _find_name_spans(document, heading):
        new_name = renamed_anchors.get(document.text(start, end))
        if new_name is not None:
            splices.append(Splice(start, end, new_name.encode()))
    for name, new_name in renamed_anchors.items():
        pattern = re.escape(name.encode())
        tags = re.finditer(rb"""<a[ \t][^<>]*=[ \t]*["'](?P<name>""" + pattern + rb""")["']""", text)
        spans = (item.span("name") for item in tags)
        splices += (
            Splice(section.start + start, section.start + end, new_name.encode()) for start, end in spans
        )
    return splices


def _find_name_spans(document: Document, heading: AnchoredHeading) -> Iterator[tuple[int, int]]:
    """Yield the bytes [start, end) of each id in the attribute lists in a heading and below it."""
    _, end = find_inline_span(document.lines, heading.block)
    source = heading.block.source
    for name_start, name_end in anchors.find_name_spans(source):
        yield end - len(source[name_start:].encode()), end - len(source[name_end:].encode())
    position = heading.below_start
    for line in document.data[position : heading.body_start].splitlines(keepends=True):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        attributes = read_attribute_line(text)
        for name in attributes.names if attributes else ():
            name_offset = position + len(text[: name.start].encode())
            yield name_offset, name_offset + len(name.name.encode())
        position += len(line)


def _apply_within(data: bytes, start: int, end: int, splices: list[Splice]) -> bytes:
    """Return the bytes [start, end) of a text after the splices in this span."""
    shifted_splices = [Splice(item.start - start, item.end - start, item.replacement) for item in splices]
    return apply_splices(data[start:end], shifted_splices)
