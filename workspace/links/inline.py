"""Find the links in inline Markdown in linear time (CommonMark §6, "An algorithm for parsing").

The reader makes one pass over the marks that affect links: backslashes, code spans, autolinks, HTML and
brackets. Emphasis is ignored, because brackets take precedence over it.

The module also reads destinations and titles (CommonMark §6.3, §4.7), and `href`, `src`, `id`, and the `name`
of an `a` in raw HTML (§4.6, §6.6). The cells of a table (GFM §4.10) are parsed separately, because not even a
code span extends from one into another.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from workspace.links.link import Enclosure, LinkKind, LinkSpan, NameSpan, decode_attribute, decode_utf8
from workspace.markdown.inline import normalize_label

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_SPACES = re.compile(r"[ \t\n]*")
_ANGLE_DESTINATION = re.compile(r"<([^<>\n\\]*(?:\\.[^<>\n\\]*)*)>")
_BARE_TOKEN = re.compile(r"[^\x00-\x20\x7f()\\]+|\\[!-/:-@\[-`{-~]|[\\()]")

_TITLE = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"' r"|'[^'\\]*(?:\\.[^'\\]*)*'" r"|\([^()\\]*(?:\\.[^()\\]*)*\)", re.DOTALL
)

_BRACKETED_LABEL = re.compile(r"\[([^\[\]\\]*(?:\\.[^\[\]\\]*)*)\]", re.DOTALL)

# The usual form: a destination of plain characters, then the closing parenthesis.
_PLAIN_PARENTHESES = re.compile(r"\(([^\x00-\x20\x7f()\\<][^\x00-\x20\x7f()\\]*)\)")

# The nesting limit of the reference implementations.
_MAX_PARENTHESES_DEPTH = 32


class ParsedDestination(NamedTuple):
    """The range of a destination without its enclosing marks; `next_position` is after those marks."""

    start: int
    end: int
    enclosure: Enclosure
    next_position: int


def read_destination(text: str, start: int, end: int) -> ParsedDestination | None:
    """Return the destination that begins at a position; None if no destination begins there.

    The position must not be white space.
    """
    if text.startswith("<", start, end):
        match = _ANGLE_DESTINATION.match(text, start, end)
        return ParsedDestination(*match.span(1), Enclosure.ANGLE, match.end()) if match else None
    depth, position = 0, start
    while match := _BARE_TOKEN.match(text, position, end):
        if match.group() == "(":
            depth += 1
            if depth > _MAX_PARENTHESES_DEPTH:
                return None
        elif match.group() == ")":
            if not depth:
                break
            depth -= 1
        position = match.end()
    return (
        None if depth or position == start else ParsedDestination(start, position, Enclosure.BARE, position)
    )


def read_parentheses(text: str, start: int, end: int) -> ParsedDestination | None:
    """Return the destination in the parentheses at a position; None if they cannot end an inline link."""
    plain_match = _PLAIN_PARENTHESES.match(text, start, end)
    if plain_match:
        return ParsedDestination(*plain_match.span(1), Enclosure.BARE, plain_match.end())
    destination_start = _skip_spaces(text, start + 1, end)
    destination = read_destination(text, destination_start, end) or ParsedDestination(
        destination_start, destination_start, Enclosure.BARE, destination_start
    )
    if destination.next_position == destination_start and text.startswith("<", destination_start, end):
        return None
    next_position = _skip_spaces(text, destination.next_position, end)
    if next_position > destination.next_position > destination_start and (
        title := _TITLE.match(text, next_position, end)
    ):
        next_position = _skip_spaces(text, title.end(), end)
    return (
        destination._replace(next_position=next_position + 1)
        if text.startswith(")", next_position, end)
        else None
    )


def read_label(text: str, start: int, end: int) -> str | None:
    """Return the label in the brackets at a position, without decoding; None if there is no label."""
    match = _BRACKETED_LABEL.match(text, start, end)
    return match[1] if match else None


def read_definition(text: str) -> tuple[str, ParsedDestination] | None:
    """Return the label and the destination of a link definition; None if the text is not one."""
    label = read_label(text, 0, len(text))
    if label is None:
        return None
    destination = read_destination(text, _skip_spaces(text, len(label) + 3, len(text)), len(text))
    return (label, destination) if destination else None


def _skip_spaces(text: str, start: int, end: int) -> int:
    match = _SPACES.match(text, start, end)
    return match.end() if match else start


_ATTRIBUTE = (
    r"\s+([a-zA-Z_:][a-zA-Z0-9:._-]*)"
    r"""(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^"'=<>`\x00-\x20]+)))?"""
)

_ANY_ATTRIBUTE = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
TAG = re.compile(rf"<([A-Za-z][A-Za-z0-9-]*)((?:{_ANY_ATTRIBUTE})*)\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>")
"""A tag in the grammar of CommonMark; its first groups are the name and attributes of an opening tag."""

_ATTRIBUTES = re.compile(_ATTRIBUTE)
_ENCLOSURES = {2: Enclosure.DOUBLE, 3: Enclosure.SINGLE, 4: Enclosure.UNQUOTED}

# Constructs without tags extend to their end mark, or to the end of the text.
_HTML_CONSTRUCT = re.compile(
    r"<!--(?:-?>|[\s\S]*?(?:-->|\Z))"
    r"|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)"
    r"|<\?[\s\S]*?(?:\?>|\Z)"
    r"|<![A-Za-z][^>]*"
    r"|<(script|style|textarea)(?=[\s>])[\s\S]*?(?:</\1|\Z)"
    rf"|(?P<tag>{re.sub(r'[(](?![?])', '(?:', TAG.pattern)})",
    re.IGNORECASE,
)

_URL_ATTRIBUTES = {
    "a": "href",
    "area": "href",
    "link": "href",
    "img": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "iframe": "src",
}


def read_html(text: str) -> Iterator[LinkSpan | NameSpan]:
    """Yield the links and names of a block of raw HTML."""
    for match in _HTML_CONSTRUCT.finditer(text):
        if match["tag"] and (tag := TAG.match(text, match.start())):
            yield from read_tag(tag)


def read_tag(tag: re.Match[str]) -> Iterator[LinkSpan | NameSpan]:
    """Yield the link and the names of a tag (a match of `TAG`).

    Of several attributes with the same name, only the first counts.
    """
    if not tag[2]:
        return
    element, (start, end) = tag[1].lower(), tag.span()
    attribute_names: set[str] = set()
    for attribute in _ATTRIBUTES.finditer(tag.string, *tag.span(2)):
        name, group = attribute[1].lower(), attribute.lastindex
        if name in attribute_names or group is None or group == 1:
            continue
        attribute_names.add(name)
        if name == "id" or (name == "name" and element == "a"):
            if value := decode_attribute(decode_utf8(attribute[group])):
                yield NameSpan(value, start)
        elif name == _URL_ATTRIBUTES.get(element):
            is_image = element == "img"
            yield LinkSpan(LinkKind.HTML, is_image, start, end, *attribute.span(group), _ENCLOSURES[group])


_MARK = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<(?=[A-Za-z/!?])|!?\[|\]")
_TICKS = re.compile(r"`+")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*)>")
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\](?!\()")

# Raw HTML other than tags (CommonMark §6.6): its beginning, its end, and the distance from the beginning at
# which the search for the end starts.
_HTML_WITHOUT_TAGS = (("<!--", "-->", 4), ("<![CDATA[", "]]>", 9), ("<?", "?>", 2), ("<!", ">", 3))
_SHORT_COMMENT = re.compile(r"<!---?>")

# CommonMark §6.3: the maximum length of a label.
_MAX_LABEL_LENGTH = 999


class _Opener(NamedTuple):
    """A bracket that may open a link: its start, the start of its text, and the number of earlier results."""

    start: int
    text_start: int
    is_image: bool
    result_count: int


def read_inline(
    text: str, start: int, end: int, labels: Container[str] = frozenset(), *, wiki: bool = False
) -> list[LinkSpan | NameSpan]:
    """Return the links and HTML names in the range [start, end) of a text, ordered by their ends.

    `labels` are the normalized labels of the document's definitions; `wiki` enables `[[links]]`.
    """
    return _InlineReader(text, start, end, labels, wiki).read()


class _InlineReader:
    """A reader of a text in one pass, which reads each mark once and searches for each missing end once."""

    __slots__ = (
        "_end",
        "_inactive_count",
        "_labels",
        "_missing_ends",
        "_openers",
        "_results",
        "_start",
        "_text",
        "_tick_runs",
        "_wiki",
    )

    def __init__(self, text: str, start: int, end: int, labels: Container[str], wiki: bool) -> None:
        self._text, self._start, self._end = text, start, end
        self._labels, self._wiki = labels, wiki
        self._results: list[LinkSpan | NameSpan] = []
        self._openers: list[_Opener] = []
        # The openers below this index cannot open a link, because a link cannot contain a link.
        self._inactive_count = 0
        self._tick_runs: dict[int, list[int]] | None = None
        self._missing_ends: set[str] = set()

    def read(self) -> list[LinkSpan | NameSpan]:
        text, position = self._text, self._start
        while mark := _MARK.search(text, position, self._end):
            start, position = mark.span()
            match text[start]:
                case "`":
                    position = self._read_code_span(start, position)
                case "<":
                    position = self._read_angle_bracket(start)
                case "]":
                    position = self._read_closing_bracket(start)
                case "[" | "!":
                    position = self._read_opening_bracket(start, position)
        return self._results

    def _read_code_span(self, start: int, ticks_end: int) -> int:
        """Return the position after a code span, or after the backticks if they open no code span."""
        if self._tick_runs is None:
            self._tick_runs = {}
            for run in _TICKS.finditer(self._text, self._start, self._end):
                self._tick_runs.setdefault(run.end() - run.start(), []).append(run.start())
        runs = self._tick_runs.get(ticks_end - start, ())
        index = bisect_left(runs, ticks_end)
        return runs[index] + ticks_end - start if index < len(runs) else ticks_end

    def _read_angle_bracket(self, start: int) -> int:
        """Return the position after an autolink or raw HTML, or after `<`."""
        text, end = self._text, self._end
        if link := _AUTOLINK.match(text, start, end):
            self._results.append(
                LinkSpan(LinkKind.AUTOLINK, False, start, link.end(), *link.span(1), Enclosure.ANGLE)
            )
            return link.end()
        if tag := TAG.match(text, start, end):
            self._results += read_tag(tag)
            return tag.end()
        if comment := _SHORT_COMMENT.match(text, start, end):
            return comment.end()
        for opening, closing, search_offset in _HTML_WITHOUT_TAGS:
            if text.startswith(opening, start, end):
                if opening == "<!" and not text[start + 2 : start + 3].isalpha():
                    break
                if closing not in self._missing_ends:
                    closing_start = text.find(closing, start + search_offset, end)
                    if closing_start >= 0:
                        return closing_start + len(closing)
                    self._missing_ends.add(closing)
                break
        return start + 1

    def _read_opening_bracket(self, start: int, position: int) -> int:
        """Return the position after an opening bracket, or after a wiki link."""
        if self._wiki and (link := _WIKI_LINK.match(self._text, start, self._end)):
            # In a cell of a table the mark before the link's text is `\|`.
            target = link[1].removesuffix("\\").rstrip(" ")
            target_start = link.end(1) - len(link[1].lstrip(" "))
            target_end = link.start(1) + len(target)
            is_embedded = self._text[start] == "!"
            if target_start < target_end:
                span = LinkSpan(
                    LinkKind.WIKI, is_embedded, start, link.end(), target_start, target_end, Enclosure.WIKI
                )
                self._results.append(span)
                return link.end()
        self._openers.append(_Opener(start, position, position - start == 2, len(self._results)))
        return position

    def _read_closing_bracket(self, position: int) -> int:
        """Return the position after the link whose text a bracket closes, or after the bracket."""
        if not self._openers:
            return position + 1
        opener = self._openers.pop()
        is_inactive = len(self._openers) < self._inactive_count
        self._inactive_count = min(self._inactive_count, len(self._openers))
        if is_inactive and not opener.is_image:
            return position + 1
        link = self._read_inline_link(opener, position) or self._read_reference(opener, position)
        if link is None:
            return position + 1
        if opener.is_image:
            # Links in an image's description are plain text.
            del self._results[opener.result_count :]
        else:
            self._inactive_count = len(self._openers)
        self._results.append(link)
        return link.end

    def _read_inline_link(self, opener: _Opener, position: int) -> LinkSpan | None:
        if not self._text.startswith("(", position + 1, self._end):
            return None
        destination = read_parentheses(self._text, position + 1, self._end)
        if destination is None:
            return None
        start, end, enclosure, next_position = destination
        return LinkSpan(LinkKind.INLINE, opener.is_image, opener.start, next_position, start, end, enclosure)

    def _read_reference(self, opener: _Opener, position: int) -> LinkSpan | None:
        if not self._labels:
            return None
        next_position = position + 1
        label = read_label(self._text, next_position, self._end)
        if label is not None:
            next_position += len(label) + 2
        if not label:
            label = (
                self._text[opener.text_start : position]
                if position - opener.text_start <= _MAX_LABEL_LENGTH
                else ""
            )
        if not label or len(label) > _MAX_LABEL_LENGTH:
            return None
        name = normalize_label(decode_utf8(label))
        if name not in self._labels:
            return None
        return LinkSpan(
            LinkKind.REFERENCE,
            opener.is_image,
            opener.start,
            next_position,
            next_position,
            next_position,
            Enclosure.BARE,
            name,
        )


_DELIMITER_ROW = re.compile(r"\n[-:| \t]++(?=\n|\Z)")
_DELIMITER_CELL = re.compile(r"[ \t]*:?-+:?[ \t]*")
_PIPE_OR_ESCAPE = re.compile(r"\\.|\|")


def find_inline_regions(text: str) -> list[tuple[int, int]]:
    """Return the ranges of a paragraph that are parsed separately: the text above a table and its cells.

    Without a table, the only range is the full text.
    """
    if "|" in text:
        for match in _DELIMITER_ROW.finditer(text):
            header_start = text.rfind("\n", 0, match.start()) + 1
            column_count = count_delimiter_cells(text, match.start() + 1, match.end())
            if column_count and "|" in text[header_start : match.start()]:
                if len(split_cells(text, header_start, match.start())) != column_count:
                    continue
                return [(0, header_start), *_split_rows(text, header_start, column_count)]
    return [(0, len(text))]


def count_delimiter_cells(text: str, start: int, end: int) -> int:
    """Return the number of cells of a delimiter row; 0 if the line is not a delimiter row."""
    cells = split_cells(text, start, end)
    return len(cells) if all(_DELIMITER_CELL.fullmatch(text, *cell) for cell in cells) else 0


def _split_rows(text: str, start: int, column_count: int) -> list[tuple[int, int]]:
    """Return the cells of the lines from a position on, without cells beyond `column_count`."""
    cells: list[tuple[int, int]] = []
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        cells += split_cells(text, start, end)[:column_count]
        start = end + 1
    return cells


def split_cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the cells of a line; the pipes at its start and end are optional."""
    while start < end and text[start] in " \t":
        start += 1
    while start < end and text[end - 1] in " \t":
        end -= 1
    if text.startswith("|", start, end):
        start += 1
    cells: list[tuple[int, int]] = []
    for pipe in _PIPE_OR_ESCAPE.finditer(text, start, end):
        if pipe.group() == "|":
            cells.append((start, pipe.start()))
            start = pipe.end()
    if start < end:
        cells.append((start, end))
    return cells
