"""The three-way merge of a document: section by section, key by key.

The merge is a pure function of bytes. The result is parsed and verified: it has the expected sections, each
line that a side added, and no line that a side removed. Otherwise the full document is a conflict, and the
version of ours is preserved.

The count of lines detects text that was both rewritten and moved. The matching of blocks treats such text as
removed and as added at another position, so the merge would lose or repeat it.

A document has one namespace for link definitions and footnotes, and the first of two definitions counts
(CommonMark 0.31 §4.7). If both sides add different definitions of a name, they are a conflict. Different
sections to which both sides gave the same address are also a conflict.
"""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.edits.content import MAX_LEVEL
from workspace.markdown.lines import BLANK, BOM, LINE_END_BYTES, LIST_MARKER_BYTES
from workspace.merge.block_alignment import DEFINITION, normalize_label, parse_blocks
from workspace.merge.blocks import UnitNames, is_costly, merge_text
from workspace.merge.conflict import (
    CLASH,
    Conflicts,
    MergedDocument,
    UnitConflict,
    UnitId,
    UnitKind,
    merge_values,
)
from workspace.merge.front_matter import merge_front_matter
from workspace.merge.resolutions import fit_content, set_heading_level
from workspace.merge.sections import (
    build_versions,
    find_own_span,
    format_heading,
    merge_heading,
    merge_trees,
    select_sections,
)
from workspace.merge.union import ANCHOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.merge.conflict import Resolution
    from workspace.merge.sections import MergedTree, SectionId, SectionVersion

# A merge may rewrite the level of a heading, the number of an item, and a task's box.
_LINE_MARKERS = re.compile(
    rb"(?:[ \t]*(?:#{1,6}|%b)(?=[ \t]))+(?:[ \t]+\[[ xX]\](?=[ \t]))?" % LIST_MARKER_BYTES
)
_TEXT_CHARACTER = re.compile(rb"[^\W_]|[^\x00-\x7f]")


def preserves_all_lines(
    base: Document | None,
    ours: Document,
    theirs: Document,
    merged_document: Document,
    conflict_texts: Iterable[bytes],
) -> bool:
    """Return True if each line that a side added is present, and each line that it removed is absent.

    Lines of front matter, lines without words (a fence, a rule) and lines of `conflict_texts` are not
    counted. If a line occurs several times in base, both sides may have removed or added the same occurrence.
    Its count may then be any number between the counts of the versions.
    """
    base_counts, our_counts, their_counts, merged_counts = (
        _count_lines(document) for document in (base, ours, theirs, merged_document)
    )
    common_counts = base_counts & our_counts & their_counts & merged_counts
    base_counts, our_counts, their_counts, merged_counts = (
        _normalize_lines(lines - common_counts)
        for lines in (base_counts, our_counts, their_counts, merged_counts)
    )
    ignored_lines = {line for text in conflict_texts for line in _normalize_lines(Counter(text.splitlines()))}
    for line in (base_counts | our_counts | their_counts | merged_counts).keys() - ignored_lines:
        combined_count = our_counts[line] + their_counts[line] - base_counts[line]
        min_side_count, max_side_count = sorted((our_counts[line], their_counts[line]))
        if base_counts[line] > 1 and min_side_count:
            min_side_count, max_side_count = max_side_count, min_side_count
        min_count, max_count = min(combined_count, max_side_count), max(combined_count, min_side_count)
        if not min_count <= merged_counts[line] <= max_count:
            return False
    return True


def _count_lines(document: Document | None) -> Counter[bytes]:
    """Return the lines of a document below its front matter, with their counts."""
    if document is None:
        return Counter()
    return Counter(document.data[document.front_matter_end :].removeprefix(BOM).splitlines())


def _normalize_lines(lines: Counter[bytes]) -> Counter[bytes]:
    """Return lines with their counts, without the parts that a merge may rewrite."""
    result: Counter[bytes] = Counter()
    for line, count in lines.items():
        markers = _LINE_MARKERS.match(line)
        text = ANCHOR.sub(b"", line[markers.end() :] if markers else line)
        if _TEXT_CHARACTER.search(text):
            result[text.strip(b"# \t")] += count
    return result


def find_disputed_definitions(
    base: SectionVersion | None, ours: SectionVersion, theirs: SectionVersion
) -> set[SectionId]:
    """Return the sections of theirs that define a name differently than another section of ours.

    Different definitions in the same section are a conflict of its text. Raises LimitExceeded.
    """
    labels = _find_labels(ours.document) & _find_labels(theirs.document)
    if base is not None:
        labels -= _find_labels(base.document)
    if not labels:
        return set()
    our_definitions, their_definitions = _find_definitions(ours, labels), _find_definitions(theirs, labels)
    return {
        id
        for label, definitions in their_definitions.items()
        for id, words in definitions.items()
        if label in our_definitions
        and id not in our_definitions[label]
        and words not in our_definitions[label].values()
    }


def _find_labels(document: Document) -> set[bytes]:
    """Return the possible labels of a document, including labels in code fences."""
    return {normalize_label(match) for match in DEFINITION.finditer(document.data)}


def _find_definitions(side: SectionVersion, labels: set[bytes]) -> dict[bytes, dict[SectionId, list[bytes]]]:
    """Return the definitions of some names in a side's sections, by name and section."""
    result: dict[bytes, dict[SectionId, list[bytes]]] = {}
    for id in side.sections:
        text = side.read_own_text(id)
        if is_costly(text) or not any(
            normalize_label(match) in labels for match in DEFINITION.finditer(text)
        ):
            continue
        for block in parse_blocks(text):
            if block.label in labels:
                # The first definition of a name in a section counts.
                result.setdefault(block.label, {}).setdefault(id, block.text.split())
    return result


def find_clashing_sections(
    document: Document,
    ids: Sequence[SectionId],
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
) -> set[SectionId]:
    """Return the sections of theirs whose address, or slug below their parent, also occurs in ours.

    `ids` are the ids of the document's sections that have bytes, in order.
    """
    sections = [section for section in document.sections if document.source(section).strip(BLANK)]
    groups: dict[tuple[object, ...], list[SectionId]] = {}
    for section, id in zip(sections, ids, strict=True):
        if section.is_preamble:
            continue
        name = ("anchor", section.anchor) if section.anchor else (section.parent, section.slug)
        groups.setdefault(name, []).append(id)
    clashes: set[SectionId] = set()
    for group in groups.values():
        if len(group) > 1:
            our_names = [id for id in group if _is_newly_named(id, base, ours)]
            their_names = [id for id in group if _is_newly_named(id, base, theirs)]
            if any(id not in their_names for id in our_names):
                clashes.update(id for id in their_names if id not in our_names)
    return clashes


def _is_newly_named(id: SectionId, base: SectionVersion | None, side: SectionVersion) -> bool:
    """Return True if a side added a section, or renamed it."""
    section = side.sections.get(id)
    base_section = base.sections.get(id) if base else None
    return section is not None and (
        base_section is None or (base_section.slug, base_section.anchor) != (section.slug, section.anchor)
    )


_MAX_ROUNDS = 3
_NO_RESOLUTIONS: Mapping[UnitId, Resolution] = MappingProxyType({})


class _MergedSection(NamedTuple):
    """A section of the merged document."""

    heading: bytes
    gap_after_heading: bytes
    text: bytes

    @property
    def data(self) -> bytes:
        return self.heading + (self.gap_after_heading if self.heading and self.text else b"") + self.text


def merge_documents(
    base: Document | None,
    ours: Document,
    theirs: Document,
    resolutions: Mapping[UnitId, Resolution] = _NO_RESOLUTIONS,
) -> MergedDocument:
    """Return the merge of both sides over `base` (None where both added the document), and its conflicts.

    Raises InvalidResolution, and LimitExceeded for too many lines or blocks.
    """
    data = merge_values(None if base is None else base.data, ours.data, theirs.data)
    if data is not CLASH:
        return MergedDocument(ours.data if data is None else data, ())
    base, ours, theirs = _unify_line_endings(base, ours, theirs)
    conflicts = Conflicts(resolutions, ours.line_ending, fit_content)
    merged_data = _merge_versions(base, ours, theirs, conflicts)
    if merged_data is None:
        conflicts = Conflicts(resolutions, ours.line_ending, fit_content)
        conflict = UnitConflict(
            UnitId(UnitKind.DOCUMENT), base.data if base else None, ours.data, theirs.data
        )
        merged_data = conflicts.resolve(conflict) or b""
    return MergedDocument(merged_data, tuple(conflicts), conflicts.resolved_units)


def _unify_line_endings(
    base: Document | None, ours: Document, theirs: Document
) -> tuple[Document | None, Document, Document]:
    """Return the versions with equal line endings, if each version has one kind of line ending."""
    endings = [
        None if document is None else {*LINE_END_BYTES.findall(document.data)}
        for document in (base, ours, theirs)
    ]
    if any(kinds is not None and len(kinds) > 1 for kinds in endings):
        return base, ours, theirs
    version_endings = [next(iter(kinds), None) if kinds else None for kinds in endings]
    if len({ending for ending in version_endings if ending}) < 2:
        return base, ours, theirs
    merged_ending = merge_values(*version_endings)
    ending = ours.line_ending if merged_ending is CLASH or merged_ending is None else merged_ending
    return (
        None if base is None else _convert_line_endings(base, ending),
        _convert_line_endings(ours, ending),
        _convert_line_endings(theirs, ending),
    )


def _convert_line_endings(document: Document, ending: bytes) -> Document:
    return Document.parse(LINE_END_BYTES.sub(ending, document.data), document.path)


def _merge_versions(
    base: Document | None, ours: Document, theirs: Document, conflicts: Conflicts
) -> bytes | None:
    """Return the merged document; None if it cannot be verified, or if a section would be too deep."""
    base_version, our_version, their_version = build_versions(base, ours, theirs)
    omitted_ids: set[SectionId] = set()
    our_heading_ids: set[SectionId] = set()
    disputed_ids = find_disputed_definitions(base_version, our_version, their_version)
    front_matter = _merge_byte_order_mark(base, ours, theirs) + merge_front_matter(
        base, ours, theirs, conflicts
    )
    conflict_counts = conflicts.count()
    for _ in range(_MAX_ROUNDS):
        conflicts.truncate(conflict_counts)
        selected_ids = select_sections(base_version, our_version, their_version, conflicts)
        for id in omitted_ids:
            selected_ids -= {
                id,
                *(item for item in their_version.list_below(id) if item not in our_version.sections),
            }
        tree = merge_trees(base_version, our_version, their_version, selected_ids, conflicts)
        if any(level > MAX_LEVEL for level in tree.levels.values()):
            return None
        writer = _SectionWriter(
            base_version,
            our_version,
            their_version,
            tree,
            conflicts,
            ours.line_ending,
            our_heading_ids,
            disputed_ids,
        )
        merged_sections = {id: writer.merge_section(id) for id in tree.levels}
        data = writer.join_sections(front_matter, merged_sections)
        document = ours if data == ours.data else Document.parse(data, ours.path)
        if not _has_expected_sections(document, tree, merged_sections):
            return None
        ids = [id for id in tree.levels if merged_sections[id].data]
        added_ids = {id for id in ids if id[0] == "theirs"}
        clashing_ids = (
            (
                find_clashing_sections(document, ids, base_version, our_version, their_version)
                | disputed_ids & added_ids
            )
            - omitted_ids
            - our_heading_ids
        )
        unresolved_ids = {
            id
            for id in clashing_ids
            if not _resolve_for_theirs(base_version, our_version, their_version, id, conflicts)
        }
        if not unresolved_ids:
            return data if preserves_all_lines(base, ours, theirs, document, conflicts.versions) else None
        omitted_ids |= {id for id in unresolved_ids if id not in our_version.sections}
        our_heading_ids |= {id for id in unresolved_ids if id in our_version.sections}
        conflict_counts = _record_address_conflicts(
            base_version, our_version, their_version, unresolved_ids, conflicts, conflict_counts
        )
    return None


def _record_address_conflicts(
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
    ids: set[SectionId],
    conflicts: Conflicts,
    conflict_counts: tuple[int, int],
) -> tuple[int, int]:
    """Replace the conflicts of a round by those of its clashing addresses, and return their counts."""
    conflicts.truncate(conflict_counts)
    for id in sorted(ids):
        _resolve_for_theirs(base, ours, theirs, id, conflicts)
    return conflicts.count()


def _resolve_for_theirs(
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
    id: SectionId,
    conflicts: Conflicts,
) -> bool:
    """Record the conflict of a section or heading of theirs whose address is in use in ours.

    Return True if a resolution takes the section or heading nevertheless.
    """
    if id not in ours.sections:
        unit = UnitId(UnitKind.SECTION, theirs.sections[id].key)
        return conflicts.resolve_for_theirs(UnitConflict(unit, None, None, theirs.read_full_text(id)))
    versions = [
        format_heading(*side.get_document_section(id)) if side and id in side.sections else None
        for side in (base, ours, theirs)
    ]
    unit = UnitId(UnitKind.HEADING, _find_key(id, base, ours, theirs))
    return conflicts.resolve_for_theirs(UnitConflict(unit, *versions))


def _merge_byte_order_mark(base: Document | None, ours: Document, theirs: Document) -> bytes:
    """Return the byte-order mark, if the merged document has one."""
    have_marks = [document is not None and document.data.startswith(BOM) for document in (base, ours, theirs)]
    has_mark = merge_values(*have_marks)
    return BOM if has_mark is True or (has_mark is CLASH and have_marks[1]) else b""


def _find_key(id: SectionId, *versions: SectionVersion | None) -> str:
    return next(side.sections[id].key for side in versions if side and id in side.sections)


class _SectionWriter:
    """A writer of a merged document, which merges each section and joins the sections."""

    def __init__(
        self,
        base: SectionVersion | None,
        ours: SectionVersion,
        theirs: SectionVersion,
        tree: MergedTree,
        conflicts: Conflicts,
        ending: bytes,
        our_heading_ids: set[SectionId],
        disputed_ids: set[SectionId],
    ) -> None:
        self._sides = base, ours, theirs
        self._tree, self._conflicts, self._ending = tree, conflicts, ending
        self._our_heading_ids, self._disputed_ids = our_heading_ids, disputed_ids

    def merge_section(self, id: SectionId) -> _MergedSection:
        """Return a section's heading and own text, merged."""
        base, ours, theirs = (side if side and id in side.sections else None for side in self._sides)
        level = self._tree.levels[id]
        if ours is None or theirs is None:
            side = ours or theirs
            assert side is not None
            return _MergedSection(
                format_heading(*side.get_document_section(id), level),
                side.read_gap_after_heading(id) or b"",
                side.read_own_text(id),
            )
        heading = format_heading(*ours.get_document_section(id), level)
        if id not in self._our_heading_ids:
            merged_heading = merge_heading(
                base.get_document_section(id) if base else None,
                ours.get_document_section(id),
                theirs.get_document_section(id),
                level,
            )
            heading = (
                self._resolve_heading_conflict(id, heading) if merged_heading is None else merged_heading
            )
        texts = (base.read_own_text(id) if base else None), ours.read_own_text(id), theirs.read_own_text(id)
        if id in self._disputed_ids:
            unit = UnitId(UnitKind.TEXT, _find_key(id, *self._sides))
            text = self._conflicts.resolve(UnitConflict(unit, *texts)) or b""
        else:
            text = merge_text(*texts, self._build_unit_names(id), self._ending, self._conflicts)
        gap_after_heading = merge_values(
            base.read_gap_after_heading(id) if base else None,
            ours.read_gap_after_heading(id),
            theirs.read_gap_after_heading(id),
        )
        if gap_after_heading is CLASH or gap_after_heading is None:
            gap_after_heading = (
                ours.read_gap_after_heading(id) or theirs.read_gap_after_heading(id) or self._ending * 2
            )
        return _MergedSection(heading, gap_after_heading, text)

    def _resolve_heading_conflict(self, id: SectionId, our_heading: bytes) -> bytes:
        versions = [
            format_heading(*side.get_document_section(id)) if side and id in side.sections else None
            for side in self._sides
        ]
        unit = UnitId(UnitKind.HEADING, _find_key(id, *self._sides))
        resolved_heading = self._conflicts.resolve(UnitConflict(unit, *versions))
        if resolved_heading is None or resolved_heading == versions[1]:
            return our_heading
        if resolved_heading == versions[2] and self._sides[2]:
            return format_heading(*self._sides[2].get_document_section(id), self._tree.levels[id])
        return set_heading_level(resolved_heading, self._tree.levels[id])

    def _build_unit_names(self, id: SectionId) -> UnitNames:
        def find_task(version: int, offset: int) -> str | None:
            side = self._sides[version]
            if side is None or id not in side.sections:
                return None
            section = side.sections[id]
            position = find_own_span(side.document, section)[0] + offset
            indexes = (item for item in side.document.tasks(section) if item.start == position)
            index = next((item.index for item in indexes), None)
            return None if index is None else f"{_find_key(id, *self._sides)}[{index}]"

        return UnitNames(_find_key(id, *self._sides), find_task)

    def join_sections(
        self, front_matter: bytes, merged_sections: Mapping[SectionId, _MergedSection]
    ) -> bytes:
        """Return the bytes of the merged document."""
        ids = [id for id in self._tree.levels if merged_sections[id].data]
        parts = [front_matter]
        previous_id: SectionId | None = None
        for id in ids:
            if previous_id is None:
                parts.append(
                    self._merge_blank_lines([side.opening_bytes if side else None for side in self._sides])
                )
            else:
                parts.append(self._find_blank_lines(previous_id, id, merged_sections))
            parts.append(merged_sections[id].data)
            previous_id = id
        parts.append(self._merge_blank_lines([side.closing_bytes if side else None for side in self._sides]))
        return b"".join(parts)

    def _find_blank_lines(
        self, previous: SectionId, id: SectionId, merged_sections: Mapping[SectionId, _MergedSection]
    ) -> bytes:
        """Return the blank lines between two sections.

        They are copied from the versions in which the sections are adjacent; otherwise a default is returned.
        """
        adjacent_gaps = [
            side.gaps_before[id]
            if side and id in side.gaps_before and side.previous_ids[id] == previous
            else None
            for side in self._sides
        ]
        if adjacent_gaps[1] is not None or adjacent_gaps[2] is not None:
            return self._merge_blank_lines(adjacent_gaps)
        preceding_gaps = [
            side.gaps_before[id]
            if side and id in side.gaps_before and side.previous_ids[id] is not None
            else None
            for side in self._sides
        ]
        merged_gap = self._merge_blank_lines(preceding_gaps)
        line_count = len(LINE_END_BYTES.findall(merged_gap))
        is_plain = merged_sections[id].heading.startswith(b"#") and b"\n" not in merged_sections[id].heading
        if line_count > 1 or (line_count == 1 and is_plain and b"<" not in merged_sections[previous].text):
            return merged_gap
        return self._ending * 2

    def _merge_blank_lines(self, versions: Sequence[bytes | None]) -> bytes:
        base, ours, theirs = versions
        if ours is None or theirs is None:
            return ours or theirs or b""
        merged_lines = merge_values(base, ours, theirs)
        return ours if merged_lines is CLASH or merged_lines is None else merged_lines


def _has_expected_sections(
    document: Document, tree: MergedTree, merged_sections: Mapping[SectionId, _MergedSection]
) -> bool:
    """Return True if the document is parsed as the sections from which it was built, each at its position."""
    expected_ids = [id for id in tree.levels if merged_sections[id].data]
    ids: dict[int, SectionId] = {}
    sections = [section for section in document.sections if document.source(section).strip(BLANK)]
    if len(sections) != len(expected_ids):
        return False
    for section, id in zip(sections, expected_ids, strict=True):
        ids[section.position] = id
        parent = None if section.parent is None else ids.get(section.parent)
        start, end = find_own_span(document, section)
        if (
            section.level != tree.levels[id]
            or parent != tree.parents[id]
            or format_heading(document, section) != merged_sections[id].heading
            or document.data[start:end] != merged_sections[id].text
        ):
            return False
    return True
