"""Edits: splices of the bytes of one document, checked by parsing the result.

An edit replaces spans of bytes. It never renders a document, so bytes outside the spans do not change. The
result is parsed again: every section that the edit does not target must be unchanged.

New text is inserted after the last line that is not blank, before the blank lines that end a section. Text is
removed together with the blank lines before it. So adding a section and removing it restores the same bytes.
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
from workspace.markdown.lines import BLANK, BOM, LIST_MARKER_BYTES, encode_with_ending, normalize_line_endings
from workspace.markdown.outline import read_closed_outline, would_absorb_headings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.markdown.attribute_lists import AnchorForm


class StructureChanged(WorkspaceError):
    """An error: an edit would change a section that it does not target, or its text would not stay separate.

    For example, the new text or the text before it has a code fence that is not closed.
    """

    code = "STRUCTURE_CHANGED"


@dataclass(frozen=True, slots=True)
class Splice:
    """The bytes [start, end) of the old text, and their replacement."""

    start: int
    end: int
    replacement: bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """The splices of one operation, the fields of its response, and a one-line summary for the commit.

    `renamed_position` is the position of the one section whose title may change. With
    `may_change_front_matter`, front matter may be added or removed.
    """

    splices: tuple[Splice, ...]
    result: Mapping[str, object]
    summary: str
    hints: tuple[str, ...] = ()
    renamed_position: int | None = None
    may_change_front_matter: bool = False


@dataclass(frozen=True, slots=True)
class EditContext:
    """The values that an operation gets from its caller: the form of new anchors, and the UTC date (ISO).

    With `is_anchor_optional`, new headings of a document whose headings have no anchors have none either.
    """

    anchor_form: AnchorForm
    today: str
    is_anchor_optional: bool = False

    def choose_form(self, document: Document) -> AnchorForm | None:
        """Return the form of anchors on new headings of a document; None if they have no anchors."""
        if document.anchor_form is not None:
            return document.anchor_form
        has_sections = any(not section.is_preamble for section in document.sections)
        return None if self.is_anchor_optional and has_sections else self.anchor_form


def apply_splices(data: bytes, splices: Iterable[Splice]) -> bytes:
    """Return a text after splices in any order. Raises ValueError if they overlap."""
    parts: list[bytes] = []
    position = 0
    for splice in _sort_splices(splices):
        if splice.start < position:
            raise ValueError("an edit's splices overlap")
        parts += (data[position : splice.start], splice.replacement)
        position = splice.end
    parts.append(data[position:])
    return b"".join(parts)


def _sort_splices(splices: Iterable[Splice]) -> list[Splice]:
    return sorted(splices, key=lambda splice: (splice.start, splice.end))


def apply_edit(document: Document, edit: Edit) -> Document:
    """Return the document after an edit.

    Raises StructureChanged if a section that the edit does not target would change.
    """
    splices = _sort_splices(edit.splices)
    edited_document = Document.parse(apply_splices(document.data, splices), document.path)
    if edited_document.front_matter_lines != document.front_matter_lines and not edit.may_change_front_matter:
        raise StructureChanged(
            f"the new text would be read as front matter of {document.path}",
            fix="Begin the text with a line other than `---`.",
            section=None,
        )
    _check_structure(document, edited_document, splices, edit.renamed_position)
    return edited_document


def _check_structure(
    old: Document, new: Document, splices: Sequence[Splice], renamed_position: int | None
) -> None:
    """Raise StructureChanged unless the sections outside the splices keep heading, level, parent and text.

    Their addresses must be equal too, unless a section was removed, because its siblings may be renumbered.
    """
    _check_preamble(old, new, splices, renamed_position)
    old_headings = [item for item in old.sections if item.has_heading]
    replaced_spans = _ReplacedSpans(splices)
    before = [item for item in old_headings if not replaced_spans.contains(item.heading_start)]
    inserted_spans = _find_replacement_spans(splices)
    after = [
        item
        for item in new.sections
        if item.has_heading and not _contains(inserted_spans, item.heading_start)
    ]
    if len(before) != len(after):
        raise _make_structure_error(old, before[len(after)] if len(before) > len(after) else None)
    positions = {item.position: match.position for item, match in zip(before, after, strict=True)}
    has_all_sections = len(before) == len(old_headings)
    for item, match in zip(before, after, strict=True):
        parent = None if item.parent is None else positions.get(item.parent)
        if (
            replaced_spans.map_offset(item.heading_start) != match.heading_start
            or item.level != match.level
            or parent != match.parent
            or (item.title != match.title and item.position != renamed_position)
            or (item.address != match.address and has_all_sections)
            or (not replaced_spans.touches(item) and old.source(item).rstrip() != new.source(match).rstrip())
        ):
            raise _make_structure_error(old, item)


def check_same_sections(old: Document, new: Document, splices: Iterable[Splice]) -> None:
    """Raise StructureChanged if a section was added or removed, or changed its level, parent or address.

    Unlike `apply_edit`, this function also compares sections within the splices, where a title may change. A
    preamble without a heading may be added or removed.
    """
    replaced_spans = _ReplacedSpans(_sort_splices(splices))
    before = [item for item in old.sections if item.has_heading]
    after = [item for item in new.sections if item.has_heading]
    for item, match in zip(before, after, strict=False):
        is_moved = replaced_spans.map_offset(item.heading_start) != match.heading_start
        if (
            (item.level, item.address) != (match.level, match.address)
            or (is_moved and not replaced_spans.contains(item.heading_start))
            or (item.title != match.title and not replaced_spans.touches(item))
        ):
            raise _make_structure_error(old, item)
    if len(before) != len(after) or old.front_matter_lines != new.front_matter_lines:
        raise _make_structure_error(old, before[len(after)] if len(before) > len(after) else None)


def _check_preamble(
    old: Document, new: Document, splices: Sequence[Splice], renamed_position: int | None
) -> None:
    """Raise StructureChanged if a preamble without a heading changes outside the splices.

    `_check_structure` cannot find such a preamble, because it matches sections by their heading lines.
    """
    before, after = old.preamble, new.preamble
    if before is None or before.has_heading:
        return
    # Text inserted into an empty preamble follows the front matter directly, before the blank lines.
    floor = len(old.data[: before.start].rstrip())
    if any(splice.start <= before.end and splice.end >= floor for splice in splices):
        return
    if after is None and before.position == renamed_position and not old.source(before).strip():
        return  # the preamble was only the title in the front matter
    if (
        after is None
        or (before.title != after.title and before.position != renamed_position)
        or old.source(before).rstrip() != new.source(after).rstrip()
    ):
        raise _make_structure_error(old, before)


class _ReplacedSpans:
    """The old spans that the ordered splices of an edit replace."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._spans = [(splice.start, splice.end) for splice in splices]
        self._ends = [splice.end for splice in splices]
        self._size_changes = [0, *accumulate(len(s.replacement) - (s.end - s.start) for s in splices)]

    def map_offset(self, offset: int) -> int:
        """Return the offset after the edit of a byte that is not replaced."""
        return offset + self._size_changes[bisect_right(self._ends, offset)]

    def contains(self, offset: int) -> bool:
        """Return True if a byte is replaced."""
        return _contains(self._spans, offset)

    def touches(self, section: Section) -> bool:
        """Return True if a splice is in a section, or directly before or after it."""
        index = bisect_left(self._ends, section.start)
        return index < len(self._spans) and self._spans[index][0] <= section.end


def _find_replacement_spans(splices: Sequence[Splice]) -> list[tuple[int, int]]:
    """Return the spans of the replacements in the new text."""
    spans: list[tuple[int, int]] = []
    size_change = 0
    for splice in splices:
        start = splice.start + size_change
        spans.append((start, start + len(splice.replacement)))
        size_change += len(splice.replacement) - (splice.end - splice.start)
    return spans


def _contains(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return True if one of the ordered spans, which do not overlap, contains a byte."""
    index = bisect_right(spans, offset, key=lambda span: span[0])
    return index > 0 and offset < spans[index - 1][1]


def _make_structure_error(document: Document, section: Section | None) -> StructureChanged:
    changed_part = f"the section '{section.address}'" if section else "the headings"
    return StructureChanged(
        f"this edit would also change {changed_part} of {document.path}, which it does not target",
        fix="Close every code fence (```) and comment (<!-- -->) in the content and before it, and nest "
        "headings below the section's own level.",
        section=section.address if section else None,
    )


_LIST_ITEM = re.compile(rb"[ \t]*(%b)[ \t]" % LIST_MARKER_BYTES)


def find_text_end(data: bytes, floor: int, end: int) -> int:
    """Return the end of the last line of [floor, end) that is not blank, or `floor`."""
    position = floor + len(data[floor:end].rstrip(BLANK))
    if position == floor:
        return floor
    while position < end and data[position] in b" \t":
        position += 1
    return position


def find_text_start(data: bytes, floor: int, end: int) -> int:
    """Return the start of the first line of [floor, end) that is not blank, or `end`."""
    blank_size = len(data[floor:end]) - len(data[floor:end].lstrip(BLANK))
    position = floor + blank_size
    while position > floor and data[position - 1] in b" \t":
        position -= 1
    return position


def make_insertion_splice(document: Document, offset: int, text: str) -> Splice:
    """Return the splice that inserts a block after the text before `offset`, separated by a blank line.

    There is no blank line between items of one list or rows of one table. Raises StructureChanged if the
    document ends inside an open code fence, comment or HTML block, which would absorb the block.
    """
    data, ending = document.data, document.line_ending
    position = find_text_end(data, 0, offset)
    block = encode_with_ending(text.strip("\n"), ending)
    if not data[:position].removeprefix(BOM):
        return Splice(position, position, block + ending + (ending if data[position:].strip(BLANK) else b""))
    if offset == len(data) and document.sections:
        _check_all_blocks_closed(document, document.sections[-1])
    last_line = data[max(data.rfind(b"\n", 0, position), data.rfind(b"\r", 0, position)) + 1 : position]
    gap = ending * (1 if _continues_block(last_line, block) else 2)
    if anchors.is_anchor_line(last_line.decode("utf-8", "replace")):
        # With only one blank line, the anchor at the end of the text would belong to the new heading.
        gap = ending * 3
    return Splice(position, position, gap + block + find_needed_blank_line(document, text, position, offset))


def find_needed_blank_line(document: Document, text: str, position: int, end: int) -> bytes:
    """Return the blank line that separates the text at `position` from the heading at `end`.

    Return b"" if a blank line exists, or if the heading is parsed as a heading without it.
    """
    section = _find_section_at_heading(document, end)
    if section is None or len(document.data[position:end].splitlines()) > 1:
        return b""
    heading = normalize_line_endings(document.text(section.start, section.body_start))
    return document.line_ending if would_absorb_headings(text, heading) else b""


def make_removal_splice(document: Document, start: int, end: int) -> Splice:
    """Return the splice that removes the block [start, end) with the blank lines before it.

    The blank lines at the end of the range remain. At the start of the document, the full range is removed.
    """
    data = document.data
    position = find_text_end(data, 0, start)
    if not data[:position].removeprefix(BOM):
        return Splice(start, end, b"")
    text_end = find_text_end(data, position, end)
    before = next((item for item in document.sections if item.start <= position and item.end == start), None)
    if before is None:
        return Splice(position, text_end, b"")
    text = normalize_line_endings(document.text(before.start, position))
    return Splice(position, text_end, find_needed_blank_line(document, text, text_end, end))


def _find_section_at_heading(document: Document, offset: int) -> Section | None:
    return next((item for item in document.sections if item.start == offset and item.has_heading), None)


def _check_all_blocks_closed(document: Document, section: Section) -> None:
    """Raise StructureChanged if a section ends inside an open block."""
    if read_closed_outline(normalize_line_endings(document.text(section.start, section.end))) is None:
        raise StructureChanged(
            f"{document.path} ends inside an open code fence, comment or HTML block, "
            "which would absorb the new text",
            fix=f"Close the block first: rewrite the text of '{section.address}' with update_content.",
            section=section.address,
        )


def _continues_block(last_line: bytes, block: bytes) -> bool:
    """Return True if a block continues the list or table of the line before it."""
    old_item, new_item = _LIST_ITEM.match(last_line), _LIST_ITEM.match(block)
    if old_item and new_item:
        return old_item[1][-1:] == new_item[1][-1:]
    return last_line.lstrip().startswith(b"|") and block.lstrip().startswith(b"|")
