"""The blocks of a text as a tree: paragraphs, fences, and list items with their contents."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.lines import BLANK, LINE_END_BYTES
from workspace.markdown.parser import check_line_count, read_blocks

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

    Only list items have children. The first child begins on the line of the marker. A list is not a block,
    but each of its items is.
    """

    kind: BlockKind
    start: int
    end: int
    children: tuple[Block, ...] = ()


class _OpenBlock(NamedTuple):
    """A block during parsing: its kind, its lines [line, stop), and the blocks in it."""

    kind: BlockKind
    line: int
    stop: int
    children: list[_OpenBlock]


def parse_nested_blocks(data: bytes) -> tuple[Block, ...]:
    """Return the blocks of a text in order; each byte that is not blank is in one of the blocks.

    Raises LimitExceeded for a text of too many lines or blocks.
    """
    starts = [0, *(match.end() for match in LINE_END_BYTES.finditer(data))]
    if starts[-1] != len(data):
        starts.append(len(data))
    check_line_count(len(starts))
    tokens = read_blocks(data.decode("utf-8", "replace"))
    return _build_blocks(data, starts, _read_tree(tokens), 0, len(starts) - 1)


def _read_tree(tokens: Sequence[Token]) -> list[_OpenBlock]:
    """Return the top-level blocks and the nested list items; contents of other containers are skipped."""
    top_blocks: list[_OpenBlock] = []
    open_items: list[list[_OpenBlock]] = [top_blocks]
    quotation_depth = 0
    for token in tokens:
        if token.type == "blockquote_close":
            quotation_depth -= 1
        elif token.type == "list_item_close" and not quotation_depth:
            open_items.pop()
        if not quotation_depth and token.map and token.nesting >= 0 and token.type not in _LIST_OPENINGS:
            kind = _KIND_BY_TOKEN_TYPE.get(token.type, BlockKind.OTHER)
            if token.type != "inline":
                block = _OpenBlock(kind, token.map[0], token.map[1], [])
                open_items[-1].append(block)
                if kind is BlockKind.ITEM:
                    open_items.append(block.children)
        if token.type == "blockquote_open":
            quotation_depth += 1
    return top_blocks


_LIST_OPENINGS = frozenset({"bullet_list_open", "ordered_list_open"})
_KIND_BY_TOKEN_TYPE = {"paragraph_open": BlockKind.PARAGRAPH, "list_item_open": BlockKind.ITEM}


def _build_blocks(
    data: bytes, starts: Sequence[int], open_blocks: Sequence[_OpenBlock], line: int, stop: int
) -> tuple[Block, ...]:
    """Return the blocks of the lines [line, stop), including lines for which the parser returns no block."""
    blocks: list[Block] = []
    for open_block in open_blocks:
        blocks += _make_other_block(data, starts, line, open_block.line)
        end = _find_end(data, starts, open_block.line, open_block.stop)
        children: tuple[Block, ...] = ()
        if open_block.children and open_block.children[0].line == open_block.line:
            children = _build_blocks(data, starts, open_block.children, open_block.line, open_block.stop)
        blocks.append(Block(open_block.kind, starts[open_block.line], end, children))
        line = open_block.stop
    return (*blocks, *_make_other_block(data, starts, line, stop))


def _make_other_block(data: bytes, starts: Sequence[int], line: int, stop: int) -> list[Block]:
    """Return the lines [line, stop) as one block, if they are not blank."""
    while line < stop and not data[starts[line] : starts[line + 1]].strip(BLANK):
        line += 1
    if line >= stop:
        return []
    return [Block(BlockKind.OTHER, starts[line], _find_end(data, starts, line, stop))]


def _find_end(data: bytes, starts: Sequence[int], line: int, stop: int) -> int:
    """Return the end of the last line of [line, stop) that is not blank, before its line ending."""
    while stop > line + 1 and not data[starts[stop - 1] : starts[stop]].strip(BLANK):
        stop -= 1
    return starts[stop - 1] + len(data[starts[stop - 1] : starts[stop]].rstrip(b"\r\n"))
