"""The inline Markdown, raw HTML and link definitions of a text: the inline sources of its blocks.

Inline Markdown as a reader sees it, and the two rules of CommonMark by which links say what they mean.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.markdown.parser import make_block_parser, make_bounded_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token


class InlineKind(Enum):
    """The kind of an inline source."""

    INLINE = "inline"  # a paragraph's or heading's text
    HTML = "html"  # CommonMark §4.6
    DEFINITION = "definition"  # CommonMark §4.7


class InlineSource(NamedTuple):
    """A block's text without the marks of the lists and quotations that it stands in.

    A line of it that begins at `starts[i]` begins at `places[i]` of the source. White space at its beginning
    may have been made of tabs, all else is the same, character for character.
    """

    kind: InlineKind
    text: str
    starts: Sequence[int]
    places: Sequence[int]

    def place(self, position: int) -> int:
        """Return where a character of its text stands in the source."""
        line = bisect_right(self.starts, position) - 1
        return self.places[line] + position - self.starts[line]


def read_inline_sources(text: str) -> list[InlineSource]:
    """Return the leaves of a text whose lines end in LF, in order; those without `[` and `<` are left out.

    A footnote (`[^1]: word`) is no link definition but text. Raises LimitExceeded for too many blocks.
    """
    leaves: list[InlineSource] = []
    if text:
        _leaf_parser().parse(text, {"leaves": leaves})
    return leaves


@cache
def _leaf_parser() -> MarkdownIt:
    parser = make_block_parser(_leaf_state())
    parser.block.ruler.at("reference", _definition)
    # Every destination counts, and none is rewritten.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _leaf_state() -> type[StateBlock]:
    bounded = make_bounded_state()

    class LeafState(bounded):  # type: ignore[misc, valid-type]
        """Keeps the text of each block as the parser takes it out of its lines."""

        _lines: InlineSource | None = None
        _is_html = False

        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            token: Token = super().push(ttype, tag, nesting)
            if ttype == "inline":
                if self.tokens[-2].markup[:1] == "#":
                    line = self.line - 1
                    self.keep(strip_indentation(self, InlineKind.INLINE, line, line + 1))
                elif self._lines:
                    self.keep(self._lines)
                self._lines = None
            self._is_html = ttype == "html_block"
            return token

        def keep(self, leaf: InlineSource) -> None:
            if "[" in leaf.text or "<" in leaf.text:
                self.env["leaves"].append(leaf)

        def getLines(self, begin: int, end: int, indent: int, keepLastLF: bool) -> str:
            text: str = super().getLines(begin, end, indent, keepLastLF)
            self._lines = None
            if "[" in text or "<" in text:
                kind = InlineKind.HTML if self._is_html else InlineKind.INLINE
                # Each line is the end of its source line.
                leaf = _leaf(kind, text, [self.eMarks[line] for line in range(begin, end)])
                if self._is_html:
                    self.keep(leaf)
                else:
                    self._lines = leaf
            self._is_html = False
            return text

    return LeafState


def strip_indentation(state: StateBlock, kind: InlineKind, begin: int, end: int) -> InlineSource:
    """Return lines without their indentation."""
    texts = [
        state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]] for line in range(begin, end)
    ]
    return _leaf(kind, "\n".join(texts), state.eMarks[begin:end])


def _leaf(kind: InlineKind, text: str, ends: Sequence[int]) -> InlineSource:
    starts, places, start = [], [], 0
    for line, end in zip(text.split("\n"), ends, strict=False):
        starts.append(start)
        places.append(end - len(line))
        start += len(line) + 1
    return InlineSource(kind, text, starts, places)


def _definition(state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:
    """Return the library's rule of link definitions, which keeps where they stand."""
    from markdown_it.rules_block import reference

    first = state.bMarks[startLine] + state.tShift[startLine]
    if state.src.startswith("[^", first) or not reference(state, startLine, endLine, silent):
        return False
    if not silent:
        state.env["leaves"].append(strip_indentation(state, InlineKind.DEFINITION, startLine, state.line))
    return True


_MARK = re.compile(r"[\\`*\n\]<&_]")

# What else these marks stand for is text: an underscore amid a word, brackets without a target, an ampersand.
_INLINE_MARKUP = re.compile(r"[\\`*\n]|\](?=\()|<(?! )|&(?=[#A-Za-z])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")

# A heading that is one link, as in a table of contents.
_LINK = re.compile(r"\[([^\[\]\\\n]*)\]\((?:https?://)?[A-Za-z0-9_./#?=%~+-]*\)")

# Inline rules take time that grows with the square of some texts, such as one of many `<![CDATA[`.
_MAX_INLINE = 5_000

# Longer texts are not headings that come again, and a cache of them would have no bound in bytes.
_CACHED_LENGTH = 200


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def to_plain_text(source: str) -> str:
    """Return inline Markdown as a reader sees it: no emphasis, code marks, link targets, tags or images.

    A text that is too long for a heading keeps its marks.
    """
    if len(source) > _MAX_INLINE:
        return source.replace("\n", " ").strip()
    if not _MARK.search(source) or not _INLINE_MARKUP.search(source):
        return source.strip()
    link = _LINK.fullmatch(source)
    if (text := _without_ticks(link[1] if link else source)) is not None:
        return text
    return _cached_plain_text(source) if len(source) <= _CACHED_LENGTH else _plain_text(source)


def _without_ticks(source: str) -> str | None:
    """Return a text whose only markup are code spans between single ticks; None for any other."""
    pieces = source.split("`")
    words, spans = pieces[::2], pieces[1::2]
    if len(words) == len(spans) or "\n" in source:
        return None
    # Ticks side by side are one mark, and a space at both ends of a span is not a part of it.
    if (
        not all(pieces[1:-1])
        or any(span[0] == " " for span in spans)
        or _INLINE_MARKUP.search("\0".join(words))
    ):
        return None
    return "".join(pieces).strip()


def _plain_text(source: str) -> str:
    words: list[str] = []
    for token in _inline_parser().parseInline(source)[0].children or ():
        if token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
    return "".join(words).strip()


_cached_plain_text = lru_cache(maxsize=16384)(_plain_text)


def unescape(text: str) -> str:
    """Return a destination or title with its backslashes and entities resolved (CommonMark §2.4, §2.5)."""
    if "\\" not in text and "&" not in text:
        return text
    from markdown_it.common.utils import unescapeAll

    return unescapeAll(text)


def normalize_label(label: str) -> str:
    """Return a link label with case and white space folded for comparison (CommonMark §4.7)."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)
