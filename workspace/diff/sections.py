"""Matching of the sections of two versions of a document.

It is used to map addresses, undo, merge, compare, and follow history; `Evidence` states how weak a match each
may use. Ambiguous matches are omitted: a feature that several sections share matches none of them.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from workspace.diff.sequences import match_similar, measure_similarity
from workspace.document.section_text import read_comparable_text, read_full_text, read_own_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

DESTINATION = re.compile(rb"(?<=\]\()[^()\s]+|(?<=\]: )\S+")
"""A link's destination, which changes when its section moves (CommonMark 0.31 §6.3, §4.7)."""

_MIN_SIMILARITY = 0.5
_MAX_CANDIDATES = 200  # sections of other documents; above it none is compared


class Evidence(IntEnum):
    """The evidence that two sections are the same; each level includes those before it.

    `NAME`: equal anchors, or equal slugs below the same parent, with titles and texts to choose among
    several. `TEXT`: equal text under another name, or the only remaining section of a slug. `SIMILARITY`:
    half of the text is equal.
    """

    NAME = 0
    TEXT = 1
    SIMILARITY = 2


class SectionMatch:
    """The matched sections of two versions of a document.

    `pairs` are positions in `old` by those in `new`. `ambiguous` are the sections of `new` that match one of
    `old` equally well by name.
    """

    def __init__(self, old: Document, new: Document, evidence: Evidence) -> None:
        self.old, self.new = old, new
        self.pairs: dict[int, int] = {}
        self._new_positions: dict[int, int] = {}
        self.ambiguous: dict[int, Sequence[Section]] = {}
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
            self._match_similar()
            self._match_remaining_siblings()  # children of parents that match now

    def origin(self, section: Section) -> Section | None:
        """Return the matching section of the old version; None if no match is unambiguous."""
        position = self.pairs.get(section.position)
        return None if position is None else self.old.sections[position]

    def successor(self, section: Section) -> Section | None:
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
    def _is_unmatched(section: Section, matched: dict[int, int]) -> bool:
        return section.position not in matched and not section.is_preamble

    def _add_pair(self, old: Section, new: Section) -> None:
        if old.position not in self._new_positions and new.position not in self.pairs:
            self.pairs[new.position] = old.position
            self._new_positions[old.position] = new.position

    def _match_anchors(self) -> None:
        """Pair sections of the same name, if that is an anchor in the old version."""
        before, after = self.old.preamble, self.new.preamble
        if before and after:
            self._add_pair(before, after)
        for item in self.old.sections:
            if item.anchor and not item.is_preamble and len(self.old.sections_by_address(item.address)) == 1:
                namesakes = self.new.sections_by_address(item.address)
                if len(namesakes) == 1 and not namesakes[0].is_preamble:
                    self._add_pair(item, namesakes[0])

    def _match_slugs(self) -> None:
        """Pair sections of the same slug and parent."""
        news = _group_by_slug(self.list_added())
        pinned_sections = {
            item.position: pinned for item in self.list_removed() if (pinned := self._find_pinned(item))
        }
        claimed = {pinned.position for pinned in pinned_sections.values()}
        # A parent precedes its children, so it is matched before them.
        for (parent, slug), olds in _group_by_slug(self.list_removed()).items():
            new_parent = None if parent is None else self._new_positions.get(parent)
            has_parent_match = parent is None or new_parent is not None
            group = news.get((new_parent, slug), []) if has_parent_match else []
            others = [item for item in group if item.position not in claimed]
            self._match_group(olds, others, pinned_sections)

    def _match_group(
        self, olds: Sequence[Section], others: list[Section], pinned_sections: Mapping[int, Section]
    ) -> None:
        pinned = {
            item.position: pinned_sections[item.position] for item in olds if item.position in pinned_sections
        }
        remaining = [item for item in olds if item.position not in pinned]
        if pinned and sum(item.anchor is None for item in others) > len(remaining):
            # Another heading may have taken over the anchor, or has the same name: compare their texts.
            remaining, others = [*olds], [*others, *pinned.values()]
        else:
            for item in olds:
                if item.position in pinned:
                    self._add_pair(item, pinned[item.position])
        if len(remaining) == len(others) == 1:
            self._add_pair(remaining[0], others[0])
            return
        for feature in (_read_title, read_own_text, read_full_text):
            remaining, others = self._pair_unique(remaining, others, feature)
        if remaining and [read_full_text(self.old, item) for item in remaining] == [
            read_full_text(self.new, item) for item in others
        ]:
            # The texts are equal on both sides, so any assignment has the same result.
            for old, new in zip(remaining, others, strict=True):
                self._add_pair(old, new)
        elif others:
            self.ambiguous.update((item.position, others) for item in remaining)

    def _find_pinned(self, section: Section) -> Section | None:
        """Return the section that has a derived address as its anchor, as a rename writes it."""
        if section.anchor is not None:
            return None
        namesakes = self.new.sections_by_address(section.address)
        return namesakes[0] if len(namesakes) == 1 and namesakes[0].anchor == section.address else None

    def _match_texts(self) -> None:
        """Pair sections without a match by a text that occurs once in each version, in any section."""
        for read in (read_own_text, read_full_text):
            old_texts, new_texts = _find_unique(self.old, read), _find_unique(self.new, read)
            for text, old in old_texts.items():
                new = new_texts.get(text)
                if new:
                    self._add_pair(old, new)

    def _match_remaining_siblings(self) -> None:
        """Pair the only remaining section of a slug below a parent."""
        olds = _group_by_slug(self.list_removed())
        for (parent, slug), news in _group_by_slug(self.list_added()).items():
            old_parent = None if parent is None else self.pairs.get(parent)
            remaining = olds.get((old_parent, slug), ()) if parent is None or old_parent is not None else ()
            if len(news) == len(remaining) == 1:
                self._add_pair(remaining[0], news[0])

    def _match_similar(self) -> None:
        olds, news = self.list_removed(), self.list_added()
        if olds and news:
            lines = (
                [_count_lines(self.old, item) for item in olds],
                [_count_lines(self.new, item) for item in news],
            )
            for old_index, new_index in match_similar(*lines, _MIN_SIMILARITY).items():
                self._add_pair(olds[old_index], news[new_index])

    def _pair_unique(
        self,
        olds: Sequence[Section],
        news: Sequence[Section],
        feature: Callable[[Document, Section], str | bytes],
    ) -> tuple[list[Section], list[Section]]:
        """Pair sections by a feature that occurs once on each side, and return the others."""
        old_counts = Counter(feature(self.old, item) for item in olds)
        new_counts = Counter(feature(self.new, item) for item in news)
        new_by_feature = {feature(self.new, item): item for item in news}
        for item in olds:
            value = feature(self.old, item)
            if value and old_counts[value] == new_counts[value] == 1:
                self._add_pair(item, new_by_feature[value])
        return (
            [item for item in olds if item.position not in self._new_positions],
            [item for item in news if item.position not in self.pairs],
        )


def find_moved_section(
    document: Document,
    section: Section,
    others: Iterable[tuple[Document | None, Document]],
    evidence: Evidence,
) -> tuple[Document, Section] | None:
    """Return the section of another document that this one became; None if there is not exactly one.

    It is the only new section of its text and its name; else, with SIMILARITY, the most similar new one of
    its name. `others` are documents that changed in the same step, as pairs of the version before (or None)
    and after.
    """
    others, text = [*others], read_comparable_text(document, section)
    equal_sections = [
        (other_document, item)
        for old_version, other_document in others
        if text and not (old_version and _find_by_text(old_version, text))
        for item in _find_by_text(other_document, text)
        if have_same_name(section, item)
    ]
    if len(equal_sections) == 1 or evidence < Evidence.SIMILARITY:
        return equal_sections[0] if len(equal_sections) == 1 else None
    candidates: list[tuple[Document, Section]] = []
    for old_version, other_document in others:
        namesakes = [
            item for item in other_document.sections if not item.is_preamble and have_same_name(section, item)
        ]
        if namesakes and old_version is not None:
            match = SectionMatch(other_document, old_version, Evidence.NAME)
            namesakes = [item for item in namesakes if match.successor(item) is None]
        candidates += [(other_document, item) for item in namesakes]
    if len(candidates) > _MAX_CANDIDATES:
        return None
    lines = _count_lines(document, section)
    similarities = [
        measure_similarity(lines, _count_lines(other_document, item)) for other_document, item in candidates
    ]
    highest = max(similarities, default=0.0)
    return (
        candidates[similarities.index(highest)]
        if highest >= _MIN_SIMILARITY and similarities.count(highest) == 1
        else None
    )


def have_same_name(left: Section, right: Section) -> bool:
    """Return True if sections of two documents have the same name; a move writes the address as an anchor."""
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


def _find_unique(document: Document, read: Callable[[Document, Section], bytes]) -> dict[bytes, Section]:
    """Return the texts that occur in one section only, with that section."""
    texts = [read(document, item) for item in document.sections]
    counts = Counter(texts)
    return {
        text: item for text, item in zip(texts, document.sections, strict=True) if text and counts[text] == 1
    }


def _find_by_text(document: Document, text: bytes) -> list[Section]:
    return [item for item in document.sections if read_comparable_text(document, item) == text]


def _count_lines(document: Document, section: Section) -> Counter[bytes]:
    text = DESTINATION.sub(b"", read_comparable_text(document, section))
    return Counter(line for line in text.splitlines() if line.strip())
