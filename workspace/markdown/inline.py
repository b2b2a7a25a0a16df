"""The inline Markdown, raw HTML and link definitions of a text: the texts of its blocks.

The module also returns the plain text of inline Markdown, finds positions that are inside a link, a code
span or emphasis, and applies CommonMark's rules for link destinations and labels.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.markdown.parser import make_block_parser, make_bounded_state, read_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token


class BlockTextKind(Enum):
    """The kind of a block's text."""

    INLINE = "inline"  # a paragraph's or heading's text
    HTML = "html"  # CommonMark §4.6
    DEFINITION = "definition"  # CommonMark §4.7


class BlockText(NamedTuple):
    """A block's text without the markers of the lists and quotations that enclose it.

    The line that begins at `starts[i]` of the text begins at `source_starts[i]` of the source. The two differ
    only in leading white space, where the source may have tabs.
    """

    kind: BlockTextKind
    text: str
    starts: Sequence[int]
    source_starts: Sequence[int]

    def map_to_source(self, position: int) -> int:
        """Return the position in the source of a character of the text."""
        line = bisect_right(self.starts, position) - 1
        return self.source_starts[line] + position - self.starts[line]


def read_block_texts(text: str) -> list[BlockText]:
    """Return the texts of the blocks of a text in order, except texts that have neither `[` nor `<`.

    Lines of the text end in LF. A footnote (`[^1]: word`) is text, not a link definition.
    Raises LimitExceeded for too many blocks.
    """
    block_texts: list[BlockText] = []
    if text:
        _make_block_text_parser().parse(text, {"block_texts": block_texts})
    return block_texts


@cache
def _make_block_text_parser() -> MarkdownIt:
    parser = make_block_parser(_make_block_text_state())
    parser.block.ruler.at("reference", _read_definition)
    # Every destination is a link, and is left unchanged.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _make_block_text_state() -> type[StateBlock]:
    bounded_state = make_bounded_state()

    class BlockTextState(bounded_state):  # type: ignore[misc, valid-type]
        """A parser state that records the text of each block when the parser reads its lines."""

        _pending_text: BlockText | None = None
        _is_html = False

        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            token: Token = super().push(ttype, tag, nesting)
            if ttype == "inline":
                if self.tokens[-2].markup[:1] == "#":
                    line = self.line - 1
                    self.record(strip_indentation(self, BlockTextKind.INLINE, line, line + 1))
                elif self._pending_text:
                    self.record(self._pending_text)
                self._pending_text = None
            self._is_html = ttype == "html_block"
            return token

        def record(self, block_text: BlockText) -> None:
            if "[" in block_text.text or "<" in block_text.text:
                self.env["block_texts"].append(block_text)

        def getLines(self, begin: int, end: int, indent: int, keepLastLF: bool) -> str:
            text: str = super().getLines(begin, end, indent, keepLastLF)
            self._pending_text = None
            if "[" in text or "<" in text:
                kind = BlockTextKind.HTML if self._is_html else BlockTextKind.INLINE
                # Each line of the text is the end of its source line.
                block_text = _make_block_text(kind, text, [self.eMarks[line] for line in range(begin, end)])
                if self._is_html:
                    self.record(block_text)
                else:
                    self._pending_text = block_text
            self._is_html = False
            return text

    return BlockTextState


def strip_indentation(state: StateBlock, kind: BlockTextKind, begin: int, end: int) -> BlockText:
    """Return the lines [begin, end) without their indentation."""
    texts = [
        state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]] for line in range(begin, end)
    ]
    return _make_block_text(kind, "\n".join(texts), state.eMarks[begin:end])


def _make_block_text(kind: BlockTextKind, text: str, ends: Sequence[int]) -> BlockText:
    starts, source_starts, start = [], [], 0
    for line, end in zip(text.split("\n"), ends, strict=False):
        starts.append(start)
        source_starts.append(end - len(line))
        start += len(line) + 1
    return BlockText(kind, text, starts, source_starts)


def _read_definition(state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:
    """Apply the library's rule for link definitions, and record their positions."""
    from workspace.markdown.library import reference

    content_start = state.bMarks[startLine] + state.tShift[startLine]
    if state.src.startswith("[^", content_start) or not reference(state, startLine, endLine, silent):
        return False
    if not silent:
        state.env["block_texts"].append(
            strip_indentation(state, BlockTextKind.DEFINITION, startLine, state.line)
        )
    return True


_INLINE_MARK = re.compile(r"[\\`*\n\]<&_]")

# Other uses of these marks are text: an underscore within a word, brackets without a target, an ampersand.
_INLINE_MARKUP = re.compile(r"[\\`*\n]|\](?=\()|<(?! )|&(?=[#A-Za-z])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")

# A heading that consists of one link, as in a table of contents.
_SINGLE_LINK = re.compile(r"\[([^\[\]\\\n]*)\]\((?:https?://)?[A-Za-z0-9_./#?=%~+-]*\)")

# The inline rules take quadratic time for some texts, such as many `<![CDATA[`.
_MAX_INLINE_LENGTH = 5_000

# Longer texts are rarely repeated headings, and caching them would need up to 80 MB.
_MAX_CACHED_LENGTH = 200


@cache
def _make_inline_parser() -> MarkdownIt:
    from workspace.markdown.library import MarkdownIt

    return MarkdownIt("commonmark")


def to_plain_text(source: str) -> str:
    """Return the visible text of inline Markdown: no emphasis, code marks, link targets, tags or images.

    A text that is too long for a heading is returned with its markup.
    """
    if len(source) > _MAX_INLINE_LENGTH:
        return source.replace("\n", " ").strip()
    if not _INLINE_MARK.search(source) or not _INLINE_MARKUP.search(source):
        return source.strip()
    link = _SINGLE_LINK.fullmatch(source)
    if (text := _strip_backticks(link[1] if link else source)) is not None:
        return text
    return (
        _parse_cached_plain_text(source) if len(source) <= _MAX_CACHED_LENGTH else _parse_plain_text(source)
    )


def _strip_backticks(source: str) -> str | None:
    """Return a text without backticks; None if it has markup other than code spans in single backticks."""
    pieces = source.split("`")
    texts, spans = pieces[::2], pieces[1::2]
    if len(texts) == len(spans) or "\n" in source:
        return None
    # Adjacent backticks are one mark, and spaces at both ends of a span are not part of its text.
    if (
        not all(pieces[1:-1])
        or any(span[0] == " " for span in spans)
        or _INLINE_MARKUP.search("\0".join(texts))
    ):
        return None
    return "".join(pieces).strip()


def _parse_plain_text(source: str) -> str:
    texts: list[str] = []
    for token in _make_inline_parser().parseInline(source)[0].children or ():
        if token.type in ("text", "code_inline"):
            texts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            texts.append(" ")
    return "".join(texts).strip()


_parse_cached_plain_text = lru_cache(maxsize=16384)(_parse_plain_text)


class _AnyReference(dict[str, dict[str, str]]):
    """Link definitions that define each label, because the definition may be outside the text."""

    def get(self, key: str, default: object = None) -> dict[str, str]:
        return {"href": key, "title": ""}


class InlineBoundaries:
    """The positions of a text that are inside a link, a code span, emphasis or other inline Markdown.

    The text before such a position and the text after it mean something else than both together. Lines end in
    LF. Raises LimitExceeded for a text of too many blocks.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [token for token in read_blocks(text) if token.type == "inline" and token.map]

    def is_inside(self, position: int) -> bool:
        """Return True if a position is inside inline Markdown.

        Positions in a long paragraph with marks are treated as inside, because parsing it often is slow.
        """
        line = self._text.count("\n", 0, position)
        for token in self._tokens:
            assert token.map
            if token.map[0] <= line < token.map[1]:
                return self._splits(token.content, line - token.map[0], position)
        return False

    def _splits(self, content: str, index: int, position: int) -> bool:
        """Return True if a position, which is on a line of a block's content, is inside inline Markdown."""
        content_lines = content.split("\n")
        if index >= len(content_lines):
            return False
        line_start = self._text.rfind("\n", 0, position) + 1
        source_line = self._text[line_start:].partition("\n")[0]
        # The source also has the marks of containers and headings, and white space.
        prefix_length = max(0, source_line.rfind(content_lines[index].rstrip()))
        column = min(max(0, position - line_start - prefix_length), len(content_lines[index]))
        split = sum(len(content_line) + 1 for content_line in content_lines[:index]) + column
        if content[split : split + 1] == "\n":
            split += 1  # a backslash before the line ending is a line break
        parts = content[:split], content[split:]
        has_marks = _INLINE_MARK.search(content.replace("\n", "")) is not None
        if not has_marks or not all(part.strip() for part in parts):
            return False
        if len(content) > _MAX_INLINE_LENGTH:
            return True
        return _read_inline_structure(content) != _read_inline_structure(*parts)


def _read_inline_structure(*parts: str) -> list[tuple[str, str, str]]:
    """Return the inline tokens of texts, in which adjacent texts are joined and white space is normalized."""
    structure: list[tuple[str, str, str]] = []
    for part in parts:
        tokens = _make_inline_parser().parseInline(part, {"references": _AnyReference()})[0].children or ()
        for token in tokens:
            if token.type not in ("text", "softbreak", "hardbreak"):
                structure.append((token.type, token.content, str(token.attrs)))
                continue
            content = token.content if token.type == "text" else "\n"
            if structure and structure[-1][0] == "text":
                content = structure.pop()[1] + content
            structure.append(("text", content, ""))
    words = [(kind, " ".join(content.split()), attributes) for kind, content, attributes in structure]
    return [item for item in words if item != ("text", "", "")]


def unescape(text: str) -> str:
    """Return a destination or title with its backslashes and entities resolved (CommonMark §2.4, §2.5)."""
    if "\\" not in text and "&" not in text:
        return text
    from workspace.markdown.library import unescapeAll

    return unescapeAll(text)


def normalize_label(label: str) -> str:
    """Return a link label with case and white space folded for comparison (CommonMark §4.7)."""
    from workspace.markdown.library import normalizeReference

    return normalizeReference(label)
