"""The library's block parser, with bounds on how many blocks it reads and how deep."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from workspace.markdown import bounds

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.parser_block import ParserBlock
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

_FRONT_MATTER_MARK = re.compile(r"---[ \t]*[\r\n]")


def read_blocks(text: str, *, is_document: bool = False, first_line: int = 0) -> list[Token]:
    """The blocks of a text that stands at `first_line`, as tokens. Only a document has front matter.

    Raises LimitExceeded for a text of too many blocks.
    """
    # The plugin also takes `--- x` for a mark, with which CommonMark begins a paragraph.
    marked = is_document and _FRONT_MATTER_MARK.match(text) is not None
    return _parser(front_matter=marked).parse("\n" * first_line + text)


@cache
def _parser(*, front_matter: bool) -> MarkdownIt:
    return block_parser(front_matter=front_matter)


def block_parser(state: type[StateBlock] | None = None, *, front_matter: bool = False) -> MarkdownIt:
    """A parser of CommonMark's blocks that reads no inline Markdown; `state` is a kind of `bounded_state`."""
    # Imported here because a server answers its first questions without reading a document.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": bounds.MAX_LEVELS}).disable("inline")
    if front_matter:
        parser.use(front_matter_plugin)
    parser.core.ruler.disable("text_join", ignoreInvalid=True)
    blocks = _bounded_blocks(state or bounded_state())
    blocks.ruler = parser.block.ruler
    parser.block = blocks
    return parser


def bounded_state() -> type[StateBlock]:
    """A state of the block parser that raises LimitExceeded at too many blocks."""
    from markdown_it.rules_block import StateBlock

    class BoundedState(StateBlock):
        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            if len(self.tokens) >= bounds.MAX_TOKENS:
                raise bounds.too_many_blocks()
            return super().push(ttype, tag, nesting)

    return BoundedState


def _bounded_blocks(state_class: type[StateBlock]) -> ParserBlock:
    """A block parser that reads what is nested too deeply as text.

    The library's own takes a list that is nested too deeply for the end of the document, and loses every
    heading after it.
    """
    from markdown_it.parser_block import ParserBlock

    class BoundedBlocks(ParserBlock):
        def parse(self, src: str, md: MarkdownIt, env: EnvType, outTokens: list[Token]) -> list[Token]:
            state = state_class(src, md, env, outTokens)
            self.tokenize(state, state.line, state.lineMax)
            return state.tokens

        def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
            if state.level < state.md.options["maxNesting"]:
                super().tokenize(state, startLine, endLine)
                return
            line = startLine + 1
            # A count below 0 marks a line that continues a paragraph without its quotation's mark.
            while line < endLine and (
                state.isEmpty(line) or state.sCount[line] < 0 or state.sCount[line] >= state.blkIndent
            ):
                line += 1
            state.line = line

    return BoundedBlocks()
