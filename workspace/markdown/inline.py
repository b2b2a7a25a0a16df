"""Where a text's inline Markdown, raw HTML and link definitions stand: the leaves of its tree of blocks."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.markdown.parser import block_parser, bounded_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token


class LeafKind(Enum):
    """What a leaf holds."""

    INLINE = "inline"  # a paragraph's or heading's text
    HTML = "html"  # CommonMark §4.6
    DEFINITION = "definition"  # CommonMark §4.7


class Leaf(NamedTuple):
    """A block's text without the marks of the lists and quotations that it stands in.

    A line of it that begins at `starts[i]` begins at `places[i]` of the source. White space at its beginning
    may have been made of tabs, all else is the same, character for character.
    """

    kind: LeafKind
    text: str
    starts: Sequence[int]
    places: Sequence[int]

    def place(self, position: int) -> int:
        """Where a character of its text stands in the source."""
        line = bisect_right(self.starts, position) - 1
        return self.places[line] + position - self.starts[line]


def read_leaves(text: str) -> list[Leaf]:
    """The leaves of a text whose lines end in LF, in order; those without `[` and `<` are left out.

    A footnote (`[^1]: word`) is no link definition but text. Raises LimitExceeded for too many blocks.
    """
    leaves: list[Leaf] = []
    if text:
        _leaf_parser().parse(text, {"leaves": leaves})
    return leaves


@cache
def _leaf_parser() -> MarkdownIt:
    parser = block_parser(_leaf_state())
    parser.block.ruler.at("reference", _definition)
    # Every destination counts, and none is rewritten.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _leaf_state() -> type[StateBlock]:
    bounded = bounded_state()

    class LeafState(bounded):  # type: ignore[misc, valid-type]
        """Keeps the text of each block as the parser takes it out of its lines."""

        _lines: Leaf | None = None
        _is_html = False

        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            token: Token = super().push(ttype, tag, nesting)
            if ttype == "inline":
                if self.tokens[-2].markup[:1] == "#":
                    line = self.line - 1
                    self.keep(lines_as_leaf(self, LeafKind.INLINE, line, line + 1))
                elif self._lines:
                    self.keep(self._lines)
                self._lines = None
            self._is_html = ttype == "html_block"
            return token

        def keep(self, leaf: Leaf) -> None:
            if "[" in leaf.text or "<" in leaf.text:
                self.env["leaves"].append(leaf)

        def getLines(self, begin: int, end: int, indent: int, keepLastLF: bool) -> str:
            text: str = super().getLines(begin, end, indent, keepLastLF)
            self._lines = None
            if "[" in text or "<" in text:
                kind = LeafKind.HTML if self._is_html else LeafKind.INLINE
                # Each line is the end of its source line.
                leaf = _leaf(kind, text, [self.eMarks[line] for line in range(begin, end)])
                if self._is_html:
                    self.keep(leaf)
                else:
                    self._lines = leaf
            self._is_html = False
            return text

    return LeafState


def lines_as_leaf(state: StateBlock, kind: LeafKind, begin: int, end: int) -> Leaf:
    """Lines without their indentation."""
    texts = [
        state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]] for line in range(begin, end)
    ]
    return _leaf(kind, "\n".join(texts), state.eMarks[begin:end])


def _leaf(kind: LeafKind, text: str, ends: Sequence[int]) -> Leaf:
    starts, places, start = [], [], 0
    for line, end in zip(text.split("\n"), ends, strict=False):
        starts.append(start)
        places.append(end - len(line))
        start += len(line) + 1
    return Leaf(kind, text, starts, places)


def _definition(state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:
    """The library's rule of link definitions, which keeps where they stand."""
    from markdown_it.rules_block import reference

    first = state.bMarks[startLine] + state.tShift[startLine]
    if state.src.startswith("[^", first) or not reference(state, startLine, endLine, silent):
        return False
    if not silent:
        state.env["leaves"].append(lines_as_leaf(state, LeafKind.DEFINITION, startLine, state.line))
    return True
