"""A section with all below it taken to another place: bytes moved, then checked by reading them."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.heading_text import heading_splices
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit
from workspace.edits.content import MAX_LEVEL, LevelConflict, taken_names
from workspace.edits.copied_links import copied_links
from workspace.edits.landing import landing
from workspace.edits.moved_definitions import NO_LABELS, mended_labels
from workspace.edits.moving_transplant import cut, ended, put_in, transplanted
from workspace.links.survival import Survival

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document, Section
    from workspace.edits.section_place import Place
    from workspace.links.survival import Piece
    from workspace.markdown.anchors import AnchorForm

# Each round pins what the one before left with another address: a level further down at least.
_ROUNDS = 2 * MAX_LEVEL


class Relocated(NamedTuple):
    """The documents after a move (the same one twice within one), where the section is, and what was kept.

    `pinned` are the full addresses that were written as anchors, `linked` words in brackets in the moved
    sections that are links now, because the target defines them.
    """

    source: Document
    target: Document
    section: Section
    survival: Survival
    pinned: tuple[str, ...]
    linked: tuple[str, ...]


class _Draft(NamedTuple):
    """The documents after a move; the moved text stands in [start, end) of the target."""

    source: Document
    target: Document
    start: int
    end: int
    pieces: tuple[Piece, ...]


def relocate(
    source: Document,
    section: Section,
    target: Document,
    place: Place,
    forms: tuple[AnchorForm, AnchorForm],
    rules: LinkRules,
) -> Relocated:
    """Moves a section. `forms` are those of new anchors in the source and in the target.

    Whatever else stands in the documents keeps its address, level and text, and the moved sections keep their
    addresses where these are free. `rules` are those of links. Raises LevelConflict for what would be
    deeper than H6, InvalidAddress for an address that cannot be written as an anchor, and StructureChanged.
    """
    return _Move(source, section, target, place, forms, rules).run()


def is_in_place(source: Document, section: Section, target: Document, place: Place) -> bool:
    """Whether a section stands at the place already; its level may differ."""
    return target is source and place.offset in (section.start, section.tree_end)


class _Move:
    def __init__(
        self,
        source: Document,
        section: Section,
        target: Document,
        place: Place,
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
        self.landing = landing(source, self.moved, set() if self.is_within else taken_names(target))
        self.labels = (
            NO_LABELS if self.is_in_place else mended_labels(source, section, target, place.offset, rules)
        )
        # The splices of labels that stand in a heading, which then has other words.
        self.words: dict[int, list[Splice]] = {}
        for splice in self.labels.splices:
            item = self.moved[bisect_right(self.moved, splice.start, key=lambda item: item.start) - 1]
            if splice.start < item.body:
                self.words.setdefault(item.position, []).append(splice)
        self.pins: dict[int, str] = {}
        if section.anchor is None:
            self.pins[section.position] = self.landing.addresses[section.position]

    def run(self) -> Relocated:
        """Tries with more anchors until each section has the address that it is to have."""
        for _ in range(_ROUNDS):
            draft = self._draft()
            landed = self._landed(draft)
            lost = self._lost(draft, landed)
            if not lost:
                return self._relocated(draft, landed)
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
        outer = [splice for position, name in self.pins.items() for splice in self._stayed(position, name)]
        if self.is_in_place:
            changed = _applied(source, [*inner, *outer])
            start = section.start + _growth(outer, section.start)
            end = section.tree_end + _growth(outer, section.start) + _growth(inner, section.tree_end)
            kept = Survival.of_splices(source, [*inner, *outer]).pieces
            return _Draft(changed, changed, start, end, kept)
        ending = target.ending if b"\n" in target.data or b"\r" in target.data else source.ending
        cutting = cut(source, section, ended(self.labels.left, source.ending))
        text = transplanted(source.data, cutting.start, cutting.end, inner, ending)
        heading = transplanted(
            source.data,
            cutting.start,
            section.body,
            [item for item in inner if item.end <= section.body],
            ending,
        )
        block = text.data + (ending * 2 + ended(self.labels.tail, ending) if self.labels.tail else b"")
        put, lead = put_in(target, self.place.offset, block, heading.data, cutting.gap, ending)
        if self.is_within:
            splices = [cutting.splice, put, *outer]
            changed = after = _applied(source, splices)
            kept = Survival.of_splices(source, splices).pieces
        else:
            splices = [put]
            after, changed = _applied(target, splices), _applied(source, [cutting.splice, *outer])
            kept = (
                *Survival.of_splices(source, [cutting.splice, *outer]).pieces,
                *Survival.of_splices(target, splices).pieces,
            )
        start = put.start + lead + _growth([item for item in splices if item is not put], put.start)
        pieces = (*kept, *text.pieces(source.path, target.path, start))
        return _Draft(changed, after, start, start + len(block), pieces)

    def _inner(self) -> list[Splice]:
        """The splices in the moved text: labels, and headings at their new level with their anchors."""
        headings = {splice for found in self.words.values() for splice in found}
        splices = [splice for splice in self.labels.splices if splice not in headings]
        for item in self.moved:
            splices += heading_splices(
                self.source,
                item,
                level=item.level + self.shift,
                anchor=self.pins.get(item.position),
                form=self.forms[1],
                names=self.landing.renamed,
                within=self.words.get(item.position, ()),
            )
        return splices

    def _stayed(self, position: int, name: str) -> list[Splice]:
        """The anchor of a section that is not moved."""
        item = self.source.sections[position]
        if self.section.start <= item.start < self.section.tree_end:
            return []
        return heading_splices(self.source, item, level=item.level, anchor=name, form=self.forms[0])

    def _landed(self, draft: _Draft) -> Sequence[Section]:
        """The moved sections where they are now. Raises StructureChanged if they are not what they were."""
        landed = [item for item in _headed(draft.target) if draft.start <= item.heading_start < draft.end]
        if len(landed) != len(self.moved):
            raise self._misread(self.section)
        first, top = landed[0].position, self.section.position
        for item, twin in zip(self.moved, landed, strict=True):
            same_parent = item is self.section or (
                twin.parent is not None
                and item.parent is not None
                and twin.parent - first == item.parent - top
            )
            same_title = item.title == twin.title or item.position in self.words
            if not same_title or item.level + self.shift != twin.level or not same_parent:
                raise self._misread(item)
        return landed

    def _lost(self, draft: _Draft, landed: Sequence[Section]) -> dict[int, str]:
        """The sections that would have another address, and the one that they are to keep."""
        lost: dict[int, str] = {}
        for item, twin in zip(self.moved, landed, strict=True):
            wanted = self.landing.addresses[item.position]
            if twin.address != wanted and item.parent not in lost:
                lost[item.position] = wanted
        ids = {item.position for item in self.moved}
        stayed = [item for item in _headed(self.source) if item.position not in ids]
        now = [
            item
            for item in _headed(draft.source)
            if not (self.is_within and draft.start <= item.heading_start < draft.end)
        ]
        for item, twin in zip(stayed, now, strict=True):
            if twin.address != item.address and item.anchor is None and item.parent not in lost:
                lost[item.position] = item.address
        return lost

    def _relocated(self, draft: _Draft, landed: Sequence[Section]) -> Relocated:
        source, target = self.source, self.target
        renamed = {
            (source.path, item.heading_start): (target.path, twin.heading_start)
            for item, twin in zip(self.moved, landed, strict=True)
        }
        documents = {source.path: source.path, target.path: target.path}
        copies = copied_links(source, (draft.source, draft.target), self.labels.copies, self.rules)
        survival = Survival(draft.pieces, renamed, documents, tuple(copies))
        parent = self.place.parent
        above = None if landed[0].parent is None else draft.target.sections[landed[0].parent]
        expected = survival.place(target.path, parent.heading_start) if parent else None
        if expected != ((target.path, above.heading_start) if above else None):
            raise self._misread(self.section)
        ids = {item.position for item in self.moved}
        pinned = tuple(
            f"{(target if position in ids else source).path}#{name}"
            for position, name in sorted(self.pins.items())
        )
        return Relocated(draft.source, draft.target, landed[0], survival, pinned, self.labels.linked)

    def _misread(self, section: Section) -> StructureChanged:
        return StructureChanged(
            f"'{section.address}' would not be read as the same section in its new place",
            fix="Close every code fence (```) and comment (<!-- -->) in it and before that place.",
            section=section.address,
        )


def _applied(document: Document, splices: Sequence[Splice]) -> Document:
    """A document after splices. The title of one that does not begin with it is that of its first H1."""
    preamble = document.preamble
    follows = preamble.position if preamble and not preamble.has_heading else None
    return apply_edit(document, Edit(tuple(splices), {}, "", renamed=follows))


def _growth(splices: Sequence[Splice], offset: int) -> int:
    """By how many bytes splices move what stands at an offset."""
    return sum(len(item.replacement) - (item.end - item.start) for item in splices if item.end <= offset)


def _headed(document: Document) -> list[Section]:
    return [item for item in document.sections if item.has_heading]


def _check_depth(moved: Sequence[Section], shift: int) -> None:
    deepest = max(moved, key=lambda item: item.level)
    if deepest.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest.address}' would be deeper than H{MAX_LEVEL}",
            fix="Move it higher up, or move or rewrite its deepest subsections first.",
            slug=deepest.address,
        )
