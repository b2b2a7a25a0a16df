"""Edits: bytes replaced in one document, checked by parsing the result.

An edit names spans and what goes there. It never parses and renders, so bytes outside the spans stay as they
were. After it, the document is parsed again: every section that the edit did not name must stand where it
stood.

Where new text goes: after the last line that says something, so that blank lines stay where they were.

Text is put in before the blank lines that end a section, and taken out together with the blank lines before
it. So adding a section and removing it gives back the first bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from workspace.document.document import Document
from workspace.errors import WorkspaceError
from workspace.markdown import anchors
from workspace.markdown.lines import BLANK, BOM, LIST_MARKER_BYTES, decode_with_newlines, encode_with_ending
from workspace.markdown.outline import read_closed_outline, would_absorb_headings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.markdown.attribute_lists import AnchorForm


class StructureChanged(WorkspaceError):
    """The edit would change a section that it did not name: an open code fence takes it in, say."""

    code = "STRUCTURE_CHANGED"


@dataclass(frozen=True, slots=True)
class Splice:
    """The bytes [start, end) of the old text, and what stands there afterwards."""

    start: int
    end: int
    replacement: bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """The splices of one operation, what it answers, and one line that says what happened.

    `renamed` is the position of the one section whose title may change; `is_front_matter` says that
    front matter may come or go.
    """

    splices: tuple[Splice, ...]
    answer: Mapping[str, object]
    summary: str
    hints: tuple[str, ...] = ()
    renamed: int | None = None
    is_front_matter: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """The choices that an edit's caller makes: the form of new anchors, and today's date (UTC, ISO 8601)."""

    form: AnchorForm
    today: str


def apply_splices(data: bytes, splices: Iterable[Splice]) -> bytes:
    """Return a text after splices, which may come in any order. Raises ValueError if they overlap."""
    parts: list[bytes] = []
    position = 0
    for splice in _in_order(splices):
        if splice.start < position:
            raise ValueError("an edit's splices overlap")
        parts += (data[position : splice.start], splice.replacement)
        position = splice.end
    parts.append(data[position:])
    return b"".join(parts)


def _in_order(splices: Iterable[Splice]) -> list[Splice]:
    return sorted(splices, key=lambda splice: (splice.start, splice.end))


def apply_edit(document: Document, edit: Edit) -> Document:
    """Return the document after an edit.

    Raises StructureChanged if a section that it did not name would change.
    """
    splices = _in_order(edit.splices)
    changed = Document.parse(apply_splices(document.data, splices), document.path)
    if changed.front_matter_lines != document.front_matter_lines and not edit.is_front_matter:
        raise StructureChanged(
            f"this edit would be read as front matter of {document.path}",
            fix="Begin the text with something other than a `---` line.",
            section=None,
        )
    _check_structure(document, changed, splices, edit.renamed)
    return changed


def _check_structure(old: Document, new: Document, splices: Sequence[Splice], renamed: int | None) -> None:
    """Compare the sections outside the splices: same heading, level, parent and text, and no others.

    Addresses stay too, unless a section was taken out (the siblings of a removed one may be numbered anew).
    """
    _check_introduction(old, new, splices, renamed)
    headed = [item for item in old.sections if item.has_heading]
    replaced = _Replaced(splices)
    kept = [item for item in headed if not replaced.holds(item.heading_start)]
    written = _find_replacements(splices)
    stayed = [item for item in new.sections if item.has_heading and not _holds(written, item.heading_start)]
    if len(kept) != len(stayed):
        raise _structure_error(old, kept[len(stayed)] if len(kept) > len(stayed) else None)
    twins = {item.position: twin.position for item, twin in zip(kept, stayed, strict=True)}
    nothing_removed = len(kept) == len(headed)
    for item, twin in zip(kept, stayed, strict=True):
        parent = None if item.parent is None else twins.get(item.parent)
        if (
            replaced.offset(item.heading_start) != twin.heading_start
            or item.level != twin.level
            or parent != twin.parent
            or (item.title != twin.title and item.position != renamed)
            or (item.address != twin.address and nothing_removed)
            or (not replaced.touches(item) and old.source(item).rstrip() != new.source(twin).rstrip())
        ):
            raise _structure_error(old, item)


def check_same_sections(old: Document, new: Document, splices: Iterable[Splice]) -> None:
    """Compare all sections one by one: same level, parent and address, and none that came or went.

    Unlike `apply_edit` it does so within the splices too; there a title may change. A preamble without a
    heading may come and go. Raises StructureChanged.
    """
    replaced = _Replaced(_in_order(splices))
    before = [item for item in old.sections if item.has_heading]
    after = [item for item in new.sections if item.has_heading]
    for item, twin in zip(before, after, strict=False):
        moved = replaced.offset(item.heading_start) != twin.heading_start
        if (
            (item.level, item.address) != (twin.level, twin.address)
            or (moved and not replaced.holds(item.heading_start))
            or (item.title != twin.title and not replaced.touches(item))
        ):
            raise _structure_error(old, item)
    if len(before) != len(after) or old.front_matter_lines != new.front_matter_lines:
        raise _structure_error(old, before[len(after)] if len(before) > len(after) else None)


def _check_introduction(old: Document, new: Document, splices: Sequence[Splice], renamed: int | None) -> None:
    """Compare a preamble without a heading, which has no line of its own that could be looked for."""
    before, after = old.preamble, new.preamble
    if before is None or before.has_heading:
        return
    # What is put into an empty one stands right after the front matter's last line, before its blank lines.
    floor = len(old.data[: before.start].rstrip())
    if any(splice.start <= before.end and splice.end >= floor for splice in splices):
        return
    if after is None and before.position == renamed and not old.source(before).strip():
        return  # it was there for the title in the front matter alone
    if (
        after is None
        or (before.title != after.title and before.position != renamed)
        or old.source(before).rstrip() != new.source(after).rstrip()
    ):
        raise _structure_error(old, before)


class _Replaced:
    """The old spans that an edit's ordered splices replace."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._spans = [(splice.start, splice.end) for splice in splices]
        self._ends = [splice.end for splice in splices]
        self._growth = [0, *accumulate(len(s.replacement) - (s.end - s.start) for s in splices)]

    def offset(self, offset: int) -> int:
        """Return where a byte that is not replaced stands afterwards."""
        return offset + self._growth[bisect_right(self._ends, offset)]

    def holds(self, offset: int) -> bool:
        """Return True if a byte is replaced."""
        return _holds(self._spans, offset)

    def touches(self, section: Section) -> bool:
        """Return True if something is replaced in a section, or right before or after it."""
        place = bisect_left(self._ends, section.start)
        return place < len(self._spans) and self._spans[place][0] <= section.end


def _find_replacements(splices: Sequence[Splice]) -> list[tuple[int, int]]:
    """Return where the replacements stand in the new text."""
    spans: list[tuple[int, int]] = []
    growth = 0
    for splice in splices:
        start = splice.start + growth
        spans.append((start, start + len(splice.replacement)))
        growth += len(splice.replacement) - (splice.end - splice.start)
    return spans


def _holds(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return True if one of some spans in order, none of which overlap, holds a byte."""
    place = bisect_right(spans, offset, key=lambda span: span[0])
    return place > 0 and offset < spans[place - 1][1]


def _structure_error(document: Document, section: Section | None) -> StructureChanged:
    where = f"the section '{section.address}'" if section else "the headings"
    return StructureChanged(
        f"this edit would also change {where} of {document.path}, which it does not name",
        fix="Close every code fence (```) and comment (<!-- -->) in the content and before it, and nest "
        "headings below the section's own level.",
        section=section.address if section else None,
    )


_LIST_ITEM = re.compile(rb"[ \t]*(%b)[ \t]" % LIST_MARKER_BYTES)


def find_text_end(data: bytes, floor: int, end: int) -> int:
    """Return the end of the last line of [floor, end) that is not blank, or `floor`."""
    place = floor + len(data[floor:end].rstrip(BLANK))
    if place == floor:
        return floor
    while place < end and data[place] in b" \t":
        place += 1
    return place


def find_text_start(data: bytes, floor: int, end: int) -> int:
    """Return the byte at which the first line of [floor, end) that is not blank begins; `end` if none is."""
    blank = len(data[floor:end]) - len(data[floor:end].lstrip(BLANK))
    place = floor + blank
    while place > floor and data[place - 1] in b" \t":
        place -= 1
    return place


def insert_block(document: Document, offset: int, text: str) -> Splice:
    """Put a block after what stands before `offset`, with a blank line between (none within one list).

    Raises StructureChanged where the document ends inside an open code fence, which would take the block in.
    """
    data, ending = document.data, document.ending
    place = find_text_end(data, 0, offset)
    block = encode_with_ending(text.strip("\n"), ending)
    if not data[:place].removeprefix(BOM):
        return Splice(place, place, block + ending + (ending if data[place:].strip(BLANK) else b""))
    if offset == len(data) and document.sections:
        _check_closed(document, document.sections[-1])
    last = data[max(data.rfind(b"\n", 0, place), data.rfind(b"\r", 0, place)) + 1 : place]
    gap = ending * (1 if _continues(last, block) else 2)
    if anchors.is_anchor_line(last.decode("utf-8", "replace")):
        # An anchor that nothing follows would name the heading that comes one blank line after it.
        gap = ending * 3
    return Splice(place, place, gap + block + find_needed_blank_line(document, text, place, offset))


def find_needed_blank_line(document: Document, text: str, place: int, end: int) -> bytes:
    """Return the blank line needed at `place` to keep the heading at `end` separate from the text before.

    Where a blank line stands already, and where the heading keeps its own line, it is none.
    """
    following = _heading_at(document, end)
    if following is None or len(document.data[place:end].splitlines()) > 1:
        return b""
    heading = decode_with_newlines(document.text(following.start, following.body))
    return document.ending if would_absorb_headings(text, heading) else b""


def remove_block(document: Document, start: int, end: int) -> Splice:
    """Take out [start, end) with the blank lines before it; the blank lines that end it stay.

    Where nothing stands before it, the blank lines after it go instead.
    """
    data = document.data
    place = find_text_end(data, 0, start)
    if not data[:place].removeprefix(BOM):
        return Splice(start, end, b"")
    stop = find_text_end(data, place, end)
    before = next((item for item in document.sections if item.start <= place and item.end == start), None)
    if before is None:
        return Splice(place, stop, b"")
    return Splice(
        place,
        stop,
        find_needed_blank_line(document, decode_with_newlines(document.text(before.start, place)), stop, end),
    )


def _heading_at(document: Document, offset: int) -> Section | None:
    found = (item for item in document.sections if item.start == offset and item.has_heading)
    return next(found, None)


def _check_closed(document: Document, section: Section) -> None:
    if read_closed_outline(decode_with_newlines(document.text(section.start, section.end))) is None:
        raise StructureChanged(
            f"{document.path} ends inside a code fence, comment or HTML block that is still open, "
            "which would take in what is added after it",
            fix=f"Close it first: rewrite the text of '{section.address}' with update_content.",
            section=section.address,
        )


def _continues(last: bytes, block: bytes) -> bool:
    """Return True if a block goes on with the list or table that the line before it belongs to."""
    item, following = _LIST_ITEM.match(last), _LIST_ITEM.match(block)
    if item and following:
        return item[1][-1:] == following[1][-1:]
    return last.lstrip().startswith(b"|") and block.lstrip().startswith(b"|")
