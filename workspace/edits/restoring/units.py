"""A document as a row of units: its front matter, its sections' own texts, and the blank lines between them.

Undoing compares three versions unit by unit, so the units of one section have one id in all of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.carry import Twins
from workspace.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document import Document, Section

Id = tuple[str, int | bytes]
"""Names a unit: the version in which it was met first, and its position (or its key) there."""


class Unit(NamedTuple):
    """A section's own bytes without the blank lines behind them, which are `gap` (None for the last unit).

    `start` is where it stands in its document, `key` its address there, `parent` the unit above it.
    """

    id: Id
    text: bytes
    gap: bytes | None = None
    level: int = 1
    parent: Id | None = None
    key: str = ""
    start: int = 0


class Row(NamedTuple):
    """A document in parts: all before its first section, its units, and the blank lines at its end."""

    head: bytes
    units: tuple[Unit, ...]
    end: bytes


def row_of(document: Document, ids: Mapping[int, Id]) -> Row:
    """The units of a document; `ids` by the position of their sections."""
    sections = document.sections
    if not sections:
        return Row(document.data, (), b"")
    units: list[Unit] = []
    gap = b""
    for item in sections:
        source = document.source(item)
        text = source.rstrip(BLANK)
        gap = source[len(text) :]
        parent = None if item.parent is None else ids[item.parent]
        units.append(Unit(ids[item.position], text, gap, item.level, parent, item.key, item.start))
    units[-1] = units[-1]._replace(gap=None)
    return Row(document.data[: sections[0].start], tuple(units), gap)


def identified(base: Document, before: Document, now: Document) -> tuple[dict[int, Id], ...]:
    """The ids of three versions: of what a commit left, of what it found, and of what there is now."""
    left: dict[int, Id] = {item.position: ("base", item.position) for item in base.sections}
    found = _named(before, "before", paired(base, before), left)
    since = paired(base, now)
    present = _named(now, "now", since, left)
    known = set(present.values())
    for position, origin in paired(before, now).items():
        # What the commit took away, and what somebody has put back since, is the same.
        id = found[origin]
        if position not in since and id[0] == "before" and id not in known:
            present[position] = id
            known.add(id)
    return left, found, present


def _named(
    document: Document, version: str, pairs: Mapping[int, int], known: Mapping[int, Id]
) -> dict[int, Id]:
    return {
        item.position: known[pairs[item.position]] if item.position in pairs else (version, item.position)
        for item in document.sections
    }


def paired(old: Document, new: Document) -> dict[int, int]:
    """Which section of an old version each section of a new one was, by position; those that can be told.

    Anchors, slugs and titles tell; what they leave open is told by a text that stands once on each side, or
    by there being only one left of its slug below the same parent.
    """
    twins = Twins(old, new)
    pairs = {item.position: origin.position for item in new.sections if (origin := twins.origin(item))}
    taken = set(pairs.values())
    olds = _by_text(old, [item for item in old.sections if item.position not in taken])
    news = _by_text(new, [item for item in new.sections if item.position not in pairs])
    pairs.update((news[text], olds[text]) for text in news if text in olds)
    _pair_the_last(old, new, pairs)
    return pairs


def _pair_the_last(old: Document, new: Document, pairs: dict[int, int]) -> None:
    """Pairs what is left: of several siblings of one slug the only one that is not told by its text."""
    taken = set(pairs.values())
    left: dict[tuple[int | None, str], list[int]] = {}
    for item in old.sections:
        if item.position not in taken and not item.is_preamble:
            left.setdefault((item.parent, item.slug), []).append(item.position)
    come: dict[tuple[int | None, str], list[int]] = {}
    for item in new.sections:
        above = None if item.parent is None else pairs.get(item.parent)
        if item.position not in pairs and not item.is_preamble and (item.parent is None) == (above is None):
            come.setdefault((above, item.slug), []).append(item.position)
    for name, positions in come.items():
        if len(positions) == 1 and len(left.get(name, ())) == 1:
            pairs[positions[0]] = left[name][0]


def own_text(document: Document, section: Section) -> bytes:
    """What a section says itself, without its heading and the blank lines around it."""
    return document.data[section.body : section.end].strip(BLANK)


def _by_text(document: Document, sections: Sequence[Section]) -> dict[bytes, int]:
    texts = [own_text(document, item) for item in sections]
    times = Counter(texts)
    return {
        text: item.position for item, text in zip(sections, texts, strict=True) if text and times[text] == 1
    }
