"""The links of a document, and the names that its HTML and footnotes define.

The result is exact by CommonMark 0.31, and by GFM for cells of tables and footnotes. A document is split into
parts, each from one heading to the next. Most parts are read line by line, which is much faster. The parser
finds the blocks of the other parts.

A part can be read line by line if no line ends inside of a bracket, code span or tag, and if no line is
code, raw HTML, or a table with links. The links of such a part do not depend on the paragraphs, lists and
quotations that the lines form.

Linewise reading is only for speed: without it, the row "link graph" of `make bench` takes 2.0 times as long,
at 14,000 files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from workspace.links.inline import (
    TAG,
    count_delimiter_cells,
    find_inline_regions,
    read_definition,
    read_html,
    read_inline,
    read_parentheses,
    read_tag,
    split_cells,
)
from workspace.links.link import (
    DefinedName,
    Enclosure,
    Link,
    LinkKind,
    LinksAndNames,
    LinkSpan,
    NameSpan,
    decode_bytes,
    decode_destination,
    decode_utf8,
    read_body,
)
from workspace.markdown.inline import BlockText, BlockTextKind, normalize_label, read_block_texts
from workspace.markdown.lines import LIST_MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.links.link import LinkSpan

# These line ends precede a text, so that each of its lines follows a line end.
LINE_ENDS_ABOVE = "\n\n"

# The marks that may begin a line of a list or quotation.
_PREFIX = r"[ \t>*+\-0-9.)]*+"
_CONTAINER_MARKS = r"[>*+\-0-9.)]+"
_INDENTED_CODE = r"(?: {4}| {0,3}\t)[ \t]*[^ \t\n]"
_LINK_TEXT = r"[^\[\]`<\\\n]*(?:(?:`[^`\n]+`(?!`)|\\[!-/:-@\[-`{-~])[^\[\]`<\\\n]*)*\]"

# Brackets around a link are text, because a link cannot contain a link. Brackets of a footnote or an image
# may be markup.
_TEXT_AROUND_LINK = r"[^\[\]`<\\\n]"
_DESTINATION = r"([^\x00-\x20\x7f()\\<][^\x00-\x20\x7f()\\]*)"

# Each alternative looks back at its first character, so the expression is tried at these characters only.
_TOKEN = (
    r"[\n`\[!\\<\]](?:(?<=\n)(?=[\s>*+\-0-9.)#|<`~=_:])(?:"
    rf"(?P<fence>( *)(`{{3,}}(?=[^`\n]*$)|~{{3,}}))"
    rf"|(?P<table> {{0,3}}\|[^\n]*\n {{0,3}}\|[-:| \t]*$)"
    # HTML, a code fence or indented code in a list or quotation, and the delimiters of any other table.
    rf"|(?P<block>{_PREFIX}(?:<(?!https?:)(?=[A-Za-z/!?])|`{{3}}|~{{3}})"
    rf"|[ \t]*(?:{_CONTAINER_MARKS} {{1,4}}(?! ))*{_CONTAINER_MARKS}(?: {{5}}| {{0,4}}\t)"
    rf"|[ \t>]*+(?=[-:|][-:| \t]*+$)(?=[^\n]*\|)(?=[^\n]*-))"
    # A line that is not part of a paragraph, above a line that may be indented code.
    rf"|(?P<indented>[-*_=+>#.)0-9 \t]*+(?=\n{_INDENTED_CODE}))"
    rf"|(?P<heading>{_PREFIX}#{{1,6}}[ \t][^\n]*(?=\n{_INDENTED_CODE})))"
    rf"|(?<=`)(?P<code>[^`\n]+`(?!`)|(?P<ticks>`*)(?!`)[^\n]*?(?<!`)`(?P=ticks)(?!`))"
    rf"|(?<=\[)(?P<badge>(!\[{_LINK_TEXT}\({_DESTINATION}\))\]\({_DESTINATION}\))"
    rf"|(?<=[^!]\[)(?P<nested>(?!\^){_TEXT_AROUND_LINK}+(?<!!)(\[{_LINK_TEXT}\({_DESTINATION}\)){_TEXT_AROUND_LINK}*\])"
    rf"|(?P<link>(?:(?<=\[)|(?<=!)\[){_LINK_TEXT}(\((?:{_DESTINATION}\))?)?)"
    r"|(?<=\\)(?P<escape>[!-/:-@\[-`{-~])"
    r"|(?<=<)(?P<autolink>([A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*)>)"
    r"|(?<=<)(?P<angle>[A-Za-z/!?])"
    r"|(?<=[\[\]`])(?P<open>))"
)

_DEFINITION = re.compile(rf"\n{_PREFIX}\[(?!\^)[^\[\]\\]*(?:\\.[^\[\]\\]*)*\]:", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n|\Z)")
_LINK_CANDIDATE = re.compile(r"\]\(|<[A-Za-z!?]|```|~~~|\[[\^\[]")
_INDENTED_CODE_LINE = re.compile(rf"\n{_INDENTED_CODE}")
_TABLE_ROW = re.compile(r"\n {0,3}\|[^\n]*")
_LIST_ITEM = re.compile(rf" *{LIST_MARKER} {{1,4}}(?=[^ \n])")


def may_have_definitions(text: str) -> bool:
    """Return True if a text that begins with a line end may contain link definitions."""
    return "]:" in text and _DEFINITION.search(text) is not None


def read_links_linewise(
    text: str, part_starts: Sequence[int]
) -> tuple[list[LinkSpan | NameSpan], list[tuple[int, int]]]:
    """Return the links and names of a text without definitions, and the parts that need a full parse.

    The text begins with two line ends, and all its lines end in LF. `part_starts` are the positions at which
    its parts begin, in order, the first at 2. Each part is read completely, or is returned as unparsed.
    """
    return _LinewiseReader(text, part_starts).read()


@cache
def _compile_token() -> re.Pattern[str]:
    # Compiled at the first use, because compilation takes longer than reading a document.
    return re.compile(_TOKEN, re.MULTILINE)


class _NeedsFullParse(Exception):
    """A signal that only the parser can find the links of a part."""


class _LinewiseReader:
    """A reader of a text line by line, which omits the parts that need a full parse."""

    __slots__ = ("_part_starts", "_results", "_text")

    def __init__(self, text: str, part_starts: Sequence[int]) -> None:
        self._text, self._part_starts = text, [*part_starts, len(text)]
        self._results: list[LinkSpan | NameSpan] = []

    def read(self) -> tuple[list[LinkSpan | NameSpan], list[tuple[int, int]]]:
        text, part_starts, results = self._text, self._part_starts, self._results
        unparsed_parts: list[tuple[int, int]] = []
        search = _compile_token().search
        position = 0
        while token := search(text, position):
            kind = token.lastgroup
            if kind == "code" or kind == "escape":
                position = token.end()
                continue
            try:
                position = self._read_token(token, kind or "")
            except _NeedsFullParse:
                failed_position = token.start() + (text[token.start()] == "\n")
                index = (
                    bisect_right(part_starts, min(max(failed_position, part_starts[0]), len(text) - 1)) - 1
                )
                start, end = part_starts[index : index + 2]
                while results and results[-1].start >= start:
                    results.pop()
                unparsed_parts.append((start, end))
                if end == len(text):
                    break
                position = end - 1
        return results, unparsed_parts

    def _read_token(self, token: re.Match[str], kind: str) -> int:
        """Read the construct that a token begins, and return the position after it.

        Raises _NeedsFullParse.
        """
        match kind:
            case "link":
                return self._read_link(token)
            case "badge":
                return self._read_badge(token)
            case "nested":
                return self._read_nested_link(token)
            case "angle":
                return self._read_html_tag(token)
            case "autolink":
                start, end = token.span()
                span = token.span(token.re.groupindex["autolink"] + 1)
                self._results.append(LinkSpan(LinkKind.AUTOLINK, False, start, end, *span, Enclosure.ANGLE))
                return end
            case "fence":
                return self._read_fence(token)
            case "table":
                return self._read_table(token)
            case "indented":
                return self._skip_indented(token.end())
            case _:
                raise _NeedsFullParse

    def _read_link(self, token: re.Match[str]) -> int:
        group = token.re.groupindex["link"]
        start, end = token.span()
        text = self._text
        if token.start(group + 1) < 0:
            if text.startswith("[^", start) and text.startswith(":", end):
                raise _NeedsFullParse
            return end
        destination_start, destination_end = token.span(group + 2)
        enclosure = Enclosure.BARE
        if destination_start < 0:
            destination = read_parentheses(text, end - 1, self._find_line_end(end))
            if destination is None:
                raise _NeedsFullParse
            destination_start, destination_end, enclosure, end = destination
        is_image = text[start] == "!"
        self._results.append(
            LinkSpan(LinkKind.INLINE, is_image, start, end, destination_start, destination_end, enclosure)
        )
        return end

    def _read_badge(self, token: re.Match[str]) -> int:
        """Read a link around an image, such as a badge, as a link and an image."""
        group = token.re.groupindex["badge"]
        image, image_destination, link_destination = (token.span(group + offset) for offset in (1, 2, 3))
        self._results += (
            LinkSpan(LinkKind.INLINE, False, *token.span(), *link_destination, Enclosure.BARE),
            LinkSpan(LinkKind.INLINE, True, *image, *image_destination, Enclosure.BARE),
        )
        return token.end()

    def _read_nested_link(self, token: re.Match[str]) -> int:
        group = token.re.groupindex["nested"]
        link, destination = token.span(group + 1), token.span(group + 2)
        self._results.append(LinkSpan(LinkKind.INLINE, False, *link, *destination, Enclosure.BARE))
        return token.end()

    def _read_html_tag(self, token: re.Match[str]) -> int:
        tag = TAG.match(self._text, token.start(), self._find_line_end(token.start()))
        if tag is None:
            raise _NeedsFullParse
        self._results += read_tag(tag)
        return tag.end()

    def _read_fence(self, token: re.Match[str]) -> int:
        """Read a code fence, and return the line end after it."""
        text, group = self._text, token.re.groupindex["fence"]
        indent, marks = len(token[group + 1]), token[group + 2]
        part_end = self._part_starts[bisect_right(self._part_starts, token.start() + 1)]
        max_indent = "{0,3}" if indent < 2 else "*"
        closing = re.compile(rf"\n( {max_indent}){marks[0]}{{{len(marks)},}}[ \t]*(?=\n|\Z)")
        end_mark = closing.search(text, token.end(), part_end)
        if indent < 2:
            return self._skip_code(end_mark.end()) if end_mark else part_end - 1
        # An indented fence may be in a list, and ends where the list ends.
        if (
            end_mark is None
            or len(end_mark[1]) != indent
            or re.compile(rf"\n {{0,{indent - 1}}}[^ \n]").search(text, token.end(), end_mark.start())
        ):
            raise _NeedsFullParse
        if indent > 3:
            line_above = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
            item = _LIST_ITEM.match(line_above)
            if line_above.strip(" \t") and not (item and indent - 3 <= item.end() <= indent):
                raise _NeedsFullParse
        return self._skip_code(end_mark.end())

    def _read_table(self, token: re.Match[str]) -> int:
        """Read a table of which each row begins with a pipe, and return the line end after it.

        If the lines are not a table, return the start of the first line.
        """
        text = self._text
        start, end = token.span()
        delimiter_start = text.rindex("\n", start, end)
        column_count = count_delimiter_cells(text, delimiter_start + 1, end)
        if not column_count or len(split_cells(text, start + 1, delimiter_start)) != column_count:
            return start + 1
        self._read_row(start + 1, delimiter_start, column_count)
        while row := _TABLE_ROW.match(text, end):
            self._read_row(end + 1, row.end(), column_count)
            end = row.end()
        if end < len(text) and not _BLANK_LINE.match(text, end):
            raise _NeedsFullParse
        return end

    def _read_row(self, start: int, end: int, column_count: int) -> None:
        if _LINK_CANDIDATE.search(self._text, start, end):
            # A pipe in a URL or a wiki link has a backslash that is not part of the destination.
            line = self._text[start:end]
            if "[[" in line or ("<" in line and "\\|" in line):
                raise _NeedsFullParse
            for cell_start, cell_end in split_cells(self._text, start, end)[:column_count]:
                if _LINK_CANDIDATE.search(self._text, cell_start, cell_end):
                    self._results += read_inline(self._text, cell_start, cell_end)

    def _skip_indented(self, start: int) -> int:
        """Return the line end after text that may be indented code.

        Raises _NeedsFullParse if the text may contain a link.
        """
        blank = _BLANK_LINE.search(self._text, start + 1)
        end = blank.start() if blank else len(self._text)
        if _LINK_CANDIDATE.search(self._text, start, end):
            raise _NeedsFullParse
        return end

    def _skip_code(self, end: int) -> int:
        """Return the line end after a code fence, or after possible indented code that follows it."""
        return self._skip_indented(end) if _INDENTED_CODE_LINE.match(self._text, end) else end

    def _find_line_end(self, position: int) -> int:
        end = self._text.find("\n", position)
        return len(self._text) if end < 0 else end


# GFM: a footnote may begin on any line of a paragraph.
_FOOTNOTE_DEFINITION = re.compile(r"^[ \t]*\[\^([^\]\s]+)\]:", re.MULTILINE)

# The ids of a footnote on GitHub: in the page, and in links to it.
_FOOTNOTE_NAMES = ("user-content-fn-{}", "fn-{}")


def read_parsed_links(text: str, shift: int, *, wiki: bool = False) -> list[tuple[LinkSpan | NameSpan, str]]:
    """Parse a text, and return its links and names, each with its decoded destination.

    `shift` is the position of the text in the document's text. A reference has the destination of its
    definition.
    """
    block_texts = read_block_texts(text)
    definitions: dict[str, tuple[LinkSpan, str]] = {}
    results: list[tuple[LinkSpan | NameSpan, str]] = []
    for block_text in block_texts:
        if block_text.kind is BlockTextKind.DEFINITION and (span := _parse_definition(block_text.text)):
            label = span.label or ""
            # CommonMark §4.7: the first of several definitions counts.
            if label not in definitions:
                definitions[label] = span, decode_destination(block_text.text, span)
                results.append((_shift_span(span, block_text, shift), definitions[label][1]))
    parts: Iterable[tuple[LinkSpan | NameSpan, str]]
    for block_text in block_texts:
        if block_text.kind is BlockTextKind.HTML:
            parts = ((part, decode_destination(block_text.text, part)) for part in read_html(block_text.text))
        elif block_text.kind is BlockTextKind.INLINE:
            parts = _read_inline_links(block_text.text, definitions, wiki)
        else:
            continue
        results += [(_shift_span(part, block_text, shift), destination) for part, destination in parts]
    return results


def _parse_definition(text: str) -> LinkSpan | None:
    definition = read_definition(text)
    if definition is None:
        return None
    label, (start, end, enclosure, _) = definition
    text_end = len(text.rstrip(" \t\n"))
    name = normalize_label(decode_utf8(label))
    return LinkSpan(LinkKind.DEFINITION, False, 0, text_end, start, end, enclosure, name)


def _read_inline_links(
    text: str, definitions: Mapping[str, tuple[LinkSpan, str]], wiki: bool
) -> Iterator[tuple[LinkSpan | NameSpan, str]]:
    for footnote in _FOOTNOTE_DEFINITION.finditer(text):
        for name in _FOOTNOTE_NAMES:
            yield NameSpan(name.format(decode_utf8(footnote[1])), footnote.start()), ""
    regions = find_inline_regions(text)
    for start, end in regions:
        for span in read_inline(text, start, end, definitions, wiki=wiki):
            if isinstance(span, LinkSpan) and span.label is not None:
                yield span, definitions[span.label][1]
            else:
                yield span, decode_destination(text, span, in_cell=len(regions) > 1)


def _shift_span(span: LinkSpan | NameSpan, block_text: BlockText, shift: int) -> LinkSpan | NameSpan:
    """Return a span of a block's text with positions in the document's text."""
    start = shift + block_text.map_to_source(span.start)
    if isinstance(span, NameSpan):
        return span._replace(start=start)
    end = shift + block_text.map_to_source(span.end - 1) + 1
    if span.destination_start == span.destination_end:
        destination_start = destination_end = shift + block_text.map_to_source(span.destination_start - 1) + 1
    else:
        destination_start = shift + block_text.map_to_source(span.destination_start)
        destination_end = shift + block_text.map_to_source(span.destination_end - 1) + 1
    return span._replace(
        start=start, end=end, destination_start=destination_start, destination_end=destination_end
    )


def read_cached_links(document: Document, wiki: bool = False) -> LinksAndNames:
    """Return the links and names of a document as `read_links` does; cached with the document."""
    return document.derive(read_links, wiki=wiki)


def read_links(document: Document, *, wiki: bool = False) -> LinksAndNames:
    """Return the links and names of a document; `wiki` enables `[[links]]`."""
    body_start = document.front_matter_end
    body = document.data[body_start:]
    if b"[" not in body and b"<" not in body:
        return LinksAndNames((), ())
    text = f"{LINE_ENDS_ABOVE}{decode_bytes(body)}"
    if "\r" in text or may_have_definitions(text):
        return read_links_by_parser(document, wiki=wiki)
    shift = body_start - len(LINE_ENDS_ABOVE)
    part_starts = {body_start, *(section.heading_start for section in document.sections)}
    linewise_spans, unparsed_parts = read_links_linewise(text, sorted(start - shift for start in part_starts))
    results = [(span, decode_destination(text, span)) for span in linewise_spans]
    for start, end in unparsed_parts:
        results += read_parsed_links(text[start:end], start, wiki=wiki)
    first_line = document.front_matter_lines + 1 - LINE_ENDS_ABOVE.count("\n")
    return _sort_links(text, results, lambda position: position + shift, first_line)


def read_links_by_parser(document: Document, *, wiki: bool = False) -> LinksAndNames:
    """Return the same links and names as `read_links`, read only by the parser."""
    text, to_byte_offset = read_body(document)
    results = read_parsed_links(text, 0, wiki=wiki)
    return _sort_links(text, results, to_byte_offset, document.front_matter_lines + 1)


def _sort_links(
    text: str,
    spans_with_destinations: list[tuple[LinkSpan | NameSpan, str]],
    to_byte_offset: Callable[[int], int],
    first_line: int,
) -> LinksAndNames:
    """Return the links and names in order of position.

    `to_byte_offset` maps the position of a character to its byte offset. `first_line` is the line number at
    which `text` begins.
    """
    links: list[Link] = []
    names: list[DefinedName] = []
    line, counted_end = first_line, 0
    for span, destination in sorted(spans_with_destinations, key=lambda pair: pair[0].start):
        start = span.start
        line += text.count("\n", counted_end, start)
        counted_end = start
        if isinstance(span, NameSpan):
            names.append(DefinedName(span.name, to_byte_offset(start), line))
            continue
        kind, is_image, _, end, start_in_text, end_in_text, enclosure, label = span
        has_destination = start_in_text < end_in_text
        destination_start = (
            to_byte_offset(start_in_text) if has_destination else to_byte_offset(start_in_text - 1) + 1
        )
        links.append(
            Link(
                kind,
                is_image,
                to_byte_offset(start),
                to_byte_offset(end - 1) + 1,
                destination_start,
                to_byte_offset(end_in_text - 1) + 1 if has_destination else destination_start,
                enclosure,
                destination,
                label,
                line,
            )
        )
    return LinksAndNames(tuple(links), tuple(names))
