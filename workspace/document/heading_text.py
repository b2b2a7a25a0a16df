"""Headings written anew: at another level, with an anchor or another one; their words stay."""

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
_UNDERLINED = {1: b"=", 2: b"-"}
_CLOSING_MARKS = re.compile(rb"(^|[ \t])(#+)$")


def rewrite_heading(
    document: Document,
    section: Section,
    *,
    level: int,
    anchor: str | None = None,
    form: AnchorForm = AnchorForm.BRACES,
    names: Mapping[str, str] | None = None,
    within: Iterable[Splice] = (),
) -> list[Splice]:
    """Return the splices that put a section's heading at a level and give it an `anchor`, where it has none.

    `names` are anchors that it carries and what they are called instead. A heading with an underline keeps
    it at levels 1 and 2, and gets #s below; closing #s follow where they were as many as the opening ones.
    `within` are splices of its words, which are among the answer.
    Raises InvalidAddress for an anchor that cannot be written.
    """
    heading = section.heading
    if heading is None:
        return []
    if anchor is not None and not anchors.is_valid_name(anchor):
        raise InvalidAddress(
            f"the address '{anchor}' cannot be written as an anchor",
            fix="Give the heading an anchor by hand first.",
        )
    splices = [*within, *_renamed(document, section, names or {})]
    start, end = find_inline_span(document.lines, heading.block)
    if start >= end:
        return [*splices, *_wordless(document, heading, level, anchor, form)]
    if anchor is not None:
        splices.append(insert_anchor(document, heading, anchor, form))
    if level == section.level:
        return splices
    if not heading.block.is_setext:
        return [*splices, *_other_marks(document, heading, level, end)]
    first = heading.heading_start
    within = [splice for splice in splices if splice.start >= first]
    underline = document.lines.offset(heading.block.end - 1)
    stop = underline + len(document.lines.raw(heading.block.end - 1))
    above = [splice for splice in splices if splice.start < first]
    if level in _UNDERLINED:
        text_above = _spliced(document.data, first, underline, within)
        marks = document.data[underline:stop].replace(_UNDERLINED[section.level], _UNDERLINED[level])
        return [*above, Splice(first, stop, text_above + marks)]
    words = _on_one_line(_spliced(document.data, start, end, within))
    return [*above, Splice(first, stop, b"#" * level + b" " + _CLOSING_MARKS.sub(rb"\1\\\2", words))]


def insert_anchor(document: Document, heading: AnchoredHeading, name: str, form: AnchorForm) -> Splice:
    """Return the splice that puts an anchor into a heading that has words, in its attribute list if any."""
    start, end = find_inline_span(document.lines, heading.block)
    behind, text = anchors.plan_anchor_insertion(heading.block.source, name, form)
    if form is AnchorForm.HTML:
        return Splice(start, start, text.encode())
    place = end - len(behind.encode())
    if document.data[place:end] != behind.encode():  # bytes that are not UTF-8
        place, text = end, anchors.plan_anchor_insertion("", name, form)[1]
    return Splice(place, place, text.encode())


def _on_one_line(words: bytes) -> bytes:
    """Return words of several lines on one, without the backslash of a hard line break (CommonMark §6.7)."""
    *lines, last = (line.strip(b" \t") for line in LINE_END_BYTES.split(words))
    odd = [(len(line) - len(line.rstrip(b"\\"))) % 2 for line in lines]
    return b" ".join([*(line[: len(line) - cut] for line, cut in zip(lines, odd, strict=True)), last])


def _other_marks(document: Document, heading: AnchoredHeading, level: int, words_end: int) -> list[Splice]:
    """Another number of #s, before the words and, where they were as many, behind them (CommonMark §4.2)."""
    line = document.lines.raw(heading.block.line)
    start, old = heading.heading_start, heading.block.level
    indent = len(line) - len(line.lstrip(b" "))
    splices = [Splice(start, start + indent + old, line[:indent] + b"#" * level)]
    text = line.rstrip(b" \t")
    closing = len(text) - len(text.rstrip(b"#"))
    if closing == old and start + len(text) - closing >= words_end:
        splices.append(Splice(start + len(text) - closing, start + len(text), b"#" * level))
    return splices


def _wordless(
    document: Document, heading: AnchoredHeading, level: int, anchor: str | None, form: AnchorForm
) -> list[Splice]:
    """Return a heading of marks alone (CommonMark §4.2)."""
    start = heading.heading_start
    if anchor is None:
        return _other_marks(document, heading, level, start + len(document.lines.raw(heading.block.line)))
    end = start + len(document.lines.raw(heading.block.line))
    written = f"{'#' * level} {anchors.write_heading('', anchor, form)}"
    return [Splice(start, end, written.encode())]


def _renamed(document: Document, section: Section, names: Mapping[str, str]) -> list[Splice]:
    """Return the splices that rename anchors of a heading, in it and on the lines next to it."""
    heading = section.heading
    if heading is None or not names:
        return []
    found: list[Splice] = []
    text = document.data[section.start : section.body]
    for start, end in _listed_names(document, heading):
        new = names.get(document.text(start, end))
        if new is not None:
            found.append(Splice(start, end, new.encode()))
    for name, new in names.items():
        pattern = re.escape(name.encode())
        tagged = re.finditer(rb"""<a[ \t][^<>]*=[ \t]*["'](?P<name>""" + pattern + rb""")["']""", text)
        spans = (item.span("name") for item in tagged)
        found += (Splice(section.start + a, section.start + b, new.encode()) for a, b in spans)
    return found


def _listed_names(document: Document, heading: AnchoredHeading) -> Iterator[tuple[int, int]]:
    """Return the bytes [start, end) of each id in a heading's attribute lists, in angles, and below it."""
    _, end = find_inline_span(document.lines, heading.block)
    source = heading.block.source
    for first, last in anchors.find_name_spans(source):
        yield end - len(source[first:].encode()), end - len(source[last:].encode())
    place = heading.below_start
    for line in document.data[place : heading.body].splitlines(keepends=True):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        found = read_attribute_line(text)
        for name in found.names if found else ():
            first = place + len(text[: name.start].encode())
            yield first, first + len(name.name.encode())
        place += len(line)


def _spliced(data: bytes, start: int, end: int, splices: list[Splice]) -> bytes:
    """Return the bytes [start, end) of a text after splices within them."""
    shifted = [Splice(item.start - start, item.end - start, item.replacement) for item in splices]
    return apply_splices(data[start:end], shifted)
