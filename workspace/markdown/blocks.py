"""The blocks of a text as a tree: paragraphs, fences, list items with what stands in them.

Which lines hold text that stands for nothing but itself: code, and HTML blocks.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import BLANK, LINE_END_BYTES
from workspace.markdown.parser import check_lines, read_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token


class BlockKind(StrEnum):
    """The kind of a block. A table is a paragraph here, as in CommonMark; both are indivisible."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    OTHER = "other"  # a fence, code, HTML, a quotation, a heading, a rule, a link definition


class Block(NamedTuple):
    """A block: the bytes [start, end) of its lines without the last line ending, and the blocks in it.

    Only list items have children: the first is the paragraph that stands beside their mark. Lists themselves
    are not blocks, their items are.
    """

    kind: BlockKind
    start: int
    end: int
    children: tuple[Block, ...] = ()


class _Open(NamedTuple):
    """A block that is being read: its kind, its lines [line, stop), and what was found in it."""

    kind: BlockKind
    line: int
    stop: int
    children: list[_Open]


def parse_nested_blocks(data: bytes) -> tuple[Block, ...]:
    """Return the blocks of a text in order, each byte that is not blank in one of them.

    Raises LimitExceeded for a text of too many lines or blocks.
    """
    starts = [0, *(found.end() for found in LINE_END_BYTES.finditer(data))]
    if starts[-1] != len(data):
        starts.append(len(data))
    check_lines(len(starts))
    tokens = read_blocks(data.decode("utf-8", "replace"))
    return _filled(data, starts, _tree(tokens), 0, len(starts) - 1)


def _tree(tokens: Sequence[Token]) -> list[_Open]:
    """Return the top-level blocks and the nested list items; other containers are not opened."""
    top: list[_Open] = []
    open_items: list[list[_Open]] = [top]
    hidden = 0
    for token in tokens:
        if token.type == "blockquote_close":
            hidden -= 1
        elif token.type == "list_item_close" and not hidden:
            open_items.pop()
        if not hidden and token.map and token.nesting >= 0 and token.type not in _LISTS:
            kind = _KINDS.get(token.type, BlockKind.OTHER)
            if token.type != "inline":
                block = _Open(kind, token.map[0], token.map[1], [])
                open_items[-1].append(block)
                if kind is BlockKind.ITEM:
                    open_items.append(block.children)
        if token.type == "blockquote_open":
            hidden += 1
    return top


_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_KINDS = {"paragraph_open": BlockKind.PARAGRAPH, "list_item_open": BlockKind.ITEM}


def _filled(
    data: bytes, starts: Sequence[int], found: Sequence[_Open], line: int, stop: int
) -> tuple[Block, ...]:
    """Return the blocks of the lines [line, stop); lines that the parser makes nothing of are blocks too."""
    blocks: list[Block] = []
    for item in found:
        blocks += _between(data, starts, line, item.line)
        end = _end(data, starts, item.line, item.stop)
        children: tuple[Block, ...] = ()
        if item.children and item.children[0].line == item.line:
            children = _filled(data, starts, item.children, item.line, item.stop)
        blocks.append(Block(item.kind, starts[item.line], end, children))
        line = item.stop
    return (*blocks, *_between(data, starts, line, stop))


def _between(data: bytes, starts: Sequence[int], line: int, stop: int) -> list[Block]:
    """Return the lines [line, stop) as one block, if they are not blank."""
    while line < stop and not data[starts[line] : starts[line + 1]].strip(BLANK):
        line += 1
    if line >= stop:
        return []
    return [Block(BlockKind.OTHER, starts[line], _end(data, starts, line, stop))]


def _end(data: bytes, starts: Sequence[int], line: int, stop: int) -> int:
    """Return the end of the last of some lines that is not blank, before its line ending."""
    while stop > line + 1 and not data[starts[stop - 1] : starts[stop]].strip(BLANK):
        stop -= 1
    return starts[stop - 1] + len(data[starts[stop - 1] : starts[stop]].rstrip(b"\r\n"))


_LITERAL = ("fence", "code_block", "html_block")


def find_literal_lines(text: str) -> list[tuple[int, int]]:
    """Return the lines [line, end) of each code block and HTML block of a document, nested ones too.

    Raises LimitExceeded for a text of too many blocks.
    """
    tokens = read_blocks(text, is_document=True)
    return [(token.map[0], token.map[1]) for token in tokens if token.type in _LITERAL and token.map]
