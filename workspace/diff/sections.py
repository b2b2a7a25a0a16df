"""Match the sections of two versions of a document.

Address mapping, undo, merge, comparison and history use this matching. `Evidence` is the weakest evidence
that a caller accepts. Ambiguous matches are omitted: a feature that several sections share matches none of
them.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from workspace.diff.sequences import match_similar, measure_similarity
from workspace.document.section_text import read_comparable_text, read_full_text, read_own_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

_MIN_SIMILARITY = 0.5
_MAX_CANDIDATES = 200  # sections of other documents; above this number no section is compared


class Evidence(IntEnum):
    """The evidence that two sections are the same; each level includes the levels before it.

    `NAME`: equal anchors, or equal slugs below the same parent, with titles and texts to choose among several
    sections. `TEXT`: equal text under another name, or the only remaining section of a slug. `SIMILARITY`:
    at least half of the text is equal.
    """

    NAME = 0
    TEXT = 1
    SIMILARITY = 2


class SectionMatch:
    """The matched sections of two versions of a document.

    `pairs` maps positions in `new` to positions in `old`. `ambiguous_candidates` maps a position in `old`
    to the sections of `new` that match it equally well by name.
    """

    def __init__(self, old: Document, new: Document, evidence: Evidence) -> None:
        self.old, self.new = old, new
        self.pairs: dict[int, int] = {}
        self._new_positions: dict[int, int] = {}
        self.ambiguous_candidates: dict[int, Sequence[Section]] = {}
        if old.data == new.data:
            for item in old.sections:
                self._add_pair(item, item)
            return
        self._match_anchors()
        self._match_slugs()
        if evidence >= Evidence.TEXT:
            self._match_texts()
            self._match_remaining_siblings()
        if evidence >= Evidence.SIMILARITY:
            self._match_similar_sections()
            self._match_remaining_siblings()  # the children of newly matched parents

    def find_origin(self, section: Section) -> Section | None:
        """Return the matching section of the old version; None if no match is unambiguous."""
        position = self.pairs.get(section.position)
        return None if position is None else self.old.sections[position]

    def find_successor(self, section: Section) -> Section | None:
        """Return the matching section of the new version; None if no match is unambiguous."""
        position = self._new_positions.get(section.position)
        return None if position is None else self.new.sections[position]

    def list_removed(self) -> list[Section]:
        """Return the sections of the old version without a match, except for the preamble."""
        return [item for item in self.old.sections if self._is_unmatched(item, self._new_positions)]

    def list_added(self) -> list[Section]:
        """Return the sections of the new version without a match, except for the preamble."""
        return [item for item in self.new.sections if self._is_unmatched(item, self.pairs)]

    @staticmethod
    def _is_unmatched(section: Section, matched_positions: dict[int, int]) -> bool:
        return section.position not in matched_positions and not section.is_preamble

    def _add_pair(self, old: Section, new: Section) -> None:
        if old.position not in self._new_positions and new.position not in self.pairs:
            self.pairs[new.position] = old.position
            self._new_positions[old.position] = new.position

    def _match_anchors(self) -> None:
        """Pair the preambles, and sections of the same address if it is an anchor in the old version."""
        old_preamble, new_preamble = self.old.preamble, self.new.preamble
        if old_preamble and new_preamble:
            self._add_pair(old_preamble, new_preamble)
        for item in self.old.sections:
            if item.anchor and not item.is_preamble and len(self.old.sections_by_address(item.address)) == 1:
                namesakes = self.new.sections_by_address(item.address)
                if len(namesakes) == 1 and not namesakes[0].is_preamble:
                    self._add_pair(item, namesakes[0])

    def _match_slugs(self) -> None:
        """Pair sections of the same slug and parent, and sections whose address became their anchor."""
        new_groups = _group_by_slug(self.list_added())
        anchored_successors = {
            item.position: anchored_successor
            for item in self.list_removed()
            if (anchored_successor := self._find_anchored_successor(item))
        }
        successor_positions = {
            anchored_successor.position for anchored_successor in anchored_successors.values()
        }
        # A parent precedes its children, so it is matched before them.
        for (parent, slug), old_group in _group_by_slug(self.list_removed()).items():
            new_parent = None if parent is None else self._new_positions.get(parent)
            has_parent_match = parent is None or new_parent is not None
            group = new_groups.get((new_parent, slug), []) if has_parent_match else []
            other_sections = [item for item in group if item.position not in successor_positions]
            self._match_group(old_group, other_sections, anchored_successors)

    def _match_group(
        self,
        old_group: Sequence[Section],
        new_group: list[Section],
        anchored_successors: Mapping[int, Section],
    ) -> None:
        successors_by_position = {
            item.position: anchored_successors[item.position]
            for item in old_group
            if item.position in anchored_successors
        }
        remaining_sections = [item for item in old_group if item.position not in successors_by_position]
        if successors_by_position and sum(item.anchor is None for item in new_group) > len(
            remaining_sections
        ):
            # Another heading may have taken over the anchor, or has the same name: compare their texts.
            remaining_sections, new_group = [*old_group], [*new_group, *successors_by_position.values()]
        else:
            for item in old_group:
                if item.position in successors_by_position:
                    self._add_pair(item, successors_by_position[item.position])
        if len(remaining_sections) == len(new_group) == 1:
            self._add_pair(remaining_sections[0], new_group[0])
            return
        for read_feature in (_read_title, read_own_text, read_full_text):
            remaining_sections, new_group = self._pair_unique(remaining_sections, new_group, read_feature)
        if remaining_sections and [read_full_text(self.old, item) for item in remaining_sections] == [
            read_full_text(self.new, item) for item in new_group
        ]:
            # The texts are equal on both sides, so any assignment has the same result.
            for old, new in zip(remaining_sections, new_group, strict=True):
                self._add_pair(old, new)
        elif new_group:
            self.ambiguous_candidates.update((item.position, new_group) for item in remaining_sections)

    def _find_anchored_successor(self, section: Section) -> Section | None:
        """Return the new section whose anchor is the derived address of an old section, as after a rename."""
        if section.anchor is not None:
            return None
        namesakes = self.new.sections_by_address(section.address)
        return namesakes[0] if len(namesakes) == 1 and namesakes[0].anchor == section.address else None

    def _match_texts(self) -> None:
        """Pair sections without a match by a text that occurs once in each version, in any section."""
        for read_text in (read_own_text, read_full_text):
            old_texts = _find_unique_texts(self.old, read_text)
            new_texts = _find_unique_texts(self.new, read_text)
            for text, old in old_texts.items():
                new = new_texts.get(text)
                if new:
                    self._add_pair(old, new)

    def _match_remaining_siblings(self) -> None:
        """Pair the only remaining section of a slug below a parent."""
        old_groups = _group_by_slug(self.list_removed())
        for (parent, slug), new_group in _group_by_slug(self.list_added()).items():
            old_parent = None if parent is None else self.pairs.get(parent)
            remaining_sections = (
                old_groups.get((old_parent, slug), ()) if parent is None or old_parent is not None else ()
            )
            if len(new_group) == len(remaining_sections) == 1:
                self._add_pair(remaining_sections[0], new_group[0])

    def _match_similar_sections(self) -> None:
        old_sections, new_sections = self.list_removed(), self.list_added()
        if old_sections and new_sections:
            lines = (
                [_count_lines(self.old, item) for item in old_sections],
                [_count_lines(self.new, item) for item in new_sections],
            )
            for old_index, new_index in match_similar(*lines, _MIN_SIMILARITY).items():
                self._add_pair(old_sections[old_index], new_sections[new_index])

    def _pair_unique(
        self,
        old_sections: Sequence[Section],
        new_sections: Sequence[Section],
        read_feature: Callable[[Document, Section], str | bytes],
    ) -> tuple[list[Section], list[Section]]:
        """Pair sections by a feature that occurs once on each side, and return the other sections."""
        old_counts = Counter(read_feature(self.old, item) for item in old_sections)
        new_counts = Counter(read_feature(self.new, item) for item in new_sections)
        new_by_feature = {read_feature(self.new, item): item for item in new_sections}
        for item in old_sections:
            feature = read_feature(self.old, item)
            if feature and old_counts[feature] == new_counts[feature] == 1:
                self._add_pair(item, new_by_feature[feature])
        return (
            [item for item in old_sections if item.position not in self._new_positions],
            [item for item in new_sections if item.position not in self.pairs],
        )


def find_moved_section(
    document: Document,
    section: Section,
    changed_documents: Iterable[tuple[Document | None, Document]],
    evidence: Evidence,
) -> tuple[Document, Section] | None:
    """Return the section of another document that a section became; None unless exactly one matches.

    The result is the only new section of the same text and name. Otherwise, with SIMILARITY, the result is
    the most similar new section of the same name. `changed_documents` are documents that changed in the same
    step, as pairs of the version before (or None) and after.
    """
    changed_documents, text = [*changed_documents], read_comparable_text(document, section)
    equal_sections = [
        (other_document, item)
        for old_version, other_document in changed_documents
        if text and not (old_version and _find_by_text(old_version, text))
        for item in _find_by_text(other_document, text)
        if have_same_name(section, item)
    ]
    if len(equal_sections) == 1 or evidence < Evidence.SIMILARITY:
        return equal_sections[0] if len(equal_sections) == 1 else None
    candidates: list[tuple[Document, Section]] = []
    for old_version, other_document in changed_documents:
        namesakes = [
            item for item in other_document.sections if not item.is_preamble and have_same_name(section, item)
        ]
        if namesakes and old_version is not None:
            match = SectionMatch(other_document, old_version, Evidence.NAME)
            namesakes = [item for item in namesakes if match.find_successor(item) is None]
        candidates += [(other_document, item) for item in namesakes]
    if len(candidates) > _MAX_CANDIDATES:
        return None
    lines = _count_lines(document, section)
    similarities = [
        measure_similarity(lines, _count_lines(other_document, item)) for other_document, item in candidates
    ]
    max_similarity = max(similarities, default=0.0)
    return (
        candidates[similarities.index(max_similarity)]
        if max_similarity >= _MIN_SIMILARITY and similarities.count(max_similarity) == 1
        else None
    )


def have_same_name(left: Section, right: Section) -> bool:
    """Return True if sections of two documents have the same name; a move may write the name as an anchor."""
    return (
        left.slug == right.slug
        or right.anchor == left.address
        or (left.anchor is not None and left.anchor == right.address)
    )


def _read_title(document: Document, section: Section) -> str:
    return section.title


def _group_by_slug(sections: Iterable[Section]) -> dict[tuple[int | None, str], list[Section]]:
    groups: dict[tuple[int | None, str], list[Section]] = {}
    for item in sections:
        groups.setdefault((item.parent, item.slug), []).append(item)
    return groups


def _find_unique_texts(
    document: Document, read_text: Callable[[Document, Section], bytes]
) -> dict[bytes, Section]:
    """Return the texts that occur in one section only, with that section."""
    texts = [read_text(document, item) for item in document.sections]
    counts = Counter(texts)
    return {
        text: item for text, item in zip(texts, document.sections, strict=True) if text and counts[text] == 1
    }


def _find_by_text(document: Document, text: bytes) -> list[Section]:
    return [item for item in document.sections if read_comparable_text(document, item) == text]


def _count_lines(document: Document, section: Section) -> Counter[bytes]:
    text = read_comparable_text(document, section)
    return Counter(line for line in text.splitlines() if line.strip())
