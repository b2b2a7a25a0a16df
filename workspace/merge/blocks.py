"""Texts in pieces: the blocks of a section's text, each with what parts it from the one before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.document.tasks import FIELD_LINE
from workspace.markdown.blocks import BlockKind, nested_blocks
from workspace.markdown.lines import BLANK, LIST_MARKER_BYTES, before_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.markdown.blocks import Block

Id = tuple[str, int]
"""Names a piece: the version in which it was met first (`base`, `ours`, `theirs`), and its place there."""

_MARK = re.compile(rb"[ \t]*%b[ \t]+" % LIST_MARKER_BYTES)
_TASK = re.compile(rb"(%b\[)([ xX])(\][ \t]+.*)" % _MARK.pattern, re.DOTALL)
# A link reference definition (CommonMark 0.31 §4.7), or a footnote as forges read it.
DEFINITION = re.compile(rb"^ {0,3}\[([^\[\]\r\n]{1,999})\]:", re.MULTILINE)
_FIELD = re.compile(rb"[ \t]*" + FIELD_LINE.encode(), re.IGNORECASE)


class Piece(NamedTuple):
    """A block's bytes, those between it and what stands before it, and where it begins in its text.

    `children` are the blocks of a list item that stand below its `head`, which is its first paragraph. Each
    link definition and footnote is a piece.
    """

    text: bytes
    before: bytes
    start: int
    kind: BlockKind
    head: bytes
    children: tuple[Piece, ...]

    @property
    def is_item(self) -> bool:
        """Whether it is a list item."""
        return self.kind is BlockKind.ITEM

    @property
    def label(self) -> bytes | None:
        """What a link definition or a footnote is called."""
        found = None if self.is_item else DEFINITION.match(self.text)
        return label_of(found) if found else None

    @property
    def series(self) -> Literal["item", "definition"] | None:
        """Among what it stands without a blank line between: items of a list, or definitions."""
        return "item" if self.is_item else "definition" if self.label else None

    @property
    def said(self) -> bytes | None:
        """What a list item says behind its mark, which may be a number; None for what is no item."""
        return _MARK.sub(b"", self.text, count=1) if self.is_item else None

    @property
    def field(self) -> bytes | None:
        """The name of a task's field (`note`), if it is a sub-item that gives one."""
        found = _FIELD.match(self.head) if self.is_item else None
        return found[1].lower() if found else None

    @property
    def title(self) -> bytes | None:
        """What a task is called; None for what is no task."""
        found = task_parts(self.head) if self.is_item else None
        return found[2].strip(BLANK) if found else None


def label_of(definition: re.Match[bytes]) -> bytes:
    """What a link definition or a footnote is called, in the form in which two names are compared."""
    return b" ".join(definition[1].lower().split())


def task_parts(head: bytes) -> tuple[bytes, bytes, bytes] | None:
    """The first paragraph of a task: up to its box, what is in the box, and the rest."""
    found = _TASK.fullmatch(head)
    return (found[1], found[2], found[3]) if found else None


def head_parts(head: bytes) -> tuple[bytes, ...] | None:
    """The first paragraph of a list item: its mark (a task's with its box apart), and the rest."""
    found = _MARK.match(head)
    return task_parts(head) or ((found.group(), head[found.end() :]) if found else None)


def pieces_of(data: bytes) -> tuple[Piece, ...]:
    """The pieces of a text. Raises LimitExceeded for a text of too many blocks."""
    return _pieces(data, nested_blocks(data), 0) if data else ()


def _pieces(data: bytes, blocks: Sequence[Block], position: int) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for block in blocks:
        head = data[block.start : block.end]
        children: tuple[Piece, ...] = ()
        if block.children:
            first, *rest = block.children
            head = data[block.start : first.end]
            children = _pieces(data, rest, first.end)
        for start, end in _definitions(data, block):
            text = data[start:end]
            found.append(Piece(text, data[position:start], start, block.kind, head, children))
            position = end
    return tuple(found)


def _definitions(data: bytes, block: Block) -> list[tuple[int, int]]:
    """A block of definitions as the spans of each; any other as the one that it is."""
    if block.kind is BlockKind.ITEM or not DEFINITION.match(data, block.start):
        return [(block.start, block.end)]
    starts = [found.start() for found in DEFINITION.finditer(data, block.start, block.end)]
    ends = [before_ending(data, start) for start in starts[1:]]
    return list(zip(starts, [*ends, block.end], strict=True))


class Version(NamedTuple):
    """The pieces of one version of a text by their ids, in order."""

    pieces: Mapping[Id, Piece]

    @property
    def ids(self) -> list[Id]:
        """The ids in order."""
        return [*self.pieces]
