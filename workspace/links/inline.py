"""Links in inline Markdown, in time in proportion to its length (CommonMark §6, "An algorithm for parsing").

One walk over the marks that count for links: backslashes, code spans, autolinks, HTML and brackets. Emphasis
takes no part in it, because brackets bind more tightly.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from workspace.links.characters import meaning
from workspace.links.html import TAG, read_tag
from workspace.links.link import Enclosure, LinkKind
from workspace.links.links_destinations import read_label, read_parentheses
from workspace.links.spans import Name, Span
from workspace.markdown import normalized_label

if TYPE_CHECKING:
    from collections.abc import Container

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
) -> list[Span | Name]:
    """The links and HTML names of a text's part [start, end), by the place where each ends.

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
        self._found: list[Span | Name] = []
        self._openers: list[_Opener] = []
        # Below this many openers none opens a link any more, because links hold no links.
        self._inactive = 0
        self._runs: dict[int, list[int]] | None = None
        self._unended: set[str] = set()

    def read(self) -> list[Span | Name]:
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
        """The position behind a code span, or behind the ticks of none."""
        if self._runs is None:
            self._runs = {}
            for run in _TICKS.finditer(self._text, self._start, self._end):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        runs = self._runs.get(at - start, ())
        following = bisect_left(runs, at)
        return runs[following] + at - start if following < len(runs) else at

    def _behind_angle(self, start: int) -> int:
        """The position behind an autolink or raw HTML, or behind `<`."""
        text, end = self._text, self._end
        if link := _AUTOLINK.match(text, start, end):
            self._found.append(
                Span(LinkKind.AUTOLINK, False, start, link.end(), *link.span(1), Enclosure.ANGLE)
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
        """The position behind an opening bracket, or behind a wiki link."""
        if self._wiki and (link := _WIKI.match(self._text, start, self._end)):
            # In a table's cell the mark before the link's text is `\|`.
            target = link[1].removesuffix("\\").rstrip(" ")
            first = link.end(1) - len(link[1].lstrip(" "))
            last = link.start(1) + len(target)
            is_embedded = self._text[start] == "!"
            if first < last:
                span = Span(LinkKind.WIKI, is_embedded, start, link.end(), first, last, Enclosure.WIKI)
                self._found.append(span)
                return link.end()
        self._openers.append(_Opener(start, at, at - start == 2, len(self._found)))
        return at

    def _behind_bracket(self, at: int) -> int:
        """The position behind the link that a closing bracket ends the text of, or behind the bracket."""
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

    def _inline_link(self, opener: _Opener, at: int) -> Span | None:
        if not self._text.startswith("(", at + 1, self._end):
            return None
        found = read_parentheses(self._text, at + 1, self._end)
        if found is None:
            return None
        start, end, enclosure, behind = found
        return Span(LinkKind.INLINE, opener.is_image, opener.start, behind, start, end, enclosure)

    def _reference(self, opener: _Opener, at: int) -> Span | None:
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
        name = normalized_label(meaning(label))
        if name not in self._labels:
            return None
        return Span(
            LinkKind.REFERENCE, opener.is_image, opener.start, behind, behind, behind, Enclosure.BARE, name
        )
