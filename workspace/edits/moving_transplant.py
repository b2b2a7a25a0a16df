"""A section's bytes taken out of one place and put into another, with the blank lines that part it.

A section takes the blank lines behind it along, the last one of a document those before it. So what stood
around it is parted as it was, and moving it back gives back the first bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace import markdown
from workspace.document.spacing import end_of_text
from workspace.document.splices import Splice
from workspace.edits.content import with_newlines
from workspace.links.survival import Piece
from workspace.markdown import anchors
from workspace.markdown.lines import BOM, LINE_END_BYTES, line_ending

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document, Section


class Cutting(NamedTuple):
    """A section's text [start, end), the splice that takes it out, and the blank lines that go with it."""

    start: int
    end: int
    splice: Splice
    gap: bytes


class Transplant(NamedTuple):
    """Bytes for another place: where each run of them stood, and at which of these bytes it stands now."""

    data: bytes
    runs: tuple[tuple[int, int, int], ...]

    def pieces(self, old_path: str, new_path: str, new_start: int) -> tuple[Piece, ...]:
        """What was kept, if these bytes stand at `new_start` of a document now."""
        return tuple(Piece(old_path, a, b, new_path, new_start + place) for a, b, place in self.runs)


def cut(document: Document, section: Section, left: bytes = b"") -> Cutting:
    """Takes a section out with all that stands below it, and leaves a text in its place."""
    data, start, end = document.data, section.start, section.tree_end
    before = end_of_text(data, 0, start)
    text_end = end_of_text(data, start, end)
    if end == len(data):
        if not data[:before].removeprefix(BOM):
            return Cutting(
                start, text_end, Splice(start, end, left and left + document.ending), document.ending * 2
            )
        gap = data[before:start]
        return Cutting(start, text_end, Splice(before, text_end, left and document.ending * 2 + left), gap)
    gap = data[text_end:end]
    if left:
        # A definition does not interrupt a paragraph (CommonMark §4.7).
        first = document.ending if len(LINE_END_BYTES.findall(data[before:start])) == 1 else b""
        parting = _needed(left, _heading_at(document, end), gap, document.ending)
        return Cutting(start, text_end, Splice(start, text_end, first + left + parting), gap)
    parting = _needed(
        _text_before(document, start), _heading_at(document, end), data[before:start], document.ending
    )
    return Cutting(start, text_end, Splice(start, end, parting), gap)


def put_in(
    document: Document, offset: int, block: bytes, heading: bytes, gap: bytes, ending: bytes
) -> tuple[Splice, int]:
    """The splice that puts a block in at a section's start or end, and where in it the block begins.

    `heading` is what the block begins with; `gap` are the blank lines that part it from what stands behind
    it, or before it at the document's end. Lines that are added end in `ending`.
    """
    data = document.data
    gap = ended(gap, ending)
    before = end_of_text(data, 0, offset)
    is_first = not data[:before].removeprefix(BOM)
    if is_first and not data[offset:].strip():
        return Splice(offset, len(data), block + ending), 0
    if offset < len(data) or is_first:
        first = _needed(_text_before(document, offset), heading, data[before:offset], ending)
        gap += _needed(block, _heading_at(document, offset), gap, ending)
        return Splice(offset, offset, first + block + gap), len(first)
    gap += _needed(_text_before(document, offset), heading, gap, ending)
    return Splice(before, before, gap + block), len(gap)


def transplanted(data: bytes, start: int, end: int, splices: Iterable[Splice], ending: bytes) -> Transplant:
    """The bytes [start, end) after splices within them, their lines ended as where they go.

    They stay as they are where the text that they come from ends its first line so.
    """
    converted = line_ending(data) != ending
    parts: list[bytes] = []
    runs: list[tuple[int, int, int]] = []
    position, size = start, 0

    def keep(stop: int) -> None:
        nonlocal position, size
        while position < stop:
            found = LINE_END_BYTES.search(data, position, stop) if converted else None
            run = found.start() if found else stop
            if position < run:
                runs.append((position, run, size))
                parts.append(data[position:run])
                size += run - position
            if found:
                parts.append(ending)
                size += len(ending)
            position = found.end() if found else stop

    for splice in sorted(splices, key=lambda item: (item.start, item.end)):
        keep(splice.start)
        parts.append(splice.replacement)
        size += len(splice.replacement)
        position = splice.end
    keep(end)
    return Transplant(b"".join(parts), tuple(runs))


def ended(data: bytes, ending: bytes) -> bytes:
    """A text whose lines end as those of the document that it goes to."""
    return LINE_END_BYTES.sub(ending, data)


def _needed(before: bytes, heading: bytes, gap: bytes, ending: bytes) -> bytes:
    """The line ends that a gap lacks, so that a heading behind it is no part of what stands before it."""
    ends = len(LINE_END_BYTES.findall(gap))
    last = before.rstrip(b" \t\r\n").replace(b"\r", b"\n").rpartition(b"\n")[2]
    if last and anchors.is_anchor_line(last.decode("utf-8", "replace")):
        # An anchor that nothing follows would name the heading that comes one blank line after it.
        return ending * max(0, 3 - ends)
    if not ends and last:
        return ending * 2
    if ends > 1 or not last or not heading:
        return b""
    return ending if markdown.absorbs(_as_text(before), _as_text(heading)) else b""


def _text_before(document: Document, offset: int) -> bytes:
    """The own text of the section that stands before an offset at which another begins."""
    before = next((item for item in reversed(document.sections) if item.start < offset), None)
    return document.data[before.start if before else 0 : offset]


def _heading_at(document: Document, offset: int) -> bytes:
    following = next((item for item in document.sections if item.start >= offset), None)
    return document.data[following.start : following.body] if following else b""


def _as_text(data: bytes) -> str:
    return with_newlines(data.decode("utf-8", "replace")).rstrip("\n")
