"""Move a section with its subsections: the bytes are moved, then the result is parsed and checked.

A section moves with the blank lines after it; the last section of a document moves with those before it. The
text around it thus has the same blank lines as before, and moving the section back restores the old bytes.

Moved sections keep their addresses, except where another section uses the same address.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.heading_splices import rewrite_heading
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit, find_text_end
from workspace.edits.content import MAX_LEVEL, LevelConflict, collect_anchor_names
from workspace.edits.moved_definitions import NO_LABEL_UPDATES, find_copied_links, find_label_updates
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
    from workspace.edits.section_position import TargetPosition
    from workspace.links.offset_map import PreservedSpan
    from workspace.markdown.attribute_lists import AnchorForm


class CutSection(NamedTuple):
    """A section's text [start, end), the splice that removes it, and the blank lines that move with it."""

    start: int
    end: int
    splice: Splice
    gap: bytes


class MovedText(NamedTuple):
    """Moved bytes, and their unchanged runs, each as its old start, its old end, and its start in `data`."""

    data: bytes
    runs: tuple[tuple[int, int, int], ...]

    def list_preserved_spans(self, old_path: str, new_path: str, new_start: int) -> tuple[PreservedSpan, ...]:
        """Return the preserved spans if these bytes are at `new_start` of the document at `new_path`."""
        return tuple(
            PreservedSpan(old_path, start, end, new_path, new_start + position)
            for start, end, position in self.runs
        )


def cut_section(document: Document, section: Section, replacement: bytes = b"") -> CutSection:
    """Return the cut of a section with its subsections; its splice inserts `replacement` in their place."""
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
    """Return the splice that inserts a block at a section's start or end.

    Return also the offset of the block in the replacement of the splice.

    `heading` is the beginning of the block. `gap` contains the blank lines between the block and the text
    after it; at the document's end, those between the block and the text before it. Added blank lines have
    the line ending `ending`.
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
    position, new_size = start, 0

    def copy_until(stop: int) -> None:
        nonlocal position, new_size
        while position < stop:
            match = LINE_END_BYTES.search(data, position, stop) if is_converted else None
            run_end = match.start() if match else stop
            if position < run_end:
                runs.append((position, run_end, new_size))
                parts.append(data[position:run_end])
                new_size += run_end - position
            if match:
                parts.append(ending)
                new_size += len(ending)
            position = match.end() if match else stop

    for splice in sorted(splices, key=lambda item: (item.start, item.end)):
        copy_until(splice.start)
        parts.append(splice.replacement)
        new_size += len(splice.replacement)
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
    """Return the bytes before an offset, from the start of the section that precedes the offset."""
    previous_section = next((item for item in reversed(document.sections) if item.start < offset), None)
    return document.data[previous_section.start if previous_section else 0 : offset]


def _read_heading_at(document: Document, offset: int) -> bytes:
    """Return the heading of the first section at or after an offset; b"" if there is none."""
    next_section = next((item for item in document.sections if item.start >= offset), None)
    return document.data[next_section.start : next_section.body_start] if next_section else b""


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

    `anchored_addresses` are the full addresses that were written as anchors. `linked_labels` are words in
    brackets in the moved sections that became links, because the target defines these labels.
    """

    source: Document
    target: Document
    section: Section
    offset_map: OffsetMap
    anchored_addresses: tuple[str, ...]
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
    """The move of one section, and the anchors that it adds to preserve addresses."""

    def __init__(
        self,
        source: Document,
        section: Section,
        target: Document,
        position: TargetPosition,
        forms: tuple[AnchorForm, AnchorForm],
        rules: LinkRules,
    ) -> None:
        self.source, self.section, self.target, self.position, self.forms = (
            source,
            section,
            target,
            position,
            forms,
        )
        self.moved_sections = (section, *source.descendants(section))
        self.shift = position.level - section.level
        # An H1 at the beginning of an empty document is its title: the section becomes the preamble.
        self.becomes_title = position.level == 1 and not target.data
        self.rules = rules
        _check_depth(self.moved_sections, self.shift)
        self.is_same_document = target is source
        self.is_in_place = is_in_place(source, section, target, position)
        self.address_plan = plan_addresses(
            source, self.moved_sections, set() if self.is_same_document else collect_anchor_names(target)
        )
        self.label_updates = (
            NO_LABEL_UPDATES
            if self.is_in_place
            else find_label_updates(source, section, target, position.offset, rules)
        )
        # The splices that rename labels in headings, by the position of the heading's section.
        self.heading_splices: dict[int, list[Splice]] = {}
        for splice in self.label_updates.splices:
            item = self.moved_sections[
                bisect_right(self.moved_sections, splice.start, key=lambda item: item.start) - 1
            ]
            if splice.start < item.body_start:
                self.heading_splices.setdefault(item.position, []).append(splice)
        self.new_anchors: dict[int, str] = {}
        if section.anchor is None:
            self.new_anchors[section.position] = self.address_plan.addresses[section.position]

    def run(self) -> SectionMoveResult:
        """Add anchors until each section has its planned address, and return the move result."""
        for _ in range(_MAX_ROUNDS):
            draft = self._make_draft()
            new_sections = self._list_moved_sections(draft)
            required_addresses = self._find_required_addresses(draft, new_sections)
            if not required_addresses:
                return self._make_result(draft, new_sections)
            if any(position in self.new_anchors for position in required_addresses):
                break
            self.new_anchors |= required_addresses
        raise StructureChanged(
            f"'{self.section.address}' cannot be moved to that position without changing "
            "another section's address",
            fix="Add anchors to the headings first.",
            section=self.section.address,
        )

    def _make_draft(self) -> _Draft:
        source, target, section = self.source, self.target, self.section
        inner_splices = self._make_inner_splices()
        outer_splices = [
            splice
            for position, name in self.new_anchors.items()
            for splice in self._add_anchor_to_remaining(position, name)
        ]
        if self.is_in_place:
            new_source = _apply_checked(source, [*inner_splices, *outer_splices])
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
            source, section, convert_line_endings(self.label_updates.replacement, source.line_ending)
        )
        moved_text = move_text(source.data, cut_range.start, cut_range.end, inner_splices, ending)
        heading = move_text(
            source.data,
            cut_range.start,
            section.body_start,
            [item for item in inner_splices if item.end <= section.body_start],
            ending,
        )
        block = moved_text.data + (
            ending * 2 + convert_line_endings(self.label_updates.appended_text, ending)
            if self.label_updates.appended_text
            else b""
        )
        paste_splice, block_start = paste_block(
            target, self.position.offset, block, heading.data, cut_range.gap, ending
        )
        if self.is_same_document:
            splices = [cut_range.splice, paste_splice, *outer_splices]
            new_source = new_target = _apply_checked(source, splices)
            preserved_spans = OffsetMap.of_splices(source, splices).preserved_spans
        else:
            splices = [paste_splice]
            new_target, new_source = (
                _apply_checked(target, splices),
                _apply_checked(source, [cut_range.splice, *outer_splices]),
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
        splices = [splice for splice in self.label_updates.splices if splice not in heading_splices]
        for item in self.moved_sections:
            splices += rewrite_heading(
                self.source,
                item,
                level=item.level + self.shift,
                anchor=self.new_anchors.get(item.position),
                form=self.forms[1],
                renamed_anchors=self.address_plan.new_names,
                title_splices=self.heading_splices.get(item.position, ()),
            )
        return splices

    def _add_anchor_to_remaining(self, position: int, name: str) -> list[Splice]:
        """Return the splices that add an anchor to a section that is not moved."""
        item = self.source.sections[position]
        if self.section.start <= item.start < self.section.tree_end:
            return []
        return rewrite_heading(self.source, item, level=item.level, anchor=name, form=self.forms[0])

    def _list_moved_sections(self, draft: _Draft) -> Sequence[Section]:
        """Return the moved sections in the target.

        Raises StructureChanged unless they have the expected titles, levels and parents.
        """
        new_sections = [
            item
            for item in _list_sections_with_heading(draft.target)
            if draft.start <= item.heading_start < draft.end
        ]
        if len(new_sections) != len(self.moved_sections):
            raise self._make_structure_error(self.section)
        first_position, old_first_position = new_sections[0].position, self.section.position
        for item, new_section in zip(self.moved_sections, new_sections, strict=True):
            has_same_parent = item is self.section or (
                new_section.parent is not None
                and item.parent is not None
                and new_section.parent - first_position == item.parent - old_first_position
            )
            if self.becomes_title and item.parent == self.section.position:
                has_same_parent = new_section.parent is None
            has_same_title = item.title == new_section.title or item.position in self.heading_splices
            has_same_level = item.level + self.shift == max(new_section.level, 1)
            if not (has_same_title and has_same_level and has_same_parent):
                raise self._make_structure_error(item)
        return new_sections

    def _find_required_addresses(self, draft: _Draft, new_sections: Sequence[Section]) -> dict[int, str]:
        """Return the required address of each section that has another address in the draft, by position."""
        required_addresses: dict[int, str] = {}
        for item, new_section in zip(self.moved_sections, new_sections, strict=True):
            planned_address = self.address_plan.addresses[item.position]
            # The address of a title is an alias of the preamble.
            address = new_section.anchor if new_section.is_preamble else new_section.address
            if address != planned_address and item.parent not in required_addresses:
                required_addresses[item.position] = planned_address
        moved_positions = {item.position for item in self.moved_sections}
        remaining_sections = [
            item for item in _list_sections_with_heading(self.source) if item.position not in moved_positions
        ]
        remaining_in_draft = [
            item
            for item in _list_sections_with_heading(draft.source)
            if not (self.is_same_document and draft.start <= item.heading_start < draft.end)
        ]
        for item, new_section in zip(remaining_sections, remaining_in_draft, strict=True):
            if (
                new_section.address != item.address
                and item.anchor is None
                and item.parent not in required_addresses
            ):
                required_addresses[item.position] = item.address
        return required_addresses

    def _make_result(self, draft: _Draft, new_sections: Sequence[Section]) -> SectionMoveResult:
        source, target = self.source, self.target
        new_heading_positions = {
            (source.path, item.heading_start): (target.path, new_section.heading_start)
            for item, new_section in zip(self.moved_sections, new_sections, strict=True)
        }
        path_map = {source.path: source.path, target.path: target.path}
        copies = find_copied_links(
            source, (draft.source, draft.target), self.label_updates.copies, self.rules
        )
        offset_map = OffsetMap(draft.preserved_spans, new_heading_positions, path_map, tuple(copies))
        parent = self.position.parent
        new_parent = None if new_sections[0].parent is None else draft.target.sections[new_sections[0].parent]
        expected_parent = offset_map.map_offset(target.path, parent.heading_start) if parent else None
        if expected_parent != ((target.path, new_parent.heading_start) if new_parent else None):
            raise self._make_structure_error(self.section)
        moved_positions = {item.position for item in self.moved_sections}
        anchored_addresses = tuple(
            f"{(target if position in moved_positions else source).path}#{name}"
            for position, name in sorted(self.new_anchors.items())
        )
        return SectionMoveResult(
            draft.source,
            draft.target,
            new_sections[0],
            offset_map,
            anchored_addresses,
            self.label_updates.linked_labels,
        )

    def _make_structure_error(self, section: Section) -> StructureChanged:
        return StructureChanged(
            f"'{section.address}' would not be read as the same section at its new position",
            fix="Close every code fence (```) and comment (<!-- -->) in the section "
            "and before its new position.",
            section=section.address,
        )


def _apply_checked(document: Document, splices: Sequence[Splice]) -> Document:
    """Return a document after splices. Raises StructureChanged.

    The title of a preamble without a heading may change, because the first H1 of the document defines it.
    """
    preamble = document.preamble
    renamed_position = preamble.position if preamble and not preamble.has_heading else None
    return apply_edit(document, Edit(tuple(splices), {}, "", renamed_position=renamed_position))


def _sum_growth(splices: Sequence[Splice], offset: int) -> int:
    """Return the number of bytes by which the splices before an offset shift it."""
    return sum(len(item.replacement) - (item.end - item.start) for item in splices if item.end <= offset)


def _list_sections_with_heading(document: Document) -> list[Section]:
    return [item for item in document.sections if item.has_heading]


def _check_depth(sections: Sequence[Section], shift: int) -> None:
    deepest_section = max(sections, key=lambda item: item.level)
    if deepest_section.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest_section.address}' would be deeper than H{MAX_LEVEL}",
            fix="Move it higher up, or move or rewrite its deepest subsections first.",
            slug=deepest_section.address,
        )
