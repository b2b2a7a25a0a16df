"""Moves of a section and its subsections: the bytes are moved, then the result is parsed and checked.

A section moves with the blank lines after it; the last section of a document moves with those before it. The
text around it thus has the same blank lines as before, and moving the section back restores the old bytes.

Moved sections keep their addresses, except where another section uses the same address.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.heading_text import rewrite_heading
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit, find_text_end
from workspace.edits.content import MAX_LEVEL, LevelConflict, collect_anchor_names
from workspace.edits.moved_definitions import NO_LABEL_UPDATES, find_copied_links, update_labels
from workspace.links.offset_map import OffsetMap, PreservedSpan
from workspace.markdown import anchors
from workspace.markdown.lines import BOM, LINE_END_BYTES, detect_line_ending, normalize_line_endings
from workspace.markdown.outline import would_absorb_headings
from workspace.markdown.slugs import UniqueNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.edits.section_place import TargetPosition
    from workspace.links.offset_map import PreservedSpan
    from workspace.markdown.attribute_lists import AnchorForm


class CutSection(NamedTuple):
    """A section's text [start, end), the splice that removes it, and the blank lines that move with it."""

    start: int
    end: int
    splice: Splice
    gap: bytes


class MovedText(NamedTuple):
    """Moved bytes and their unchanged runs. A run is its old start, its old end, and its start in `data`."""

    data: bytes
    runs: tuple[tuple[int, int, int], ...]

    def list_preserved_spans(self, old_path: str, new_path: str, new_start: int) -> tuple[PreservedSpan, ...]:
        """Return the preserved spans if these bytes are at `new_start` of the document at `new_path`."""
        return tuple(
            PreservedSpan(old_path, start, end, new_path, new_start + position)
            for start, end, position in self.runs
        )


def cut_section(document: Document, section: Section, replacement: bytes = b"") -> CutSection:
    """Return the removal of a section with its subsections; `replacement` is inserted in its place."""
    data, start, end = document.data, section.start, section.tree_end
    previous_end = find_text_end(data, 0, start)
    text_end = find_text_end(data, start, end)
    if end == len(data):
        if not data[:previous_end].removeprefix(BOM):
            return CutSection(
                start,
                text_end,
                Splice(start, end, replacement and replacement + document.line_ending),
                document.line_ending * 2,
            )
        gap = data[previous_end:start]
        return CutSection(
            start,
            text_end,
            Splice(previous_end, text_end, replacement and document.line_ending * 2 + replacement),
            gap,
        )
    gap = data[text_end:end]
    if replacement:
        # A definition does not interrupt a paragraph (CommonMark §4.7).
        separator_before = (
            document.line_ending if len(LINE_END_BYTES.findall(data[previous_end:start])) == 1 else b""
        )
        separator_after = _find_missing_line_endings(
            replacement, _read_heading_at(document, end), gap, document.line_ending
        )
        return CutSection(
            start, text_end, Splice(start, text_end, separator_before + replacement + separator_after), gap
        )
    separator_after = _find_missing_line_endings(
        _read_text_before(document, start),
        _read_heading_at(document, end),
        data[previous_end:start],
        document.line_ending,
    )
    return CutSection(start, text_end, Splice(start, end, separator_after), gap)


def paste_block(
    document: Document, offset: int, block: bytes, heading: bytes, gap: bytes, ending: bytes
) -> tuple[Splice, int]:
    """Return the splice that inserts a block at a section's start or end, and the block's offset in it.

    `heading` is the beginning of the block. `gap` are the blank lines between the block and the text after
    it, or before it at the document's end. Added blank lines have the line ending `ending`.
    """
    data = document.data
    gap = convert_line_endings(gap, ending)
    previous_end = find_text_end(data, 0, offset)
    is_first = not data[:previous_end].removeprefix(BOM)
    if is_first and not data[offset:].strip():
        return Splice(offset, len(data), block + ending), 0
    if offset < len(data) or is_first:
        separator = _find_missing_line_endings(
            _read_text_before(document, offset), heading, data[previous_end:offset], ending
        )
        gap += _find_missing_line_endings(block, _read_heading_at(document, offset), gap, ending)
        return Splice(offset, offset, separator + block + gap), len(separator)
    gap += _find_missing_line_endings(_read_text_before(document, offset), heading, gap, ending)
    return Splice(previous_end, previous_end, gap + block), len(gap)


def move_text(data: bytes, start: int, end: int, splices: Iterable[Splice], ending: bytes) -> MovedText:
    """Return the bytes [start, end) after splices within them, with the line ending `ending`.

    The line endings do not change if `data` already uses `ending`.
    """
    is_converted = detect_line_ending(data) != ending
    parts: list[bytes] = []
    runs: list[tuple[int, int, int]] = []
    position, size = start, 0

    def copy_until(stop: int) -> None:
        nonlocal position, size
        while position < stop:
            match = LINE_END_BYTES.search(data, position, stop) if is_converted else None
            run = match.start() if match else stop
            if position < run:
                runs.append((position, run, size))
                parts.append(data[position:run])
                size += run - position
            if match:
                parts.append(ending)
                size += len(ending)
            position = match.end() if match else stop

    for splice in sorted(splices, key=lambda item: (item.start, item.end)):
        copy_until(splice.start)
        parts.append(splice.replacement)
        size += len(splice.replacement)
        position = splice.end
    copy_until(end)
    return MovedText(b"".join(parts), tuple(runs))


def convert_line_endings(data: bytes, ending: bytes) -> bytes:
    """Return a text with every line ending replaced by `ending`."""
    return LINE_END_BYTES.sub(ending, data)


def _find_missing_line_endings(text_before: bytes, heading: bytes, gap: bytes, ending: bytes) -> bytes:
    """Return the line endings that a gap needs to separate a heading from the text before it."""
    count = len(LINE_END_BYTES.findall(gap))
    last_line = text_before.rstrip(b" \t\r\n").replace(b"\r", b"\n").rpartition(b"\n")[2]
    if last_line and anchors.is_anchor_line(last_line.decode("utf-8", "replace")):
        # An anchor at the end of the text would belong to a heading one blank line after it.
        return ending * max(0, 3 - count)
    if not count and last_line:
        return ending * 2
    if count > 1 or not last_line or not heading:
        return b""
    return ending if would_absorb_headings(_decode(text_before), _decode(heading)) else b""


def _read_text_before(document: Document, offset: int) -> bytes:
    """Return the own text of the section that ends at an offset."""
    previous_section = next((item for item in reversed(document.sections) if item.start < offset), None)
    return document.data[previous_section.start if previous_section else 0 : offset]


def _read_heading_at(document: Document, offset: int) -> bytes:
    next_section = next((item for item in document.sections if item.start >= offset), None)
    return document.data[next_section.start : next_section.body] if next_section else b""


def _decode(data: bytes) -> str:
    return normalize_line_endings(data.decode("utf-8", "replace")).rstrip("\n")


class AddressPlan(NamedTuple):
    """The planned address of each moved section by its position, and new anchor names by old names."""

    addresses: Mapping[int, str]
    new_names: Mapping[str, str]


def plan_addresses(document: Document, sections: Sequence[Section], used_names: set[str]) -> AddressPlan:
    """Return the addresses of moved sections in a target whose names are `used_names`.

    A derived address begins with the address of the parent, so it changes with the parent.
    """
    names = [[name for name in (item.anchor, *item.aliases) if name] for item in sections]
    own_names = {item.address for item in sections}.union(*names)
    unused_names = UniqueNames("-", 1, used_names | own_names)
    new_names = {
        name: unused_names.make_unique(name)
        for name in dict.fromkeys(name for item_names in names for name in item_names if name in used_names)
    }
    addresses: dict[int, str] = {}
    for item in sections:
        if item.anchor:
            addresses[item.position] = new_names.get(item.anchor, item.anchor)
            continue
        parent = None if item.parent is None else document.sections[item.parent]
        new_parent = None if parent is None else addresses.get(parent.position, parent.address)
        has_new_parent = parent is not None and new_parent != parent.address
        if not has_new_parent and item.address not in used_names:
            addresses[item.position] = item.address
        else:
            addresses[item.position] = unused_names.make_unique(
                item.slug if new_parent is None else f"{new_parent}/{item.slug}"
            )
    return AddressPlan(addresses, new_names)


# Each round adds anchors at least one level deeper than the previous round.
_MAX_ROUNDS = 2 * MAX_LEVEL


class SectionMoveResult(NamedTuple):
    """The documents after a move, the new section, and the map of offsets.

    For a move within one document, `source` and `target` are equal.

    `pinned_addresses` are the full addresses that were written as anchors. `linked_labels` are words in
    brackets in the moved sections that became links, because the target defines these labels.
    """

    source: Document
    target: Document
    section: Section
    offset_map: OffsetMap
    pinned_addresses: tuple[str, ...]
    linked_labels: tuple[str, ...]


class _Draft(NamedTuple):
    """The documents after a move; the moved text is at [start, end) of the target."""

    source: Document
    target: Document
    start: int
    end: int
    preserved_spans: tuple[PreservedSpan, ...]


def move_section(
    source: Document,
    section: Section,
    target: Document,
    position: TargetPosition,
    forms: tuple[AnchorForm, AnchorForm],
    rules: LinkRules,
) -> SectionMoveResult:
    """Move a section. `forms` are the forms of new anchors in the source and in the target document.

    All other sections keep their addresses, levels and texts. The moved sections keep their addresses if
    these are unused in the target. `rules` are the rules for reading links.

    Raises StructureChanged, LevelConflict for a section that would be deeper than H6, and InvalidAddress for
    an address that cannot be written as an anchor.
    """
    return _Move(source, section, target, position, forms, rules).run()


def is_in_place(source: Document, section: Section, target: Document, position: TargetPosition) -> bool:
    """Return True if a section is already at a position; its level may differ."""
    return target is source and position.offset in (section.start, section.tree_end)


class _Move:
    """The move of one section, with the anchors that preserve addresses."""

    def __init__(
        self,
        source: Document,
        section: Section,
        target: Document,
        place: TargetPosition,
        forms: tuple[AnchorForm, AnchorForm],
        rules: LinkRules,
    ) -> None:
        self.source, self.section, self.target, self.place, self.forms = source, section, target, place, forms
        self.moved = (section, *source.descendants(section))
        self.shift = place.level - section.level
        self.rules = rules
        _check_depth(self.moved, self.shift)
        self.is_within = target is source
        self.is_in_place = is_in_place(source, section, target, place)
        self.address_plan = plan_addresses(
            source, self.moved, set() if self.is_within else collect_anchor_names(target)
        )
        self.labels = (
            NO_LABEL_UPDATES
            if self.is_in_place
            else update_labels(source, section, target, place.offset, rules)
        )
        # The splices of labels that change the words of a heading, by the position of its section.
        self.heading_splices: dict[int, list[Splice]] = {}
        for splice in self.labels.splices:
            item = self.moved[bisect_right(self.moved, splice.start, key=lambda item: item.start) - 1]
            if splice.start < item.body:
                self.heading_splices.setdefault(item.position, []).append(splice)
        self.pins: dict[int, str] = {}
        if section.anchor is None:
            self.pins[section.position] = self.address_plan.addresses[section.position]

    def run(self) -> SectionMoveResult:
        """Add anchors until each section has its planned address, and return the move result."""
        for _ in range(_MAX_ROUNDS):
            draft = self._make_draft()
            moved_sections = self._list_moved_sections(draft)
            lost_addresses = self._find_lost_addresses(draft, moved_sections)
            if not lost_addresses:
                return self._make_result(draft, moved_sections)
            if any(position in self.pins for position in lost_addresses):
                break
            self.pins |= lost_addresses
        raise StructureChanged(
            f"'{self.section.address}' cannot be moved there without another address for what stays",
            fix="Give the headings anchors by hand first.",
            section=self.section.address,
        )

    def _make_draft(self) -> _Draft:
        source, target, section = self.source, self.target, self.section
        inner_splices = self._make_inner_splices()
        outer_splices = [
            splice for position, name in self.pins.items() for splice in self._pin_remaining(position, name)
        ]
        if self.is_in_place:
            new_source = _apply(source, [*inner_splices, *outer_splices])
            start = section.start + _sum_growth(outer_splices, section.start)
            end = (
                section.tree_end
                + _sum_growth(outer_splices, section.start)
                + _sum_growth(inner_splices, section.tree_end)
            )
            preserved_spans = OffsetMap.of_splices(source, [*inner_splices, *outer_splices]).preserved_spans
            return _Draft(new_source, new_source, start, end, preserved_spans)
        ending = target.line_ending if b"\n" in target.data or b"\r" in target.data else source.line_ending
        cut_range = cut_section(
            source, section, convert_line_endings(self.labels.replacement, source.line_ending)
        )
        moved_text = move_text(source.data, cut_range.start, cut_range.end, inner_splices, ending)
        heading = move_text(
            source.data,
            cut_range.start,
            section.body,
            [item for item in inner_splices if item.end <= section.body],
            ending,
        )
        block = moved_text.data + (
            ending * 2 + convert_line_endings(self.labels.appended_text, ending)
            if self.labels.appended_text
            else b""
        )
        paste_splice, block_start = paste_block(
            target, self.place.offset, block, heading.data, cut_range.gap, ending
        )
        if self.is_within:
            splices = [cut_range.splice, paste_splice, *outer_splices]
            new_source = new_target = _apply(source, splices)
            preserved_spans = OffsetMap.of_splices(source, splices).preserved_spans
        else:
            splices = [paste_splice]
            new_target, new_source = (
                _apply(target, splices),
                _apply(source, [cut_range.splice, *outer_splices]),
            )
            preserved_spans = (
                *OffsetMap.of_splices(source, [cut_range.splice, *outer_splices]).preserved_spans,
                *OffsetMap.of_splices(target, splices).preserved_spans,
            )
        start = (
            paste_splice.start
            + block_start
            + _sum_growth([item for item in splices if item is not paste_splice], paste_splice.start)
        )
        all_preserved_spans = (
            *preserved_spans,
            *moved_text.list_preserved_spans(source.path, target.path, start),
        )
        return _Draft(new_source, new_target, start, start + len(block), all_preserved_spans)

    def _make_inner_splices(self) -> list[Splice]:
        """Return the splices in the moved text: labels, and headings at their new level with anchors."""
        heading_splices = {
            splice for splices_in_heading in self.heading_splices.values() for splice in splices_in_heading
        }
        splices = [splice for splice in self.labels.splices if splice not in heading_splices]
        for item in self.moved:
            splices += rewrite_heading(
                self.source,
                item,
                level=item.level + self.shift,
                anchor=self.pins.get(item.position),
                form=self.forms[1],
                names=self.address_plan.new_names,
                title_splices=self.heading_splices.get(item.position, ()),
            )
        return splices

    def _pin_remaining(self, position: int, name: str) -> list[Splice]:
        """Return the splices that add an anchor to a section that is not moved."""
        item = self.source.sections[position]
        if self.section.start <= item.start < self.section.tree_end:
            return []
        return rewrite_heading(self.source, item, level=item.level, anchor=name, form=self.forms[0])

    def _list_moved_sections(self, draft: _Draft) -> Sequence[Section]:
        """Return the moved sections in the target.

        Raises StructureChanged unless they have the expected titles, levels and parents.
        """
        moved_sections = [
            item for item in _list_with_heading(draft.target) if draft.start <= item.heading_start < draft.end
        ]
        if len(moved_sections) != len(self.moved):
            raise self._make_structure_error(self.section)
        first_position, old_first_position = moved_sections[0].position, self.section.position
        for item, moved_section in zip(self.moved, moved_sections, strict=True):
            has_same_parent = item is self.section or (
                moved_section.parent is not None
                and item.parent is not None
                and moved_section.parent - first_position == item.parent - old_first_position
            )
            has_same_title = item.title == moved_section.title or item.position in self.heading_splices
            if not has_same_title or item.level + self.shift != moved_section.level or not has_same_parent:
                raise self._make_structure_error(item)
        return moved_sections

    def _find_lost_addresses(self, draft: _Draft, moved_sections: Sequence[Section]) -> dict[int, str]:
        """Return the required address of each section that would have another one, by its position."""
        lost_addresses: dict[int, str] = {}
        for item, moved_section in zip(self.moved, moved_sections, strict=True):
            planned_address = self.address_plan.addresses[item.position]
            if moved_section.address != planned_address and item.parent not in lost_addresses:
                lost_addresses[item.position] = planned_address
        ids = {item.position for item in self.moved}
        remaining = [item for item in _list_with_heading(self.source) if item.position not in ids]
        remaining_in_draft = [
            item
            for item in _list_with_heading(draft.source)
            if not (self.is_within and draft.start <= item.heading_start < draft.end)
        ]
        for item, moved_section in zip(remaining, remaining_in_draft, strict=True):
            if (
                moved_section.address != item.address
                and item.anchor is None
                and item.parent not in lost_addresses
            ):
                lost_addresses[item.position] = item.address
        return lost_addresses

    def _make_result(self, draft: _Draft, moved_sections: Sequence[Section]) -> SectionMoveResult:
        source, target = self.source, self.target
        new_headings = {
            (source.path, item.heading_start): (target.path, current.heading_start)
            for item, current in zip(self.moved, moved_sections, strict=True)
        }
        documents = {source.path: source.path, target.path: target.path}
        copies = find_copied_links(source, (draft.source, draft.target), self.labels.copies, self.rules)
        offset_map = OffsetMap(draft.preserved_spans, new_headings, documents, tuple(copies))
        parent = self.place.parent
        new_parent = (
            None if moved_sections[0].parent is None else draft.target.sections[moved_sections[0].parent]
        )
        expected_parent = offset_map.map_offset(target.path, parent.heading_start) if parent else None
        if expected_parent != ((target.path, new_parent.heading_start) if new_parent else None):
            raise self._make_structure_error(self.section)
        ids = {item.position for item in self.moved}
        pinned_addresses = tuple(
            f"{(target if position in ids else source).path}#{name}"
            for position, name in sorted(self.pins.items())
        )
        return SectionMoveResult(
            draft.source,
            draft.target,
            moved_sections[0],
            offset_map,
            pinned_addresses,
            self.labels.linked_labels,
        )

    def _make_structure_error(self, section: Section) -> StructureChanged:
        return StructureChanged(
            f"'{section.address}' would not be read as the same section in its new place",
            fix="Close every code fence (```) and comment (<!-- -->) in it and before that place.",
            section=section.address,
        )


def _apply(document: Document, splices: Sequence[Splice]) -> Document:
    """Return a document after splices.

    The title of a preamble without a heading may change, because the first H1 of the document defines it.
    """
    preamble = document.preamble
    renamed_position = preamble.position if preamble and not preamble.has_heading else None
    return apply_edit(document, Edit(tuple(splices), {}, "", renamed_position=renamed_position))


def _sum_growth(splices: Sequence[Splice], offset: int) -> int:
    """Return the number of bytes by which splices shift an offset."""
    return sum(len(item.replacement) - (item.end - item.start) for item in splices if item.end <= offset)


def _list_with_heading(document: Document) -> list[Section]:
    return [item for item in document.sections if item.has_heading]


def _check_depth(sections: Sequence[Section], shift: int) -> None:
    deepest = max(sections, key=lambda item: item.level)
    if deepest.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest.address}' would be deeper than H{MAX_LEVEL}",
            fix="Move it higher up, or move or rewrite its deepest subsections first.",
            slug=deepest.address,
        )
