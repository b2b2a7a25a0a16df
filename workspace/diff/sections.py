"""Matching of the sections of two versions of a document.

Carrying an address, undoing, merging, comparing and history ask this; `Evidence` says how far each may go.
Ambiguous matches are treated as none: what several sections share matches none of them.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING

from workspace.diff.sequences import match_similar, measure_similarity
from workspace.document.section_text import read_comparable_text, read_own_text, read_whole_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

DESTINATION = re.compile(rb"(?<=\]\()[^()\s]+|(?<=\]: )\S+")
"""A link's destination, which a section that moves has in another form (CommonMark 0.31 §6.3, §4.7)."""

_LEAST = 0.5
_COMPARED = 200  # sections of other documents; of more, none is compared


class Evidence(IntEnum):
    """The evidence that two sections are the same; each level includes those before it.

    `NAME`: anchors, and slugs below the same parent, of which titles and texts choose one. `TEXT`: the same
    text under another name, or being the only one left of its slug. `SIMILARITY`: half of the text.
    """

    NAME = 0
    TEXT = 1
    SIMILARITY = 2


class SectionMatch:
    """The sections of two versions of a document, matched.

    `pairs` are positions in `old` by those in `new`. `ambiguous` are the sections of `new` that one of `old`
    may be by its name, where nothing tells which.
    """

    def __init__(self, old: Document, new: Document, evidence: Evidence) -> None:
        self.old, self.new = old, new
        self.pairs: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self.ambiguous: dict[int, Sequence[Section]] = {}
        if old.data == new.data:
            for item in old.sections:
                self._pair(item, item)
            return
        self._match_anchors()
        self._match_slugs()
        if evidence >= Evidence.TEXT:
            self._match_texts()
            self._match_remaining_siblings()
        if evidence >= Evidence.SIMILARITY:
            self._match_similar()
            self._match_remaining_siblings()  # below the parents that this found

    def origin(self, section: Section) -> Section | None:
        """Return the section of the old version that became this one; None if none did for sure."""
        place = self.pairs.get(section.position)
        return None if place is None else self.old.sections[place]

    def successor(self, section: Section) -> Section | None:
        """Return the section of the new version that was this one; None if none was for sure."""
        place = self._back.get(section.position)
        return None if place is None else self.new.sections[place]

    def removed(self) -> list[Section]:
        """Return the sections of the old version without a match, but for the preamble."""
        return [item for item in self.old.sections if self._is_free(item, self._back)]

    def added(self) -> list[Section]:
        """Return the sections of the new version without a match, but for the preamble."""
        return [item for item in self.new.sections if self._is_free(item, self.pairs)]

    @staticmethod
    def _is_free(section: Section, taken: dict[int, int]) -> bool:
        return section.position not in taken and not section.is_preamble

    def _pair(self, old: Section, new: Section) -> None:
        if old.position not in self._back and new.position not in self.pairs:
            self.pairs[new.position] = old.position
            self._back[old.position] = new.position

    def _match_anchors(self) -> None:
        """Pair what has the same name, where that is an anchor in the old version."""
        before, after = self.old.preamble, self.new.preamble
        if before and after:
            self._pair(before, after)
        for item in self.old.sections:
            if item.anchor and not item.is_preamble and len(self.old.sections_by_address(item.address)) == 1:
                same = self.new.sections_by_address(item.address)
                if len(same) == 1 and not same[0].is_preamble:
                    self._pair(item, same[0])

    def _match_slugs(self) -> None:
        """Pair sections of one slug below one parent."""
        news = _by_slug(self.added())
        pins = {item.position: pin for item in self.removed() if (pin := self._pinned(item))}
        claimed = {pin.position for pin in pins.values()}
        # A parent is before its children, so it has its match when theirs are looked for.
        for (parent, slug), olds in _by_slug(self.removed()).items():
            above = None if parent is None else self._back.get(parent)
            known = parent is None or above is not None
            group = news.get((above, slug), []) if known else []
            others = [item for item in group if item.position not in claimed]
            self._match_group(olds, others, pins)

    def _match_group(
        self, olds: Sequence[Section], others: list[Section], pins: Mapping[int, Section]
    ) -> None:
        pinned = {item.position: pins[item.position] for item in olds if item.position in pins}
        rest = [item for item in olds if item.position not in pinned]
        if pinned and sum(item.anchor is None for item in others) > len(rest):
            # A heading that took over the anchor, or one of the same name next to it: its text must tell.
            rest, others = [*olds], [*others, *pinned.values()]
        else:
            for item in olds:
                if item.position in pinned:
                    self._pair(item, pinned[item.position])
        if len(rest) == len(others) == 1:
            self._pair(rest[0], others[0])
            return
        for feature in (_title, read_own_text, read_whole_text):
            rest, others = self._pair_unique(rest, others, feature)
        if rest and [read_whole_text(self.old, item) for item in rest] == [
            read_whole_text(self.new, item) for item in others
        ]:
            # They are as alike as they were: whichever is meant, the text is the same.
            for old, new in zip(rest, others, strict=True):
                self._pair(old, new)
        elif others:
            self.ambiguous.update((item.position, others) for item in rest)

    def _pinned(self, section: Section) -> Section | None:
        """Return the section that carries a derived address as its anchor: a rename writes it there."""
        if section.anchor is not None:
            return None
        same = self.new.sections_by_address(section.address)
        return same[0] if len(same) == 1 and same[0].anchor == section.address else None

    def _match_texts(self) -> None:
        """Pair sections without a match by a text that is in each version once, in any section."""
        for text in (read_own_text, read_whole_text):
            had, has = _unique(self.old, text), _unique(self.new, text)
            for words, old in had.items():
                new = has.get(words)
                if new:
                    self._pair(old, new)

    def _match_remaining_siblings(self) -> None:
        """Pair the only one that is left of a slug below a parent."""
        olds = _by_slug(self.removed())
        for (parent, slug), news in _by_slug(self.added()).items():
            above = None if parent is None else self.pairs.get(parent)
            left = olds.get((above, slug), ()) if parent is None or above is not None else ()
            if len(news) == len(left) == 1:
                self._pair(left[0], news[0])

    def _match_similar(self) -> None:
        olds, news = self.removed(), self.added()
        if olds and news:
            lines = [_lines(self.old, item) for item in olds], [_lines(self.new, item) for item in news]
            for one, other in match_similar(*lines, _LEAST).items():
                self._pair(olds[one], news[other])

    def _pair_unique(
        self,
        olds: Sequence[Section],
        news: Sequence[Section],
        feature: Callable[[Document, Section], str | bytes],
    ) -> tuple[list[Section], list[Section]]:
        """Pair those of which a feature is found once on each side; return the others."""
        had = Counter(feature(self.old, item) for item in olds)
        has = Counter(feature(self.new, item) for item in news)
        known = {feature(self.new, item): item for item in news}
        for item in olds:
            value = feature(self.old, item)
            if value and had[value] == has[value] == 1:
                self._pair(item, known[value])
        return (
            [item for item in olds if item.position not in self._back],
            [item for item in news if item.position not in self.pairs],
        )


def find_moved_section(
    document: Document,
    section: Section,
    others: Iterable[tuple[Document | None, Document]],
    evidence: Evidence,
) -> tuple[Document, Section] | None:
    """Return the section of another document that this one became; None if there is not exactly one.

    It is the only new one of its text and its name; else, by similarity, the most similar new one of its
    name. `others` are documents that changed with it, each without (None if there was none) and with it.
    """
    others, words = [*others], read_comparable_text(document, section)
    same = [
        (there, item)
        for before, there in others
        if words and not (before and _of_text(before, words))
        for item in _of_text(there, words)
        if is_same_name(section, item)
    ]
    if len(same) == 1 or evidence < Evidence.SIMILARITY:
        return same[0] if len(same) == 1 else None
    found: list[tuple[Document, Section]] = []
    for before, there in others:
        named = [item for item in there.sections if not item.is_preamble and is_same_name(section, item)]
        if named and before is not None:
            known = SectionMatch(there, before, Evidence.NAME)
            named = [item for item in named if known.successor(item) is None]
        found += [(there, item) for item in named]
    if len(found) > _COMPARED:
        return None
    lines = _lines(document, section)
    shares = [measure_similarity(lines, _lines(there, item)) for there, item in found]
    most = max(shares, default=0.0)
    return found[shares.index(most)] if most >= _LEAST and shares.count(most) == 1 else None


def is_same_name(one: Section, other: Section) -> bool:
    """Return True if sections of two documents have one name: a move writes the address as an anchor."""
    return (
        one.slug == other.slug
        or other.anchor == one.address
        or (one.anchor is not None and one.anchor == other.address)
    )


def _title(document: Document, section: Section) -> str:
    return section.title


def _by_slug(sections: Iterable[Section]) -> dict[tuple[int | None, str], list[Section]]:
    found: dict[tuple[int | None, str], list[Section]] = {}
    for item in sections:
        found.setdefault((item.parent, item.slug), []).append(item)
    return found


def _unique(document: Document, text: Callable[[Document, Section], bytes]) -> dict[bytes, Section]:
    """Return the texts that one section alone has, with that section."""
    texts = [text(document, item) for item in document.sections]
    times = Counter(texts)
    return {
        words: item
        for words, item in zip(texts, document.sections, strict=True)
        if words and times[words] == 1
    }


def _of_text(document: Document, words: bytes) -> list[Section]:
    return [item for item in document.sections if read_comparable_text(document, item) == words]


def _lines(document: Document, section: Section) -> Counter[bytes]:
    text = DESTINATION.sub(b"", read_comparable_text(document, section))
    return Counter(line for line in text.splitlines() if line.strip())
