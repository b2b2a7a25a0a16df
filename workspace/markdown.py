"""The one door to markdown-it-py: which lines are headings and list items, and what a heading says.

Blocks are found by CommonMark 0.31 with the inline rules off, which gives the same blocks several times
faster. Line numbers count from 0, line ends are exclusive, and a line ends at LF, CRLF or CR (CommonMark
§2.1). What a text may cost is bounded: by its lines, by its blocks, and by how deep they are nested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.config import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.parser_block import ParserBlock
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

# Reading costs up to 20 µs and 500 bytes for each of these, so both bound time and memory.
MAX_LINES = 200_000
MAX_TOKENS = 1_000_000

# A quotation is one level and a list two. What is deeper is read as text; the parser recurses at each level.
_MAX_LEVELS = 100

_CONTAINER_MARKS = (b"-", b"+", b"*", b".", b")", b">")
_SPARE = 4

_FRONT_MATTER_MARK = re.compile(r"---[ \t]*[\r\n]")
_MARK = re.compile(r"[\\`*\n\]<&_]")
# What else these marks stand for is text: an underscore amid a word, brackets without a target, an ampersand.
_INLINE_MARKUP = re.compile(r"[\\`*\n]|\](?=\()|<(?! )|&(?=[#A-Za-z])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# A heading that is one link, as in a table of contents.
_LINK = re.compile(r"\[([^\[\]\\\n]*)\]\((?:https?://)?[A-Za-z0-9_./#?=%~+-]*\)")

# Inline rules take time that grows with the square of some texts, such as one of many `<![CDATA[`.
_MAX_INLINE = 5_000

# Longer texts are not headings that come again, and a cache of them would have no bound in bytes.
_CACHED_LENGTH = 200


class Heading(NamedTuple):
    """A heading outside every list and quotation. `source` is its inline Markdown; lines are [line, end)."""

    level: int
    line: int
    end: int
    source: str
    is_setext: bool


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item outside quotations. `source` is its first paragraph, lines [paragraph, paragraph_end)."""

    line: int
    end: int
    paragraph: int
    paragraph_end: int
    source: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """The blocks that a document's structure rests on, in order.

    `front_matter_lines` counts the lines of its front matter, both marks included; 0 if it has none.
    `depth` says how many lists and quotations stand inside each other at the deepest place.
    """

    front_matter_lines: int
    headings: tuple[Heading, ...]
    items: tuple[ListItem, ...]
    depth: int = 0


@cache
def _block_parser(*, front_matter: bool) -> MarkdownIt:
    # Imported here because a server answers its first questions without reading a document.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_LEVELS}).disable("inline")
    if front_matter:
        parser.use(front_matter_plugin)
    parser.core.ruler.disable("text_join", ignoreInvalid=True)
    blocks = _bounded_blocks()
    blocks.ruler = parser.block.ruler
    parser.block = blocks
    return parser


def _bounded_blocks() -> ParserBlock:
    """A block parser that stops at too many blocks, and reads what is nested too deeply as text.

    The library's own takes a list that is nested too deeply for the end of the document, and loses every
    heading after it.
    """
    from markdown_it.parser_block import ParserBlock
    from markdown_it.rules_block import StateBlock

    class BoundedState(StateBlock):
        def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
            if len(self.tokens) >= MAX_TOKENS:
                raise _too_many_blocks()
            return super().push(ttype, tag, nesting)

    class BoundedBlocks(ParserBlock):
        def parse(self, src: str, md: MarkdownIt, env: EnvType, outTokens: list[Token]) -> list[Token]:
            state = BoundedState(src, md, env, outTokens)
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


def _too_many_blocks() -> LimitExceeded:
    return LimitExceeded(
        f"the text has over {MAX_TOKENS:,} beginnings and ends of blocks, which is more than is read",
        fix="Split it into several documents.",
        limit=MAX_TOKENS,
    )


def check_lines(count: int) -> None:
    """Raises LimitExceeded for a text of more lines than are read."""
    if count > MAX_LINES:
        raise LimitExceeded(
            f"the text has {count:,} lines, and at most {MAX_LINES:,} are read",
            fix="Split it into several documents.",
            limit=MAX_LINES,
            actual=count,
        )


def may_have_too_many_blocks(data: bytes, lines: int) -> bool:
    """Whether a text may have more blocks than are read, as far as can be told without reading it.

    A mark of a list or a quotation begins and ends up to two, and a line one more and its text.
    """
    if 2 * (len(data) + _SPARE) <= MAX_TOKENS:
        return False
    return 4 * sum(map(data.count, _CONTAINER_MARKS)) + 3 * lines + _SPARE > MAX_TOKENS


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def outline(text: str, *, is_document: bool = False, first_line: int = 0) -> Outline:
    """The headings and list items of a text that stands at `first_line`. Only a document has front matter.

    Raises LimitExceeded for a text of too many lines or blocks.
    """
    check_lines(text.count("\n") + text.count("\r") - text.count("\r\n"))
    # The plugin also takes `--- x` for a mark, with which CommonMark begins a paragraph.
    marked = is_document and _FRONT_MATTER_MARK.match(text) is not None
    tokens = _block_parser(front_matter=marked).parse("\n" * first_line + text)
    headings: list[Heading] = []
    front_matter_lines = 0
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            (line, end), source = token.map, tokens[position + 1].content
            headings.append(Heading(int(token.tag[1]), line, end, source, token.markup in ("=", "-")))
        elif token.type == "front_matter" and token.map:
            front_matter_lines = token.map[1]
    items, depth = _list_items(tokens)
    return Outline(front_matter_lines, tuple(headings), items, depth)


def code_fences(text: str) -> list[tuple[list[int], str, str, int]]:
    """The lines [line, end) of each code fence, in lists too; its mark, info string and number of lines."""
    tokens = _block_parser(front_matter=False).parse(f"{text}\n")
    return [(at.map or [], at.markup, at.info, at.content.count("\n")) for at in tokens if at.type == "fence"]


def absorbs(text: str, following: str) -> bool:
    """Whether headings right after a text would be read as a part of it: in an open code fence, say."""
    first = text.count("\n") + 1
    expected = outline(following, first_line=first).headings
    found = outline(f"{text}\n{following}").headings
    return found[len(found) - len(expected) :] != expected


def closed_outline(text: str) -> Outline | None:
    """The outline of a text; None if it ends in an open code fence, comment or HTML block."""
    found = outline(f"{text}\n\n# x")
    if not found.headings or found.headings[-1].line != text.count("\n") + 2:
        return None
    return Outline(0, found.headings[:-1], found.items, found.depth)


def _list_items(tokens: Sequence[Token]) -> tuple[tuple[ListItem, ...], int]:
    """The list items outside quotations, and how deep lists and quotations are nested."""
    items: list[ListItem] = []
    open_items: list[int] = []
    quotations = depth = deepest = 0
    for position, token in enumerate(tokens):
        if token.type in ("blockquote_open", "list_item_open"):
            depth += 1
            deepest = max(deepest, depth)
        elif token.type in ("blockquote_close", "list_item_close"):
            depth -= 1
        if token.type == "blockquote_open":
            quotations += 1
        elif token.type == "blockquote_close":
            quotations -= 1
        elif quotations:
            continue
        elif token.type == "list_item_open" and token.map:
            parent = open_items[-1] if open_items else None
            open_items.append(len(items))
            line, end = token.map
            following = tokens[position + 1]
            source, paragraph = "", (line, line + 1)
            if following.type == "paragraph_open" and following.map:
                source, paragraph = tokens[position + 2].content, (following.map[0], following.map[1])
            items.append(ListItem(line, end, *paragraph, source, parent))
        elif token.type == "list_item_close":
            open_items.pop()
    return tuple(items), deepest


def html_block_kind(line: str) -> int:
    """Which of the seven kinds of HTML block begins with a line (CommonMark 0.31 §4.6); 0 if none does.

    The line comes without its indentation.
    """
    from markdown_it.rules_block.html_block import HTML_SEQUENCES

    return next((kind for kind, (begin, _, _) in enumerate(HTML_SEQUENCES, 1) if begin.search(line)), 0)


def plain_text(source: str) -> str:
    """Inline Markdown as a reader sees it: no emphasis, code marks, link targets, tags or images.

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
    """A text whose only markup are code spans between single ticks; None for any other."""
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
