"""The three-way merge of a document: section by section, key by key.

A pure function of bytes. The result is parsed again and verified: it has the expected sections, each line
that a side added, and no line that a side removed. Otherwise the whole document is a conflict and stays as in
ours. No line of it is invented.

The count of lines catches text that was both rewritten and moved: matching sees that as removed here and
added elsewhere, and the merge would lose or repeat it.

A document has one namespace for link definitions and footnotes, and the first of two definitions counts
(CommonMark 0.31 §4.7). Names that both sides gave to different things are conflicts. So are addresses that
both sides gave to different sections.
"""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.edits.content import MAX_LEVEL
from workspace.markdown.lines import BLANK, BOM, LINE_END_BYTES, LIST_MARKER_BYTES
from workspace.merge.blocks import DEFINITION, normalize_label, parse_blocks
from workspace.merge.conflict import (
    CLASH,
    Conflicts,
    MergedDocument,
    UnitConflict,
    UnitId,
    UnitKind,
    merge_values,
)
from workspace.merge.front_matter import merge_metadata
from workspace.merge.resolutions import fit_content, set_heading_level
from workspace.merge.sections import (
    build_versions,
    find_own_span,
    format_heading,
    merge_heading,
    merge_trees,
    select_sections,
)
from workspace.merge.text import Naming, is_costly, merge_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.merge.conflict import Resolution
    from workspace.merge.sections import Id, MergedTree, SectionVersion

_ANCHOR = re.compile(
    rb"""\{(?::|/\*)?[ \t]*#[^{}\r\n]{1,200}\}|<a (?:id|name)="?[^<>"\r\n]{1,200}"?(?:></a>|/?>)"""
)

# What a merge may write anew: the level of a heading, the number of an item, a task's box.
_MARKS = re.compile(rb"(?:[ \t]*(?:#{1,6}|%b)(?=[ \t]))+(?:[ \t]+\[[ xX]\](?=[ \t]))?" % LIST_MARKER_BYTES)
_SAYS = re.compile(rb"[^\W_]|[^\x00-\x7f]")


def has_no_lost_line(
    base: Document | None, ours: Document, theirs: Document, merged: Document, told: Iterable[bytes]
) -> bool:
    """Return True if each line that a side added is present, and each that it removed is absent.

    Lines of front matter, those that say nothing (a fence, a rule) and those that are `told` in a conflict
    are left out. Of a line that stood several times in base, and that both sides have, they may have removed
    or added the same one or two, so its number may be anything between the versions'.
    """
    was, mine, yours, kept = (_list_lines(document) for document in (base, ours, theirs, merged))
    common = was & mine & yours & kept
    was, mine, yours, kept = (_normalize_lines(lines - common) for lines in (was, mine, yours, kept))
    left_out = {said for text in told for said in _normalize_lines(Counter(text.splitlines()))}
    for line in (was | mine | yours | kept).keys() - left_out:
        both = mine[line] + yours[line] - was[line]
        one, other = sorted((mine[line], yours[line]))
        if was[line] > 1 and one:
            one, other = other, one
        least, most = min(both, other), max(both, one)
        if not least <= kept[line] <= most:
            return False
    return True


def _list_lines(document: Document | None) -> Counter[bytes]:
    """Return the lines of a document below its front matter."""
    if document is None:
        return Counter()
    return Counter(document.data[document.front_matter_end :].removeprefix(BOM).splitlines())


def _normalize_lines(lines: Counter[bytes]) -> Counter[bytes]:
    """Return lines without the parts that a merge may rewrite."""
    found: Counter[bytes] = Counter()
    for line, times in lines.items():
        marks = _MARKS.match(line)
        text = _ANCHOR.sub(b"", line[marks.end() :] if marks else line)
        if _SAYS.search(text):
            found[text.strip(b"# \t")] += times
    return found


def find_disputed_definitions(
    base: SectionVersion | None, ours: SectionVersion, theirs: SectionVersion
) -> set[Id]:
    """Return the sections of theirs that redefine a name which ours redefines elsewhere, differently.

    What both define in one section is a conflict of its text. Raises LimitExceeded.
    """
    labels = _find_labels(ours.document) & _find_labels(theirs.document)
    if base is not None:
        labels -= _find_labels(base.document)
    if not labels:
        return set()
    mine, yours = _find_definitions(ours, labels), _find_definitions(theirs, labels)
    return {
        id
        for label, found in yours.items()
        for id, said in found.items()
        if label in mine and id not in mine[label] and said not in mine[label].values()
    }


def _find_labels(document: Document) -> set[bytes]:
    """Return possible labels: some may be inside a code fence."""
    return {normalize_label(found) for found in DEFINITION.finditer(document.data)}


def _find_definitions(side: SectionVersion, labels: set[bytes]) -> dict[bytes, dict[Id, list[bytes]]]:
    """Return the definitions of some names in a side's sections: by name, and then by section."""
    found: dict[bytes, dict[Id, list[bytes]]] = {}
    for id in side.sections:
        text = side.text(id)
        if is_costly(text) or not any(normalize_label(item) in labels for item in DEFINITION.finditer(text)):
            continue
        for piece in parse_blocks(text):
            if piece.label in labels:
                # Of two in one section the first counts.
                found.setdefault(piece.label, {}).setdefault(id, piece.text.split())
    return found


def find_clashing_sections(
    document: Document,
    row: Sequence[Id],
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
) -> set[Id]:
    """Return the sections of theirs whose address, or name below their parent, ours also uses.

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
            mine = [id for id in ids if _is_newly_named(id, base, ours)]
            yours = [id for id in ids if _is_newly_named(id, base, theirs)]
            if any(id not in yours for id in mine):
                clashes.update(id for id in yours if id not in mine)
    return clashes


def _is_newly_named(id: Id, base: SectionVersion | None, side: SectionVersion) -> bool:
    """Return True if a side added a section, or renamed it."""
    now = side.sections.get(id)
    was = base.sections.get(id) if base else None
    return now is not None and (was is None or (was.slug, was.anchor) != (now.slug, now.anchor))


_ROUNDS = 3
_NONE: Mapping[UnitId, Resolution] = MappingProxyType({})


class _WrittenSection(NamedTuple):
    """A section of the merged document."""

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
    """Return the merge of both sides over `base` (None where both added the document), and its conflicts.

    Raises InvalidResolution for a decision that cannot be; LimitExceeded for too many lines or blocks.
    """
    data = merge_values(None if base is None else base.data, ours.data, theirs.data)
    if data is not CLASH:
        return MergedDocument(ours.data if data is None else data, ())
    base, ours, theirs = _unify_line_endings(base, ours, theirs)
    conflicts = Conflicts(resolutions, ours.ending, fit_content)
    merged = _merge(base, ours, theirs, conflicts)
    if merged is None:
        conflicts = Conflicts(resolutions, ours.ending, fit_content)
        whole = UnitConflict(UnitId(UnitKind.DOCUMENT), base.data if base else None, ours.data, theirs.data)
        merged = conflicts.decide(whole) or b""
    return MergedDocument(merged, tuple(conflicts), conflicts.resolved)


def _unify_line_endings(
    base: Document | None, ours: Document, theirs: Document
) -> tuple[Document | None, Document, Document]:
    """Return the versions with equal line endings, if each has one kind and one side changed it."""
    endings = [
        None if document is None else {*LINE_END_BYTES.findall(document.data)}
        for document in (base, ours, theirs)
    ]
    if any(found is not None and len(found) > 1 for found in endings):
        return base, ours, theirs
    known = [next(iter(found), None) if found else None for found in endings]
    if len({ending for ending in known if ending}) < 2:
        return base, ours, theirs
    merged = merge_values(*known)
    ending = ours.ending if merged is CLASH or merged is None else merged
    return (
        None if base is None else _convert_line_endings(base, ending),
        _convert_line_endings(ours, ending),
        _convert_line_endings(theirs, ending),
    )


def _convert_line_endings(document: Document, ending: bytes) -> Document:
    return Document.parse(LINE_END_BYTES.sub(ending, document.data), document.path)


def _merge(base: Document | None, ours: Document, theirs: Document, conflicts: Conflicts) -> bytes | None:
    """Return the merged document; None if it would not be parsed as its own parts."""
    was, mine, yours = build_versions(base, ours, theirs)
    left_out: set[Id] = set()
    as_ours: set[Id] = set()
    disputed = find_disputed_definitions(was, mine, yours)
    head = _mark(base, ours, theirs) + merge_metadata(base, ours, theirs, conflicts)
    saved = conflicts.count()
    for _ in range(_ROUNDS):
        conflicts.truncate(saved)
        kept = select_sections(was, mine, yours, conflicts)
        for id in left_out:
            kept -= {id, *(item for item in yours.below(id) if item not in mine.sections)}
        tree = merge_trees(was, mine, yours, kept, conflicts)
        if any(level > MAX_LEVEL for level in tree.levels.values()):
            return None
        writing = _SectionWriter(was, mine, yours, tree, conflicts, ours.ending, as_ours, disputed)
        written = {id: writing.section(id) for id in tree.levels}
        data = writing.joined(head, written)
        document = ours if data == ours.data else Document.parse(data, ours.path)
        if not _is_sound(document, tree, written):
            return None
        row = [id for id in tree.levels if written[id].data]
        added = {id for id in row if id[0] == "theirs"}
        clashes = (
            (find_clashing_sections(document, row, was, mine, yours) | disputed & added) - left_out - as_ours
        )
        undecided = {id for id in clashes if not _is_wanted(was, mine, yours, id, conflicts)}
        if not undecided:
            return data if has_no_lost_line(base, ours, theirs, document, conflicts.versions) else None
        left_out |= {id for id in undecided if id not in mine.sections}
        as_ours |= {id for id in undecided if id in mine.sections}
        saved = _keep_address_conflicts(was, mine, yours, undecided, conflicts, saved)
    return None


def _keep_address_conflicts(
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
    ids: set[Id],
    conflicts: Conflicts,
    saved: tuple[int, int],
) -> tuple[int, int]:
    """Keep the conflicts of clashing addresses before those of the next round."""
    conflicts.truncate(saved)
    for id in sorted(ids):
        _is_wanted(base, ours, theirs, id, conflicts)
    return conflicts.count()


def _is_wanted(
    base: SectionVersion | None, ours: SectionVersion, theirs: SectionVersion, id: Id, conflicts: Conflicts
) -> bool:
    """Return True if a section or heading of theirs stays by a resolution though its address is taken."""
    if id not in ours.sections:
        unit = UnitId(UnitKind.SECTION, theirs.sections[id].key)
        return conflicts.is_for_theirs(UnitConflict(unit, None, None, theirs.whole(id)))
    versions = [
        format_heading(*side.heading(id)) if side and id in side.sections else None
        for side in (base, ours, theirs)
    ]
    unit = UnitId(UnitKind.HEADING, _key(id, base, ours, theirs))
    return conflicts.is_for_theirs(UnitConflict(unit, *versions))


def _mark(base: Document | None, ours: Document, theirs: Document) -> bytes:
    """Return the byte-order mark, if the merged document has one."""
    marks = [document is not None and document.data.startswith(BOM) for document in (base, ours, theirs)]
    has_mark = merge_values(*marks)
    return BOM if has_mark is True or (has_mark is CLASH and marks[1]) else b""


def _key(id: Id, *versions: SectionVersion | None) -> str:
    return next(side.sections[id].key for side in versions if side and id in side.sections)


class _SectionWriter:
    """The writing of the sections of a merged document, and their concatenation."""

    def __init__(
        self,
        base: SectionVersion | None,
        ours: SectionVersion,
        theirs: SectionVersion,
        tree: MergedTree,
        conflicts: Conflicts,
        ending: bytes,
        as_ours: set[Id],
        disputed: set[Id],
    ) -> None:
        self._sides = base, ours, theirs
        self._tree, self._conflicts, self._ending = tree, conflicts, ending
        self._as_ours, self._disputed = as_ours, disputed

    def section(self, id: Id) -> _WrittenSection:
        """Return a section's heading and own text, merged."""
        base, ours, theirs = (side if side and id in side.sections else None for side in self._sides)
        level = self._tree.levels[id]
        if ours is None or theirs is None:
            side = ours or theirs
            assert side is not None
            return _WrittenSection(
                format_heading(*side.heading(id), level), side.lead(id) or b"", side.text(id)
            )
        heading = format_heading(*ours.heading(id), level)
        if id not in self._as_ours:
            found = merge_heading(
                base.heading(id) if base else None, ours.heading(id), theirs.heading(id), level
            )
            heading = self._decided_heading(id, heading) if found is None else found
        texts = (base.text(id) if base else None), ours.text(id), theirs.text(id)
        if id in self._disputed:
            unit = UnitId(UnitKind.TEXT, _key(id, *self._sides))
            text = self._conflicts.decide(UnitConflict(unit, *texts)) or b""
        else:
            text = merge_text(*texts, self._naming(id), self._ending, self._conflicts)
        lead = merge_values(base.lead(id) if base else None, ours.lead(id), theirs.lead(id))
        if lead is CLASH or lead is None:
            lead = ours.lead(id) or theirs.lead(id) or self._ending * 2
        return _WrittenSection(heading, lead, text)

    def _decided_heading(self, id: Id, ours: bytes) -> bytes:
        versions = [
            format_heading(*side.heading(id)) if side and id in side.sections else None
            for side in self._sides
        ]
        unit = UnitId(UnitKind.HEADING, _key(id, *self._sides))
        decided = self._conflicts.decide(UnitConflict(unit, *versions))
        if decided is None or decided == versions[1]:
            return ours
        if decided == versions[2] and self._sides[2]:
            return format_heading(*self._sides[2].heading(id), self._tree.levels[id])
        return set_heading_level(decided, self._tree.levels[id])

    def _naming(self, id: Id) -> Naming:
        def task(version: int, offset: int) -> str | None:
            side = self._sides[version]
            if side is None or id not in side.sections:
                return None
            section = side.sections[id]
            place = find_own_span(side.document, section)[0] + offset
            found = (item for item in side.document.tasks(section) if item.start == place)
            index = next((item.index for item in found), None)
            return None if index is None else f"{_key(id, *self._sides)}[{index}]"

        return Naming(_key(id, *self._sides), task)

    def joined(self, head: bytes, written: Mapping[Id, _WrittenSection]) -> bytes:
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

    def _between(self, above: Id, id: Id, written: Mapping[Id, _WrittenSection]) -> bytes:
        """Return the blank lines between two sections: those where they are adjacent, else the usual ones."""
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
        merged = merge_values(base, ours, theirs)
        return ours if merged is CLASH or merged is None else merged


def _is_sound(document: Document, tree: MergedTree, written: Mapping[Id, _WrittenSection]) -> bool:
    """Return True if the document parses as the sections that it was built from, each at its position."""
    row = [id for id in tree.levels if written[id].data]
    ids: dict[int, Id] = {}
    found = [section for section in document.sections if document.source(section).strip(BLANK)]
    if len(found) != len(row):
        return False
    for section, id in zip(found, row, strict=True):
        ids[section.position] = id
        parent = None if section.parent is None else ids.get(section.parent)
        start, end = find_own_span(document, section)
        if (
            section.level != tree.levels[id]
            or parent != tree.parents[id]
            or format_heading(document, section) != written[id].heading
            or document.data[start:end] != written[id].text
        ):
            return False
    return True
