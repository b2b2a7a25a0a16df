"""Two versions of a document merged, by what each did to a third: section by section, key by key.

A pure function of bytes. What it makes is read again: it is the sections that it was made of, with each line
that a side added and none that one removed, or the whole document is a conflict and stays as in ours. No line
of it is invented.

The lines of a merged document held against those of its versions: none is lost, and none comes back.

Units are known by what sections and blocks have in common, and what was rewritten and moved at once has too
little of that: it counts as removed, and as added elsewhere. Where the other side removed it, or put it
somewhere else, the merge would have it again, or twice. Only the lines tell.

Names of links and footnotes that two sides of a merge gave to different things.

A document has one space for these names, and of two definitions the first counts (CommonMark 0.31 §4.7): the
links of the other side would lead elsewhere.

Addresses that two sides of a merge gave to different sections.
"""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.edits.content import MAX_LEVEL
from workspace.markdown.lines import BLANK, BOM, LINE_END_BYTES, LIST_MARKER_BYTES
from workspace.merge.blocks import DEFINITION, label_of, pieces_of
from workspace.merge.conflict import CLASH, Conflict, Conflicts, MergedDocument, UnitId, UnitKind, three_way
from workspace.merge.front_matter import merged_metadata
from workspace.merge.resolutions import at_level, fitted
from workspace.merge.sections import heading_bytes, kept_sections, merged_heading, own_span, placed, sides
from workspace.merge.text import Naming, is_costly, merged_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.merge.conflict import Resolution
    from workspace.merge.sections import Id, Placed, Side

_ANCHOR = re.compile(
    rb"""\{(?::|/\*)?[ \t]*#[^{}\r\n]{1,200}\}|<a (?:id|name)="?[^<>"\r\n]{1,200}"?(?:></a>|/?>)"""
)


# What a merge may write anew: the level of a heading, the number of an item, a task's box.
_MARKS = re.compile(rb"(?:[ \t]*(?:#{1,6}|%b)(?=[ \t]))+(?:[ \t]+\[[ xX]\](?=[ \t]))?" % LIST_MARKER_BYTES)


_SAYS = re.compile(rb"[^\W_]|[^\x00-\x7f]")


def is_accounted(
    base: Document | None, ours: Document, theirs: Document, merged: Document, told: Iterable[bytes]
) -> bool:
    """Return True if each line that a side added is there, and each that it removed is gone.

    Lines of front matter, those that say nothing (a fence, a rule) and those that are `told` in a conflict
    are left out. Of a line that stood several times in base, and that both sides have, they may have removed
    or added the same one or two, so its number may be anything between the versions'.
    """
    was, mine, yours, kept = (_lines(document) for document in (base, ours, theirs, merged))
    common = was & mine & yours & kept
    was, mine, yours, kept = (_said(lines - common) for lines in (was, mine, yours, kept))
    left_out = {said for text in told for said in _said(Counter(text.splitlines()))}
    for line in (was | mine | yours | kept).keys() - left_out:
        both = mine[line] + yours[line] - was[line]
        one, other = sorted((mine[line], yours[line]))
        if was[line] > 1 and one:
            one, other = other, one
        least, most = min(both, other), max(both, one)
        if not least <= kept[line] <= most:
            return False
    return True


def _lines(document: Document | None) -> Counter[bytes]:
    """Return the lines of a document below its front matter."""
    if document is None:
        return Counter()
    return Counter(document.data[document.front_matter_end :].removeprefix(BOM).splitlines())


def _said(lines: Counter[bytes]) -> Counter[bytes]:
    """Return what lines say, without what a merge may write anew."""
    found: Counter[bytes] = Counter()
    for line, times in lines.items():
        marks = _MARKS.match(line)
        text = _ANCHOR.sub(b"", line[marks.end() :] if marks else line)
        if _SAYS.search(text):
            found[text.strip(b"# \t")] += times
    return found


def disputed_definitions(base: Side | None, ours: Side, theirs: Side) -> set[Id]:
    """The sections of theirs that define a name anew which ours defines anew elsewhere, as something else.

    What both define in one section is a conflict of its text. Raises LimitExceeded.
    """
    labels = _labels(ours.document) & _labels(theirs.document)
    if base is not None:
        labels -= _labels(base.document)
    if not labels:
        return set()
    mine, yours = _definitions(ours, labels), _definitions(theirs, labels)
    return {
        id
        for label, found in yours.items()
        for id, said in found.items()
        if label in mine and id not in mine[label] and said not in mine[label].values()
    }


def _labels(document: Document) -> set[bytes]:
    """Return what may be a name: it is not told yet whether it stands in a fence."""
    return {label_of(found) for found in DEFINITION.finditer(document.data)}


def _definitions(side: Side, labels: set[bytes]) -> dict[bytes, dict[Id, list[bytes]]]:
    """Return what the sections of a side say that some names mean: by name, and then by section."""
    found: dict[bytes, dict[Id, list[bytes]]] = {}
    for id in side.sections:
        text = side.text(id)
        if is_costly(text) or not any(label_of(item) in labels for item in DEFINITION.finditer(text)):
            continue
        for piece in pieces_of(text):
            if piece.label in labels:
                # Of two in one section the first counts.
                found.setdefault(piece.label, {}).setdefault(id, piece.text.split())
    return found


def clashing(document: Document, row: Sequence[Id], base: Side | None, ours: Side, theirs: Side) -> set[Id]:
    """Return the sections of theirs whose address, or name below their parent, one of ours took as well.

    `row` are the ids of the document's sections that have bytes, in order.
    """
    found = [section for section in document.sections if document.source(section).strip(BLANK)]
    groups: dict[tuple[object, ...], list[Id]] = {}
    for section, id in zip(found, row, strict=True):
        if section.is_preamble:
            continue
        name = ("anchor", section.anchor) if section.anchor else (section.parent, section.slug)
        groups.setdefault(name, []).append(id)
    clashes: set[Id] = set()
    for ids in groups.values():
        if len(ids) > 1:
            mine = [id for id in ids if _is_named_anew(id, base, ours)]
            yours = [id for id in ids if _is_named_anew(id, base, theirs)]
            if any(id not in yours for id in mine):
                clashes.update(id for id in yours if id not in mine)
    return clashes


def _is_named_anew(id: Id, base: Side | None, side: Side) -> bool:
    """Return True if a side added a section, or gave it the name that it has."""
    now = side.sections.get(id)
    was = base.sections.get(id) if base else None
    return now is not None and (was is None or (was.slug, was.anchor) != (now.slug, now.anchor))


_ROUNDS = 3


_NONE: Mapping[UnitId, Resolution] = MappingProxyType({})


class _Written(NamedTuple):
    """A section as the merged document has it."""

    heading: bytes
    lead: bytes
    text: bytes

    @property
    def data(self) -> bytes:
        return self.heading + (self.lead if self.heading and self.text else b"") + self.text


def merge_documents(
    base: Document | None,
    ours: Document,
    theirs: Document,
    resolutions: Mapping[UnitId, Resolution] = _NONE,
) -> MergedDocument:
    """Return what both sides made of `base` (None where both added the document), and what cannot be merged.

    Raises InvalidResolution for a decision that cannot be; LimitExceeded for too many lines or blocks.
    """
    data = three_way(None if base is None else base.data, ours.data, theirs.data)
    if data is not CLASH:
        return MergedDocument(ours.data if data is None else data, ())
    base, ours, theirs = _of_one_ending(base, ours, theirs)
    conflicts = Conflicts(resolutions, ours.ending, fitted)
    merged = _merged(base, ours, theirs, conflicts)
    if merged is None:
        conflicts = Conflicts(resolutions, ours.ending, fitted)
        whole = Conflict(UnitId(UnitKind.DOCUMENT), base.data if base else None, ours.data, theirs.data)
        merged = conflicts.decide(whole) or b""
    return MergedDocument(merged, tuple(conflicts), conflicts.resolved)


def _of_one_ending(
    base: Document | None, ours: Document, theirs: Document
) -> tuple[Document | None, Document, Document]:
    """The versions with lines that end alike, where each ends its own alike and one side changed that."""
    endings = [
        None if document is None else {*LINE_END_BYTES.findall(document.data)}
        for document in (base, ours, theirs)
    ]
    if any(found is not None and len(found) > 1 for found in endings):
        return base, ours, theirs
    known = [next(iter(found), None) if found else None for found in endings]
    if len({ending for ending in known if ending}) < 2:
        return base, ours, theirs
    merged = three_way(*known)
    ending = ours.ending if merged is CLASH or merged is None else merged
    return (
        None if base is None else _ended(base, ending),
        _ended(ours, ending),
        _ended(theirs, ending),
    )


def _ended(document: Document, ending: bytes) -> Document:
    return Document.parse(LINE_END_BYTES.sub(ending, document.data), document.path)


def _merged(base: Document | None, ours: Document, theirs: Document, conflicts: Conflicts) -> bytes | None:
    """Return the merged document; None if it would not be read as what it was made of."""
    was, mine, yours = sides(base, ours, theirs)
    left_out: set[Id] = set()
    as_ours: set[Id] = set()
    disputed = disputed_definitions(was, mine, yours)
    head = _mark(base, ours, theirs) + merged_metadata(base, ours, theirs, conflicts)
    saved = conflicts.saved()
    for _ in range(_ROUNDS):
        conflicts.back_to(saved)
        kept = kept_sections(was, mine, yours, conflicts)
        for id in left_out:
            kept -= {id, *(item for item in yours.below(id) if item not in mine.sections)}
        tree = placed(was, mine, yours, kept, conflicts)
        if any(level > MAX_LEVEL for level in tree.levels.values()):
            return None
        writing = _Writing(was, mine, yours, tree, conflicts, ours.ending, as_ours, disputed)
        written = {id: writing.section(id) for id in tree.levels}
        data = writing.joined(head, written)
        document = ours if data == ours.data else Document.parse(data, ours.path)
        if not _is_sound(document, tree, written):
            return None
        row = [id for id in tree.levels if written[id].data]
        added = {id for id in row if id[0] == "theirs"}
        clashes = (clashing(document, row, was, mine, yours) | disputed & added) - left_out - as_ours
        undecided = {id for id in clashes if not _is_wanted(was, mine, yours, id, conflicts)}
        if not undecided:
            return data if is_accounted(base, ours, theirs, document, conflicts.told) else None
        left_out |= {id for id in undecided if id not in mine.sections}
        as_ours |= {id for id in undecided if id in mine.sections}
        saved = _remembered(was, mine, yours, undecided, conflicts, saved)
    return None


def _remembered(
    base: Side | None, ours: Side, theirs: Side, ids: set[Id], conflicts: Conflicts, saved: tuple[int, int]
) -> tuple[int, int]:
    """Keep the conflicts of clashing addresses before all that are found in the next round."""
    conflicts.back_to(saved)
    for id in sorted(ids):
        _is_wanted(base, ours, theirs, id, conflicts)
    return conflicts.saved()


def _is_wanted(base: Side | None, ours: Side, theirs: Side, id: Id, conflicts: Conflicts) -> bool:
    """Whether a section of theirs stays, or its heading, though its address is taken: if it is so decided."""
    if id not in ours.sections:
        unit = UnitId(UnitKind.SECTION, theirs.sections[id].key)
        return conflicts.is_for_theirs(Conflict(unit, None, None, theirs.whole(id)))
    versions = [
        heading_bytes(*side.heading(id)) if side and id in side.sections else None
        for side in (base, ours, theirs)
    ]
    unit = UnitId(UnitKind.HEADING, _key(id, base, ours, theirs))
    return conflicts.is_for_theirs(Conflict(unit, *versions))


def _mark(base: Document | None, ours: Document, theirs: Document) -> bytes:
    """Return the byte-order mark, if the merged document has one."""
    marks = [document is not None and document.data.startswith(BOM) for document in (base, ours, theirs)]
    has_mark = three_way(*marks)
    return BOM if has_mark is True or (has_mark is CLASH and marks[1]) else b""


def _key(id: Id, *versions: Side | None) -> str:
    return next(side.sections[id].key for side in versions if side and id in side.sections)


class _Writing:
    """Writes the sections of a merged document, and puts them together."""

    def __init__(
        self,
        base: Side | None,
        ours: Side,
        theirs: Side,
        tree: Placed,
        conflicts: Conflicts,
        ending: bytes,
        as_ours: set[Id],
        disputed: set[Id],
    ) -> None:
        self._sides = base, ours, theirs
        self._tree, self._conflicts, self._ending = tree, conflicts, ending
        self._as_ours, self._disputed = as_ours, disputed

    def section(self, id: Id) -> _Written:
        """Return a section's heading and own text, merged."""
        base, ours, theirs = (side if side and id in side.sections else None for side in self._sides)
        level = self._tree.levels[id]
        if ours is None or theirs is None:
            side = ours or theirs
            assert side is not None
            return _Written(heading_bytes(*side.heading(id), level), side.lead(id) or b"", side.text(id))
        heading = heading_bytes(*ours.heading(id), level)
        if id not in self._as_ours:
            found = merged_heading(
                base.heading(id) if base else None, ours.heading(id), theirs.heading(id), level
            )
            heading = self._decided_heading(id, heading) if found is None else found
        texts = (base.text(id) if base else None), ours.text(id), theirs.text(id)
        if id in self._disputed:
            unit = UnitId(UnitKind.TEXT, _key(id, *self._sides))
            text = self._conflicts.decide(Conflict(unit, *texts)) or b""
        else:
            text = merged_text(*texts, self._naming(id), self._ending, self._conflicts)
        lead = three_way(base.lead(id) if base else None, ours.lead(id), theirs.lead(id))
        if lead is CLASH or lead is None:
            lead = ours.lead(id) or theirs.lead(id) or self._ending * 2
        return _Written(heading, lead, text)

    def _decided_heading(self, id: Id, ours: bytes) -> bytes:
        versions = [
            heading_bytes(*side.heading(id)) if side and id in side.sections else None for side in self._sides
        ]
        unit = UnitId(UnitKind.HEADING, _key(id, *self._sides))
        decided = self._conflicts.decide(Conflict(unit, *versions))
        if decided is None or decided == versions[1]:
            return ours
        if decided == versions[2] and self._sides[2]:
            return heading_bytes(*self._sides[2].heading(id), self._tree.levels[id])
        return at_level(decided, self._tree.levels[id])

    def _naming(self, id: Id) -> Naming:
        def task(version: int, offset: int) -> str | None:
            side = self._sides[version]
            if side is None or id not in side.sections:
                return None
            section = side.sections[id]
            place = own_span(side.document, section)[0] + offset
            found = (item for item in side.document.tasks(section) if item.start == place)
            index = next((item.index for item in found), None)
            return None if index is None else f"{_key(id, *self._sides)}[{index}]"

        return Naming(_key(id, *self._sides), task)

    def joined(self, head: bytes, written: Mapping[Id, _Written]) -> bytes:
        """Return the bytes of the merged document."""
        row = [id for id in self._tree.levels if written[id].data]
        parts = [head]
        above: Id | None = None
        for id in row:
            if above is None:
                parts.append(self._merged([side.opening if side else None for side in self._sides]))
            else:
                parts.append(self._between(above, id, written))
            parts.append(written[id].data)
            above = id
        parts.append(self._merged([side.closing if side else None for side in self._sides]))
        return b"".join(parts)

    def _between(self, above: Id, id: Id, written: Mapping[Id, _Written]) -> bytes:
        """The blank lines between two sections: as where they stand so, else as they stood before one."""
        standing = [
            side.before[id] if side and id in side.before and side.previous[id] == above else None
            for side in self._sides
        ]
        if standing[1] is not None or standing[2] is not None:
            return self._merged(standing)
        had = [
            side.before[id] if side and id in side.before and side.previous[id] is not None else None
            for side in self._sides
        ]
        found = self._merged(had)
        lines = len(LINE_END_BYTES.findall(found))
        is_plain = written[id].heading.startswith(b"#") and b"\n" not in written[id].heading
        if lines > 1 or (lines == 1 and is_plain and b"<" not in written[above].text):
            return found
        return self._ending * 2

    def _merged(self, versions: Sequence[bytes | None]) -> bytes:
        base, ours, theirs = versions
        if ours is None or theirs is None:
            return ours or theirs or b""
        merged = three_way(base, ours, theirs)
        return ours if merged is CLASH or merged is None else merged


def _is_sound(document: Document, tree: Placed, written: Mapping[Id, _Written]) -> bool:
    """Return True if the document is read as the sections that it was made of, each where it belongs."""
    row = [id for id in tree.levels if written[id].data]
    ids: dict[int, Id] = {}
    found = [section for section in document.sections if document.source(section).strip(BLANK)]
    if len(found) != len(row):
        return False
    for section, id in zip(found, row, strict=True):
        ids[section.position] = id
        parent = None if section.parent is None else ids.get(section.parent)
        start, end = own_span(document, section)
        if (
            section.level != tree.levels[id]
            or parent != tree.parents[id]
            or heading_bytes(document, section) != written[id].heading
            or document.data[start:end] != written[id].text
        ):
            return False
    return True
