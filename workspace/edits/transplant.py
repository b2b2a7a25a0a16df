"""Moves of a section and its subsections: the bytes are moved, then the result is parsed and checked.

A section moves with the blank lines after it, or before it if it is the last section of the document. The
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
from workspace.markdown.lines import BOM, LINE_END_BYTES, decode_with_newlines, detect_line_ending
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
    """A section's text [start, end), the splice that takes it out, and the blank lines that go with it."""

    start: int
    end: int
    splice: Splice
    gap: bytes


class MovedText(NamedTuple):
    """Bytes for another place. Each run is its old start and end, and its start in `data`."""

    data: bytes
    runs: tuple[tuple[int, int, int], ...]

    def pieces(self, old_path: str, new_path: str, new_start: int) -> tuple[PreservedSpan, ...]:
        """Return the preserved spans if these bytes are now at `new_start` of a document."""
        return tuple(PreservedSpan(old_path, a, b, new_path, new_start + place) for a, b, place in self.runs)


def cut_section(document: Document, section: Section, left: bytes = b"") -> CutSection:
    """Cut a section with its subsections, and leave the text `left` in its place."""
    data, start, end = document.data, section.start, section.tree_end
    before = find_text_end(data, 0, start)
    text_end = find_text_end(data, start, end)
    if end == len(data):
        if not data[:before].removeprefix(BOM):
            return CutSection(
                start, text_end, Splice(start, end, left and left + document.ending), document.ending * 2
            )
        gap = data[before:start]
        return CutSection(start, text_end, Splice(before, text_end, left and document.ending * 2 + left), gap)
    gap = data[text_end:end]
    if left:
        # A definition does not interrupt a paragraph (CommonMark §4.7).
        first = document.ending if len(LINE_END_BYTES.findall(data[before:start])) == 1 else b""
        parting = _missing_line_ends(left, _heading_at(document, end), gap, document.ending)
        return CutSection(start, text_end, Splice(start, text_end, first + left + parting), gap)
    parting = _missing_line_ends(
        _text_before(document, start), _heading_at(document, end), data[before:start], document.ending
    )
    return CutSection(start, text_end, Splice(start, end, parting), gap)


def paste_block(
    document: Document, offset: int, block: bytes, heading: bytes, gap: bytes, ending: bytes
) -> tuple[Splice, int]:
    """Return the splice that puts a block in at a section's start or end, and where in it the block begins.

    `heading` is the beginning of the block. `gap` are the blank lines between it and the text after it, or
    before it at the document's end. Lines that are added end in `ending`.
    """
    data = document.data
    gap = convert_line_endings(gap, ending)
    before = find_text_end(data, 0, offset)
    is_first = not data[:before].removeprefix(BOM)
    if is_first and not data[offset:].strip():
        return Splice(offset, len(data), block + ending), 0
    if offset < len(data) or is_first:
        first = _missing_line_ends(_text_before(document, offset), heading, data[before:offset], ending)
        gap += _missing_line_ends(block, _heading_at(document, offset), gap, ending)
        return Splice(offset, offset, first + block + gap), len(first)
    gap += _missing_line_ends(_text_before(document, offset), heading, gap, ending)
    return Splice(before, before, gap + block), len(gap)


def move_text(data: bytes, start: int, end: int, splices: Iterable[Splice], ending: bytes) -> MovedText:
    """Return the bytes [start, end) after splices within them, their lines ended as where they go.

    They stay as they are where the text that they come from ends its first line so.
    """
    converted = detect_line_ending(data) != ending
    parts: list[bytes] = []
    runs: list[tuple[int, int, int]] = []
    position, size = start, 0

    def copy_until(stop: int) -> None:
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
        copy_until(splice.start)
        parts.append(splice.replacement)
        size += len(splice.replacement)
        position = splice.end
    copy_until(end)
    return MovedText(b"".join(parts), tuple(runs))


def convert_line_endings(data: bytes, ending: bytes) -> bytes:
    """Return a text whose lines end as those of the document that it goes to."""
    return LINE_END_BYTES.sub(ending, data)


def _missing_line_ends(before: bytes, heading: bytes, gap: bytes, ending: bytes) -> bytes:
    """Return the line ends that a gap needs to separate a heading from the text before it."""
    ends = len(LINE_END_BYTES.findall(gap))
    last = before.rstrip(b" \t\r\n").replace(b"\r", b"\n").rpartition(b"\n")[2]
    if last and anchors.is_anchor_line(last.decode("utf-8", "replace")):
        # An anchor that nothing follows would name the heading that comes one blank line after it.
        return ending * max(0, 3 - ends)
    if not ends and last:
        return ending * 2
    if ends > 1 or not last or not heading:
        return b""
    return ending if would_absorb_headings(_as_text(before), _as_text(heading)) else b""


def _text_before(document: Document, offset: int) -> bytes:
    """Return the own text of the section before an offset at which another section begins."""
    before = next((item for item in reversed(document.sections) if item.start < offset), None)
    return document.data[before.start if before else 0 : offset]


def _heading_at(document: Document, offset: int) -> bytes:
    following = next((item for item in document.sections if item.start >= offset), None)
    return document.data[following.start : following.body] if following else b""


def _as_text(data: bytes) -> str:
    return decode_with_newlines(data.decode("utf-8", "replace")).rstrip("\n")


class AddressPlan(NamedTuple):
    """The address that each moved section is to have, by its position, and anchors that get another name."""

    addresses: Mapping[int, str]
    renamed: Mapping[str, str]


def plan_addresses(document: Document, moved: Sequence[Section], used_names: set[str]) -> AddressPlan:
    """Return the addresses of moved sections in a target whose names are `used_names`.

    A derived address begins with the address of the parent, so it changes with the parent.
    """
    names = [[name for name in (item.anchor, *item.aliases) if name] for item in moved]
    own = {item.address for item in moved}.union(*names)
    free = UniqueNames("-", 1, used_names | own)
    renamed = {
        name: free.make_unique(name)
        for name in dict.fromkeys(name for found in names for name in found if name in used_names)
    }
    addresses: dict[int, str] = {}
    for item in moved:
        if item.anchor:
            addresses[item.position] = renamed.get(item.anchor, item.anchor)
            continue
        above = None if item.parent is None else document.sections[item.parent]
        now = None if above is None else addresses.get(above.position, above.address)
        follows = above is not None and now != above.address
        if not follows and item.address not in used_names:
            addresses[item.position] = item.address
        else:
            addresses[item.position] = free.make_unique(item.slug if now is None else f"{now}/{item.slug}")
    return AddressPlan(addresses, renamed)


# Each round pins what the one before left with another address: a level further down at least.
_ROUNDS = 2 * MAX_LEVEL


class MovedSection(NamedTuple):
    """The documents after a move, the new section, and the map of offsets.

    For a move within one document, `source` and `target` are equal.

    `pinned` are the full addresses that were written as anchors, `linked` words in brackets in the moved
    sections that are links now, because the target defines them.
    """

    source: Document
    target: Document
    section: Section
    offset_map: OffsetMap
    pinned: tuple[str, ...]
    linked: tuple[str, ...]


class _Draft(NamedTuple):
    """The documents after a move; the moved text is at [start, end) of the target."""

    source: Document
    target: Document
    start: int
    end: int
    pieces: tuple[PreservedSpan, ...]


def move_section(
    source: Document,
    section: Section,
    target: Document,
    place: TargetPosition,
    forms: tuple[AnchorForm, AnchorForm],
    rules: LinkRules,
) -> MovedSection:
    """Move a section. `forms` are those of new anchors in the source and in the target.

    All other sections keep their addresses, levels and texts. The moved sections keep their addresses if
    these are unused in the target. `rules` are those of links. Raises LevelConflict for a section that would
    be deeper than H6, InvalidAddress for an address that cannot be written as an anchor, and
    StructureChanged.
    """
    return _Move(source, section, target, place, forms, rules).run()


def is_in_place(source: Document, section: Section, target: Document, place: TargetPosition) -> bool:
    """Return True if a section is at the place already; its level may differ."""
    return target is source and place.offset in (section.start, section.tree_end)


class _Move:
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
        # The splices of labels in a heading, which change its words.
        self.words: dict[int, list[Splice]] = {}
        for splice in self.labels.splices:
            item = self.moved[bisect_right(self.moved, splice.start, key=lambda item: item.start) - 1]
            if splice.start < item.body:
                self.words.setdefault(item.position, []).append(splice)
        self.pins: dict[int, str] = {}
        if section.anchor is None:
            self.pins[section.position] = self.address_plan.addresses[section.position]

    def run(self) -> MovedSection:
        """Try with more anchors until each section has the address that it is to have."""
        for _ in range(_ROUNDS):
            draft = self._draft()
            landed = self._list_landed(draft)
            lost = self._find_lost_addresses(draft, landed)
            if not lost:
                return self._make_result(draft, landed)
            if any(position in self.pins for position in lost):
                break
            self.pins |= lost
        raise StructureChanged(
            f"'{self.section.address}' cannot be moved there without another address for what stays",
            fix="Give the headings anchors by hand first.",
            section=self.section.address,
        )

    def _draft(self) -> _Draft:
        source, target, section = self.source, self.target, self.section
        inner = self._inner()
        outer = [
            splice for position, name in self.pins.items() for splice in self._pin_remaining(position, name)
        ]
        if self.is_in_place:
            changed = _apply(source, [*inner, *outer])
            start = section.start + _growth(outer, section.start)
            end = section.tree_end + _growth(outer, section.start) + _growth(inner, section.tree_end)
            preserved = OffsetMap.of_splices(source, [*inner, *outer]).pieces
            return _Draft(changed, changed, start, end, preserved)
        ending = target.ending if b"\n" in target.data or b"\r" in target.data else source.ending
        cutting = cut_section(source, section, convert_line_endings(self.labels.left, source.ending))
        text = move_text(source.data, cutting.start, cutting.end, inner, ending)
        heading = move_text(
            source.data,
            cutting.start,
            section.body,
            [item for item in inner if item.end <= section.body],
            ending,
        )
        block = text.data + (
            ending * 2 + convert_line_endings(self.labels.tail, ending) if self.labels.tail else b""
        )
        put, lead = paste_block(target, self.place.offset, block, heading.data, cutting.gap, ending)
        if self.is_within:
            splices = [cutting.splice, put, *outer]
            changed = after = _apply(source, splices)
            preserved = OffsetMap.of_splices(source, splices).pieces
        else:
            splices = [put]
            after, changed = _apply(target, splices), _apply(source, [cutting.splice, *outer])
            preserved = (
                *OffsetMap.of_splices(source, [cutting.splice, *outer]).pieces,
                *OffsetMap.of_splices(target, splices).pieces,
            )
        start = put.start + lead + _growth([item for item in splices if item is not put], put.start)
        pieces = (*preserved, *text.pieces(source.path, target.path, start))
        return _Draft(changed, after, start, start + len(block), pieces)

    def _inner(self) -> list[Splice]:
        """Return the splices in the moved text: labels, and headings at their new level with anchors."""
        headings = {splice for found in self.words.values() for splice in found}
        splices = [splice for splice in self.labels.splices if splice not in headings]
        for item in self.moved:
            splices += rewrite_heading(
                self.source,
                item,
                level=item.level + self.shift,
                anchor=self.pins.get(item.position),
                form=self.forms[1],
                names=self.address_plan.renamed,
                title_splices=self.words.get(item.position, ()),
            )
        return splices

    def _pin_remaining(self, position: int, name: str) -> list[Splice]:
        """Return the anchor of a section that is not moved."""
        item = self.source.sections[position]
        if self.section.start <= item.start < self.section.tree_end:
            return []
        return rewrite_heading(self.source, item, level=item.level, anchor=name, form=self.forms[0])

    def _list_landed(self, draft: _Draft) -> Sequence[Section]:
        """Return the moved sections where they are now.

        Raises StructureChanged if they are not what they were.
        """
        landed = [
            item for item in _with_heading(draft.target) if draft.start <= item.heading_start < draft.end
        ]
        if len(landed) != len(self.moved):
            raise self._structure_error(self.section)
        first, top = landed[0].position, self.section.position
        for item, current in zip(self.moved, landed, strict=True):
            same_parent = item is self.section or (
                current.parent is not None
                and item.parent is not None
                and current.parent - first == item.parent - top
            )
            same_title = item.title == current.title or item.position in self.words
            if not same_title or item.level + self.shift != current.level or not same_parent:
                raise self._structure_error(item)
        return landed

    def _find_lost_addresses(self, draft: _Draft, landed: Sequence[Section]) -> dict[int, str]:
        """Return the sections that would have another address, with the required one."""
        lost: dict[int, str] = {}
        for item, current in zip(self.moved, landed, strict=True):
            wanted = self.address_plan.addresses[item.position]
            if current.address != wanted and item.parent not in lost:
                lost[item.position] = wanted
        ids = {item.position for item in self.moved}
        stayed = [item for item in _with_heading(self.source) if item.position not in ids]
        now = [
            item
            for item in _with_heading(draft.source)
            if not (self.is_within and draft.start <= item.heading_start < draft.end)
        ]
        for item, current in zip(stayed, now, strict=True):
            if current.address != item.address and item.anchor is None and item.parent not in lost:
                lost[item.position] = item.address
        return lost

    def _make_result(self, draft: _Draft, landed: Sequence[Section]) -> MovedSection:
        source, target = self.source, self.target
        renamed = {
            (source.path, item.heading_start): (target.path, current.heading_start)
            for item, current in zip(self.moved, landed, strict=True)
        }
        documents = {source.path: source.path, target.path: target.path}
        copies = find_copied_links(source, (draft.source, draft.target), self.labels.copies, self.rules)
        offset_map = OffsetMap(draft.pieces, renamed, documents, tuple(copies))
        parent = self.place.parent
        above = None if landed[0].parent is None else draft.target.sections[landed[0].parent]
        expected = offset_map.place(target.path, parent.heading_start) if parent else None
        if expected != ((target.path, above.heading_start) if above else None):
            raise self._structure_error(self.section)
        ids = {item.position for item in self.moved}
        pinned = tuple(
            f"{(target if position in ids else source).path}#{name}"
            for position, name in sorted(self.pins.items())
        )
        return MovedSection(draft.source, draft.target, landed[0], offset_map, pinned, self.labels.linked)

    def _structure_error(self, section: Section) -> StructureChanged:
        return StructureChanged(
            f"'{section.address}' would not be read as the same section in its new place",
            fix="Close every code fence (```) and comment (<!-- -->) in it and before that place.",
            section=section.address,
        )


def _apply(document: Document, splices: Sequence[Splice]) -> Document:
    """Return a document after splices.

    The title of one that does not begin with it is that of its first H1.
    """
    preamble = document.preamble
    follows = preamble.position if preamble and not preamble.has_heading else None
    return apply_edit(document, Edit(tuple(splices), {}, "", renamed_position=follows))


def _growth(splices: Sequence[Splice], offset: int) -> int:
    """Return the number of bytes by which splices move an offset."""
    return sum(len(item.replacement) - (item.end - item.start) for item in splices if item.end <= offset)


def _with_heading(document: Document) -> list[Section]:
    return [item for item in document.sections if item.has_heading]


def _check_depth(moved: Sequence[Section], shift: int) -> None:
    deepest = max(moved, key=lambda item: item.level)
    if deepest.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest.address}' would be deeper than H{MAX_LEVEL}",
            fix="Move it higher up, or move or rewrite its deepest subsections first.",
            slug=deepest.address,
        )
