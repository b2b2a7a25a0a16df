"""Links in inline Markdown, in time in proportion to its length (CommonMark §6, "An algorithm for parsing").

One walk over the marks that count for links: backslashes, code spans, autolinks, HTML and brackets. Emphasis
takes no part in it, because brackets bind more tightly.

Link destinations and titles as CommonMark writes them (§6.3, §4.7).

Links and names in raw HTML: `href` and `src`, `id`, and the `name` of an `a` (CommonMark §4.6, §6.6).

The cells of tables (GFM §4.10): nothing in one reaches into another, not even a code span.
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
_ANGLE = re.compile(r"<([^<>\n\\]*(?:\\.[^<>\n\\]*)*)>")
_BARE = re.compile(r"[^\x00-\x20\x7f()\\]+|\\[!-/:-@\[-`{-~]|[\\()]")

_TITLE = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"' r"|'[^'\\]*(?:\\.[^'\\]*)*'" r"|\([^()\\]*(?:\\.[^()\\]*)*\)", re.DOTALL
)

_LABEL = re.compile(r"\[([^\[\]\\]*(?:\\.[^\[\]\\]*)*)\]", re.DOTALL)

# How nearly all are written: a destination of plain characters, and the parenthesis behind it.
_PLAIN = re.compile(r"\(([^\x00-\x20\x7f()\\<][^\x00-\x20\x7f()\\]*)\)")

# The reference implementations take as many.
_MAX_PARENTHESES = 32


class ParsedDestination(NamedTuple):
    """A destination [start, end) without what encloses it; `behind` is the position after all of it."""

    start: int
    end: int
    enclosure: Enclosure
    behind: int


def read_destination(text: str, at: int, end: int) -> ParsedDestination | None:
    """Return the destination that begins at a position, which is no white space; None if none does."""
    if text.startswith("<", at, end):
        found = _ANGLE.match(text, at, end)
        return ParsedDestination(*found.span(1), Enclosure.ANGLE, found.end()) if found else None
    depth, position = 0, at
    while found := _BARE.match(text, position, end):
        if found.group() == "(":
            depth += 1
            if depth > _MAX_PARENTHESES:
                return None
        elif found.group() == ")":
            if not depth:
                break
            depth -= 1
        position = found.end()
    return None if depth or position == at else ParsedDestination(at, position, Enclosure.BARE, position)


def read_parentheses(text: str, at: int, end: int) -> ParsedDestination | None:
    """Return the content of an inline link's parentheses at a position; None if they are not a link's."""
    plain = _PLAIN.match(text, at, end)
    if plain:
        return ParsedDestination(*plain.span(1), Enclosure.BARE, plain.end())
    begin = _behind_spaces(text, at + 1, end)
    found = read_destination(text, begin, end) or ParsedDestination(begin, begin, Enclosure.BARE, begin)
    if found.behind == begin and text.startswith("<", begin, end):
        return None
    behind = _behind_spaces(text, found.behind, end)
    if behind > found.behind > begin and (title := _TITLE.match(text, behind, end)):
        behind = _behind_spaces(text, title.end(), end)
    return found._replace(behind=behind + 1) if text.startswith(")", behind, end) else None


def read_label(text: str, at: int, end: int) -> str | None:
    """Return the link label whose bracket opens at a position, as it is written; None if there is none."""
    found = _LABEL.match(text, at, end)
    return found[1] if found else None


def read_definition(text: str) -> tuple[str, ParsedDestination] | None:
    """Return the label and the destination of a link definition, which is all of the text."""
    label = read_label(text, 0, len(text))
    if label is None:
        return None
    found = read_destination(text, _behind_spaces(text, len(label) + 3, len(text)), len(text))
    return (label, found) if found else None


def _behind_spaces(text: str, at: int, end: int) -> int:
    found = _SPACES.match(text, at, end)
    return found.end() if found else at


_ATTRIBUTE = (
    r"\s+([a-zA-Z_:][a-zA-Z0-9:._-]*)"
    r"""(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^"'=<>`\x00-\x20]+)))?"""
)

_ANY_ATTRIBUTE = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
TAG = re.compile(rf"<([A-Za-z][A-Za-z0-9-]*)((?:{_ANY_ATTRIBUTE})*)\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>")
"""A tag as CommonMark takes it; its first groups are the name and the attributes of an opening one."""

_ATTRIBUTES = re.compile(_ATTRIBUTE)
_ENCLOSURES = {2: Enclosure.DOUBLE, 3: Enclosure.SINGLE, 4: Enclosure.UNQUOTED}

# What holds no tags is read to its end, or to that of the text where it has none.
_TAG_OR_OTHER = re.compile(
    r"<!--(?:-?>|[\s\S]*?(?:-->|\Z))"
    r"|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)"
    r"|<\?[\s\S]*?(?:\?>|\Z)"
    r"|<![A-Za-z][^>]*"
    r"|<(script|style|textarea)(?=[\s>])[\s\S]*?(?:</\1|\Z)"
    rf"|(?P<tag>{re.sub(r'[(](?![?])', '(?:', TAG.pattern)})",
    re.IGNORECASE,
)

_ADDRESSES = {
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
    for found in _TAG_OR_OTHER.finditer(text):
        if found["tag"] and (tag := TAG.match(text, found.start())):
            yield from read_tag(tag)


def read_tag(tag: re.Match[str]) -> Iterator[LinkSpan | NameSpan]:
    """Yield the link and the names of a tag, a match of `TAG`. The first attribute of a name counts."""
    if not tag[2]:
        return
    element, (start, end) = tag[1].lower(), tag.span()
    seen: set[str] = set()
    for attribute in _ATTRIBUTES.finditer(tag.string, *tag.span(2)):
        name, kind = attribute[1].lower(), attribute.lastindex
        if name in seen or kind is None or kind == 1:
            continue
        seen.add(name)
        if name == "id" or (name == "name" and element == "a"):
            if value := decode_attribute(decode_utf8(attribute[kind])):
                yield NameSpan(value, start)
        elif name == _ADDRESSES.get(element):
            is_image = element == "img"
            yield LinkSpan(LinkKind.HTML, is_image, start, end, *attribute.span(kind), _ENCLOSURES[kind])


_MARK = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<(?=[A-Za-z/!?])|!?\[|\]")
_TICKS = re.compile(r"`+")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*)>")
_WIKI = re.compile(r"!?\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\](?!\()")

# How raw HTML begins that is no tag (CommonMark §6.6), what ends it, and how far behind at least.
_OTHER_HTML = (("<!--", "-->", 4), ("<![CDATA[", "]]>", 9), ("<?", "?>", 2), ("<!", ">", 3))
_SHORT_COMMENT = re.compile(r"<!---?>")

# CommonMark §6.3: a label is no longer.
_MAX_LABEL = 999


class _Opener(NamedTuple):
    """A bracket that may open a link: its place, that of its text, and how much was found before it."""

    start: int
    text: int
    is_image: bool
    found: int


def read_inline(
    text: str, start: int, end: int, labels: Container[str] = frozenset(), *, wiki: bool = False
) -> list[LinkSpan | NameSpan]:
    """Return the links and HTML names of a text's part [start, end), by the place where each ends.

    `labels` are those of the document's definitions, normalized; `wiki` turns on `[[links]]`.
    """
    return _Walk(text, start, end, labels, wiki).read()


class _Walk:
    """A walk over a text. Each mark is looked at once, and an end that is missing is looked for once."""

    __slots__ = (
        "_end",
        "_found",
        "_inactive",
        "_labels",
        "_openers",
        "_runs",
        "_start",
        "_text",
        "_unended",
        "_wiki",
    )

    def __init__(self, text: str, start: int, end: int, labels: Container[str], wiki: bool) -> None:
        self._text, self._start, self._end = text, start, end
        self._labels, self._wiki = labels, wiki
        self._found: list[LinkSpan | NameSpan] = []
        self._openers: list[_Opener] = []
        # Below this many openers none opens a link any more, because links hold no links.
        self._inactive = 0
        self._runs: dict[int, list[int]] | None = None
        self._unended: set[str] = set()

    def read(self) -> list[LinkSpan | NameSpan]:
        text, at = self._text, self._start
        while mark := _MARK.search(text, at, self._end):
            start, at = mark.span()
            match text[start]:
                case "`":
                    at = self._behind_code(start, at)
                case "<":
                    at = self._behind_angle(start)
                case "]":
                    at = self._behind_bracket(start)
                case "[" | "!":
                    at = self._opened(start, at)
        return self._found

    def _behind_code(self, start: int, at: int) -> int:
        """Return the position behind a code span, or behind the ticks of none."""
        if self._runs is None:
            self._runs = {}
            for run in _TICKS.finditer(self._text, self._start, self._end):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        runs = self._runs.get(at - start, ())
        following = bisect_left(runs, at)
        return runs[following] + at - start if following < len(runs) else at

    def _behind_angle(self, start: int) -> int:
        """Return the position behind an autolink or raw HTML, or behind `<`."""
        text, end = self._text, self._end
        if link := _AUTOLINK.match(text, start, end):
            self._found.append(
                LinkSpan(LinkKind.AUTOLINK, False, start, link.end(), *link.span(1), Enclosure.ANGLE)
            )
            return link.end()
        if tag := TAG.match(text, start, end):
            self._found += read_tag(tag)
            return tag.end()
        if short := _SHORT_COMMENT.match(text, start, end):
            return short.end()
        for opening, closing, length in _OTHER_HTML:
            if text.startswith(opening, start, end):
                if opening == "<!" and not text[start + 2 : start + 3].isalpha():
                    break
                if closing not in self._unended:
                    place = text.find(closing, start + length, end)
                    if place >= 0:
                        return place + len(closing)
                    self._unended.add(closing)
                break
        return start + 1

    def _opened(self, start: int, at: int) -> int:
        """Return the position behind an opening bracket, or behind a wiki link."""
        if self._wiki and (link := _WIKI.match(self._text, start, self._end)):
            # In a table's cell the mark before the link's text is `\|`.
            target = link[1].removesuffix("\\").rstrip(" ")
            first = link.end(1) - len(link[1].lstrip(" "))
            last = link.start(1) + len(target)
            is_embedded = self._text[start] == "!"
            if first < last:
                span = LinkSpan(LinkKind.WIKI, is_embedded, start, link.end(), first, last, Enclosure.WIKI)
                self._found.append(span)
                return link.end()
        self._openers.append(_Opener(start, at, at - start == 2, len(self._found)))
        return at

    def _behind_bracket(self, at: int) -> int:
        """Return the position behind the link whose text a bracket closes, or behind the bracket."""
        if not self._openers:
            return at + 1
        opener = self._openers.pop()
        is_inactive = len(self._openers) < self._inactive
        self._inactive = min(self._inactive, len(self._openers))
        if is_inactive and not opener.is_image:
            return at + 1
        link = self._inline_link(opener, at) or self._reference(opener, at)
        if link is None:
            return at + 1
        if opener.is_image:
            # An image's description is text, whatever it holds.
            del self._found[opener.found :]
        else:
            self._inactive = len(self._openers)
        self._found.append(link)
        return link.end

    def _inline_link(self, opener: _Opener, at: int) -> LinkSpan | None:
        if not self._text.startswith("(", at + 1, self._end):
            return None
        found = read_parentheses(self._text, at + 1, self._end)
        if found is None:
            return None
        start, end, enclosure, behind = found
        return LinkSpan(LinkKind.INLINE, opener.is_image, opener.start, behind, start, end, enclosure)

    def _reference(self, opener: _Opener, at: int) -> LinkSpan | None:
        if not self._labels:
            return None
        behind = at + 1
        label = read_label(self._text, behind, self._end)
        if label is not None:
            behind += len(label) + 2
        if not label:
            label = self._text[opener.text : at] if at - opener.text <= _MAX_LABEL else ""
        if not label or len(label) > _MAX_LABEL:
            return None
        name = normalize_label(decode_utf8(label))
        if name not in self._labels:
            return None
        return LinkSpan(
            LinkKind.REFERENCE, opener.is_image, opener.start, behind, behind, behind, Enclosure.BARE, name
        )


_DELIMITERS = re.compile(r"\n[-:| \t]++(?=\n|\Z)")
_DELIMITER = re.compile(r"[ \t]*:?-+:?[ \t]*")
_PIPE = re.compile(r"\\.|\|")


def find_inline_regions(text: str) -> list[tuple[int, int]]:
    """Return the parts [start, end) of a paragraph that are parsed separately: a table's cells, or all."""
    if "|" in text:
        for found in _DELIMITERS.finditer(text):
            header = text.rfind("\n", 0, found.start()) + 1
            columns = count_delimiter_cells(text, found.start() + 1, found.end())
            if columns and "|" in text[header : found.start()]:
                if len(split_cells(text, header, found.start())) != columns:
                    continue
                return [(0, header), *_rows(text, header, columns)]
    return [(0, len(text))]


def count_delimiter_cells(text: str, start: int, end: int) -> int:
    """Return how many cells a delimiter row has; 0 if the line is none."""
    found = split_cells(text, start, end)
    return len(found) if all(_DELIMITER.fullmatch(text, *cell) for cell in found) else 0


def _rows(text: str, start: int, columns: int) -> list[tuple[int, int]]:
    """Return the cells of the lines from a position on; cells beyond the header's number are ignored."""
    found: list[tuple[int, int]] = []
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        found += split_cells(text, start, end)[:columns]
        start = end + 1
    return found


def split_cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the cells of a line; the pipes at both its ends may be left out."""
    while start < end and text[start] in " \t":
        start += 1
    while start < end and text[end - 1] in " \t":
        end -= 1
    if text.startswith("|", start, end):
        start += 1
    found: list[tuple[int, int]] = []
    for pipe in _PIPE.finditer(text, start, end):
        if pipe.group() == "|":
            found.append((start, pipe.start()))
            start = pipe.end()
    if start < end:
        found.append((start, end))
    return found
