"""The block parser of markdown-it-py, with limits on the number and the depth of blocks.

The limits bound the time and the memory that one text can use.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from workspace.errors import LimitExceeded

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.parser_block import ParserBlock
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

# Parsing costs up to 20 µs and 500 bytes for each line or token.
MAX_LINES = 200_000
MAX_TOKENS = 1_000_000

# A quotation is one level and a list two. Deeper blocks are read as text, because the parser recurses.
MAX_LEVELS = 100
_CONTAINER_MARKS = (b"-", b"+", b"*", b".", b")", b">")

# A mark of a container begins a block only if nothing but marks, numbers and white space precedes it.
_CONTAINER_LINE = re.compile(rb"(?:\A|[\r\n])([ \t>*+\-0-9.)]+)")
_SPARE_TOKENS = 4


def make_too_many_blocks_error() -> LimitExceeded:
    """Return the error for a text with too many blocks."""
    return LimitExceeded(
        f"the text has too many block starts and ends (limit {MAX_TOKENS:,})",
        fix="Split the text into several documents.",
        limit=MAX_TOKENS,
    )


def check_line_count(line_count: int) -> None:
    """Raise LimitExceeded for a text with too many lines."""
    if line_count > MAX_LINES:
        raise LimitExceeded(
            f"the text has {line_count:,} lines (limit {MAX_LINES:,})",
            fix="Split the text into several documents.",
            limit=MAX_LINES,
            actual=line_count,
        )


def may_have_too_many_blocks(data: bytes, line_count: int) -> bool:
    """Return True if a text may have too many blocks; this is an estimate without parsing.

    A marker of a list or a quotation can start and end two blocks, and a line can start and end one.
    """
    if 2 * (len(data) + _SPARE_TOKENS) <= MAX_TOKENS or not _may_exceed_tokens(data, line_count):
        return False
    return _may_exceed_tokens(b"".join(_CONTAINER_LINE.findall(data)), line_count)


def _may_exceed_tokens(marks: bytes, line_count: int) -> bool:
    return 4 * sum(map(marks.count, _CONTAINER_MARKS)) + 3 * line_count + _SPARE_TOKENS > MAX_TOKENS


_FRONT_MATTER_MARK = re.compile(r"---[ \t]*[\r\n]")


def read_blocks(text: str, *, is_document: bool = False, first_line: int = 0) -> list[Token]:
    """Return the blocks of a text that begins at `first_line`, as tokens.

    Front matter is read only if `is_document` is True.

    Raises LimitExceeded for a text of too many blocks.
    """
    # The plugin also reads `--- x` as a mark, but in CommonMark it begins a paragraph.
    has_front_matter = is_document and _FRONT_MATTER_MARK.match(text) is not None
    return _get_parser(front_matter=has_front_matter).parse("\n" * first_line + text)


@cache
def _get_parser(*, front_matter: bool) -> MarkdownIt:
    return make_block_parser(front_matter=front_matter)


def make_block_parser(
    state_class: type[StateBlock] | None = None, *, front_matter: bool = False
) -> MarkdownIt:
    """Return a parser of CommonMark's blocks without inline Markdown.

    `state_class` is a subclass of the class that `make_bounded_state` returns, or None for that class.
    """
    # Imported late, because a server can answer its first calls without parsing a document.
    from mdit_py_plugins.front_matter import front_matter_plugin

    from workspace.markdown.library import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_LEVELS}).disable("inline")
    if front_matter:
        parser.use(front_matter_plugin)
    parser.core.ruler.disable("text_join", ignoreInvalid=True)
    block_parser = _make_bounded_parser(state_class or make_bounded_state())
    block_parser.ruler = parser.block.ruler
    parser.block = block_parser
    return parser


def make_bounded_state() -> type[StateBlock]:
    """Return a state class of the block parser that raises LimitExceeded for too many blocks."""
    from workspace.markdown.library import StateBlock

    class BoundedState(StateBlock):
        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            if len(self.tokens) >= MAX_TOKENS:
                raise make_too_many_blocks_error()
            return super().push(ttype, tag, nesting)

    return BoundedState


def _make_bounded_parser(state_class: type[StateBlock]) -> ParserBlock:
    """Return a block parser that reads blocks beyond the maximum depth as text.

    The library's parser stops at a list that is nested too deeply, and omits every heading after it.
    """
    from workspace.markdown.library import ParserBlock

    class BoundedBlockParser(ParserBlock):
        def parse(self, src: str, md: MarkdownIt, env: EnvType, outTokens: list[Token]) -> list[Token]:
            state = state_class(src, md, env, outTokens)
            self.tokenize(state, state.line, state.lineMax)
            return state.tokens

        def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
            if state.level < state.md.options["maxNesting"]:
                super().tokenize(state, startLine, endLine)
                return
            line = startLine + 1
            # A negative count marks a line that continues a paragraph without its quotation's marker.
            while line < endLine and (
                state.isEmpty(line) or state.sCount[line] < 0 or state.sCount[line] >= state.blkIndent
            ):
                line += 1
            state.line = line

    return BoundedBlockParser()
