"""Where new text goes: after the last line that says something, so that blank lines stay where they were.

Text is put in before the blank lines that end a section, and taken out together with the blank lines before it.
So adding a section and removing it gives back the first bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.edits.edit import Splice
from workspace.lines import BOM, with_ending

if TYPE_CHECKING:
    from workspace.document import Document

_LIST_ITEM = re.compile(rb"[ \t]*([-*+]|\d{1,9}[.)])[ \t]")


def end_of_text(data: bytes, floor: int, end: int) -> int:
    """The byte after the last line of [floor, end) that is not blank, its line ending left out; `floor` if none is."""
    place = floor + len(data[floor:end].rstrip(b" \t\r\n"))
    if place == floor:
        return floor
    while place < end and data[place] in b" \t":
        place += 1
    return place


def start_of_text(data: bytes, floor: int, end: int) -> int:
    """The byte at which the first line of [floor, end) that is not blank begins; `end` if none is."""
    blank = len(data[floor:end]) - len(data[floor:end].lstrip(b" \t\r\n"))
    place = floor + blank
    while place > floor and data[place - 1] in b" \t":
        place -= 1
    return place


def insert_block(document: Document, offset: int, text: str) -> Splice:
    """Puts a block after what stands before `offset`, with one blank line between (none between items of one list)."""
    data = document.data
    ending = document.ending
    place = end_of_text(data, 0, offset)
    block = with_ending(text.strip("\r\n"), ending)
    if not data[:place].removeprefix(BOM):
        return Splice(place, place, block + ending + ending if data[place:].strip() else block)
    last = data[max(data.rfind(b"\n", 0, place), data.rfind(b"\r", 0, place)) + 1 : place]
    gap = ending if _continues(last, block) else ending + ending
    return Splice(place, place, gap + block)


def _continues(last: bytes, block: bytes) -> bool:
    """Whether a block goes on with the list or table that the line before it belongs to."""
    item, following = _LIST_ITEM.match(last), _LIST_ITEM.match(block)
    if item and following:
        return item[1][-1:] == following[1][-1:]
    return last.lstrip().startswith(b"|") and block.lstrip().startswith(b"|")


def remove_block(document: Document, start: int, end: int) -> Splice:
    """Takes out [start, end) with the blank lines before it; the blank lines that end it stay.

    Where nothing stands before it, the blank lines after it go instead.
    """
    data = document.data
    place = end_of_text(data, 0, start)
    if not data[:place].removeprefix(BOM):
        return Splice(start, end, b"")
    return Splice(place, end_of_text(data, place, end), b"")
