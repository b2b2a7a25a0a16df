"""Where new text goes: after the last line that says something, so that blank lines stay where they were.

Text is put in before the blank lines that end a section, and taken out together with the blank lines before
it. So adding a section and removing it gives back the first bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace import markdown
from workspace.document.splices import Splice, StructureChanged
from workspace.edits.content import with_newlines
from workspace.markdown import anchors
from workspace.markdown.lines import BLANK, BOM, LIST_MARKER_BYTES, with_ending

if TYPE_CHECKING:
    from workspace.document.document import Document, Section

_LIST_ITEM = re.compile(rb"[ \t]*(%b)[ \t]" % LIST_MARKER_BYTES)


def end_of_text(data: bytes, floor: int, end: int) -> int:
    """The byte after the last line of [floor, end) that is not blank, less its line ending; else `floor`."""
    place = floor + len(data[floor:end].rstrip(BLANK))
    if place == floor:
        return floor
    while place < end and data[place] in b" \t":
        place += 1
    return place


def start_of_text(data: bytes, floor: int, end: int) -> int:
    """The byte at which the first line of [floor, end) that is not blank begins; `end` if none is."""
    blank = len(data[floor:end]) - len(data[floor:end].lstrip(BLANK))
    place = floor + blank
    while place > floor and data[place - 1] in b" \t":
        place -= 1
    return place


def insert_block(document: Document, offset: int, text: str) -> Splice:
    """Puts a block after what stands before `offset`, with a blank line between (none within one list).

    Raises StructureChanged where the document ends inside an open code fence, which would take the block in.
    """
    data, ending = document.data, document.ending
    place = end_of_text(data, 0, offset)
    block = with_ending(text.strip("\n"), ending)
    if not data[:place].removeprefix(BOM):
        return Splice(place, place, block + ending + (ending if data[place:].strip(BLANK) else b""))
    if offset == len(data) and document.sections:
        _check_closed(document, document.sections[-1])
    last = data[max(data.rfind(b"\n", 0, place), data.rfind(b"\r", 0, place)) + 1 : place]
    gap = ending * (1 if _continues(last, block) else 2)
    if anchors.is_anchor_line(last.decode("utf-8", "replace")):
        # An anchor that nothing follows would name the heading that comes one blank line after it.
        gap = ending * 3
    return Splice(place, place, gap + block + blank_line(document, text, place, offset))


def blank_line(document: Document, text: str, place: int, end: int) -> bytes:
    """The blank line that a text needs at `place`, so that the heading at `end` does not become a part of it.

    Where a blank line stands already, and where the heading keeps its own line, it is none.
    """
    following = _heading_at(document, end)
    if following is None or len(document.data[place:end].splitlines()) > 1:
        return b""
    heading = with_newlines(document.text(following.start, following.body))
    return document.ending if markdown.absorbs(text, heading) else b""


def remove_block(document: Document, start: int, end: int) -> Splice:
    """Takes out [start, end) with the blank lines before it; the blank lines that end it stay.

    Where nothing stands before it, the blank lines after it go instead.
    """
    data = document.data
    place = end_of_text(data, 0, start)
    if not data[:place].removeprefix(BOM):
        return Splice(start, end, b"")
    stop = end_of_text(data, place, end)
    before = next((item for item in document.sections if item.start <= place and item.end == start), None)
    if before is None:
        return Splice(place, stop, b"")
    return Splice(
        place, stop, blank_line(document, with_newlines(document.text(before.start, place)), stop, end)
    )


def _heading_at(document: Document, offset: int) -> Section | None:
    found = (item for item in document.sections if item.start == offset and item.has_heading)
    return next(found, None)


def _check_closed(document: Document, section: Section) -> None:
    if markdown.closed_outline(with_newlines(document.text(section.start, section.end))) is None:
        raise StructureChanged(
            f"{document.path} ends inside a code fence, comment or HTML block that is still open, "
            "which would take in what is added after it",
            fix=f"Close it first: rewrite the text of '{section.address}' with update_content.",
            section=section.address,
        )


def _continues(last: bytes, block: bytes) -> bool:
    """Whether a block goes on with the list or table that the line before it belongs to."""
    item, following = _LIST_ITEM.match(last), _LIST_ITEM.match(block)
    if item and following:
        return item[1][-1:] == following[1][-1:]
    return last.lstrip().startswith(b"|") and block.lstrip().startswith(b"|")
