"""The union of a conflict: the text of ours, followed by that of theirs, as in Git's merge driver `union`.

A block that both sides have is kept once. There is no union where only one version can stay: of a value, of a
task, of a part that one side removed, and of two texts with the same anchor or label.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.merge.block_alignment import parse_blocks
from workspace.merge.blocks import is_costly
from workspace.merge.conflict import UnitKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.merge.block_alignment import TextBlock
    from workspace.merge.conflict import UnitConflict

ANCHOR = re.compile(
    rb"""\{(?::|/\*)?[ \t]*#[^{}\r\n]{1,200}\}|<a (?:id|name)="?[^<>"\r\n]{1,200}"?(?:></a>|/?>)"""
)
"""The anchor of a heading, a block or a task."""

_ANCHOR_NAME = re.compile(rb"""(?:#|(?:id|name)="?)([^\s"{}<>*]+)""")


def join_sides(conflict: UnitConflict) -> bytes | None:
    """Return the text of ours followed by that of theirs; None if only one of them can stay."""
    ours, theirs = conflict.ours, conflict.theirs
    if conflict.unit.kind is not UnitKind.TEXT or not ours or not theirs or is_costly(ours + b"\n" + theirs):
        return None
    try:
        our_blocks = parse_blocks(ours)
        our_texts = {block.text for block in our_blocks}
        added_blocks = [block for block in parse_blocks(theirs) if block.text not in our_texts]
        if not added_blocks or not our_blocks:
            return ours
        if not set(_list_names(our_blocks)).isdisjoint(_list_names(added_blocks)):
            return None
        expected_texts = [block.text for block in (*our_blocks, *added_blocks)]
        added_text = added_blocks[0].text + b"".join(
            block.separator + block.text for block in added_blocks[1:]
        )
        series = our_blocks[-1].series
        is_continued = series is not None and series == added_blocks[0].series
        # Lists of different kinds need a blank line, as does a number that cannot interrupt a paragraph.
        for separator in (b"\n", b"\n\n") if is_continued else (b"\n\n",):
            joined_text = ours.rstrip(b"\r\n") + separator + added_text
            if [block.text for block in parse_blocks(joined_text)] == expected_texts:
                return joined_text
    except LimitExceeded:
        pass
    return None


def _list_names(blocks: tuple[TextBlock, ...] | list[TextBlock]) -> Iterator[tuple[str, bytes]]:
    """Yield what may occur only once: the anchors, the labels of definitions, and the titles of tasks."""
    for block in blocks:
        for anchor in ANCHOR.findall(block.text):
            yield from (("anchor", name) for name in _ANCHOR_NAME.findall(anchor))
        if block.label is not None:
            yield "label", block.label
        if block.title is not None:
            yield "task", block.title
        yield from _list_names(block.children)
