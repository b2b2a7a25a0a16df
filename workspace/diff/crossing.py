"""Sections that left one document for another one, of several that changed together.

A section is the one of its text and its name, if both versions have only one of these among what went and
what came; those below it came with it. Where links lead is left out of the text, since a move writes them
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.documents import kept_changes
from workspace.diff.sections import DESTINATION, is_same_name
from workspace.document.section_text import telling_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.diff.changes import SectionChange
    from workspace.diff.documents import Comparison, Version
    from workspace.document.document import Section


class Crossings(NamedTuple):
    """What is told of the sections of a document that left (by their old positions) and that came."""

    gone: dict[int, list[SectionChange]]
    come: dict[int, list[SectionChange]]


class _Found(NamedTuple):
    """A section of a version of one of the documents, by the number of that document."""

    number: int
    version: Version
    section: Section


def crossings(comparisons: Sequence[Comparison | None]) -> list[Crossings]:
    """What crossed between documents, for each of them; none for one that could not be read."""
    told = [Crossings({}, {}) for _ in comparisons]
    for (one, other), pairs in _crossed(comparisons).items():
        old, new = comparisons[one], comparisons[other]
        if old is None or new is None or old.old is None or new.new is None:
            continue
        was, is_now = old.old.document.sections, new.new.document.sections
        # What came along with the section that it stands below has not moved by itself.
        moved = {two for two, at in pairs.items() if pairs.get(_above(is_now[two])) != _above(was[at])}
        changes = kept_changes(old.old, new.new, pairs, moved)
        for two, at in pairs.items():
            told[other].come[two] = changes.get(two, [])
            told[one].gone[at] = changes.get(two, [])[:1] if two in moved else []
    return told


def _above(section: Section) -> int:
    return -1 if section.parent is None else section.parent


def _crossed(comparisons: Sequence[Comparison | None]) -> dict[tuple[int, int], dict[int, int]]:
    """The old positions of sections by their new ones, for each two documents between which any went."""
    went, came = _by_text(_gone(comparisons)), _by_text(_come(comparisons))
    crossed: dict[tuple[int, int], dict[int, int]] = {}
    taken: set[tuple[int, int]] = set()
    for text, olds in went.items():
        news = came.get(text, ())
        if len(olds) != 1 or len(news) != 1:
            continue
        old, new = olds[0], news[0]
        if old.number != new.number and is_same_name(old.section, new.section):
            pairs = crossed.setdefault((old.number, new.number), {})
            pairs[new.section.position] = old.section.position
            taken |= {(old.number, old.section.position)}
    for (one, other), pairs in crossed.items():
        _add_those_below(comparisons[one], comparisons[other], one, pairs, taken)
    return crossed


def _add_those_below(
    old: Comparison | None,
    new: Comparison | None,
    number: int,
    pairs: dict[int, int],
    taken: set[tuple[int, int]],
) -> None:
    """Pairs the only subsections of one name below sections that are paired."""
    if old is None or new is None or old.old is None or new.new is None:
        return
    before, after = old.old.document, new.new.document
    gone = {item.position for item in old.gone}
    come = {item.position for item in new.come}
    waiting = list(pairs.items())
    known = {*pairs.values()}
    while waiting:
        two, one = waiting.pop()
        below: dict[str, list[Section]] = {}
        for item in before.children(before.sections[one]):
            below.setdefault(item.slug, []).append(item)
        for item in after.children(after.sections[two]):
            same = below.pop(item.slug, [])
            if len(same) != 1 or item.position in pairs or item.position not in come:
                continue
            at = same[0].position
            if at in gone and at not in known and (number, at) not in taken:
                pairs[item.position] = at
                known.add(at)
                taken.add((number, at))
                waiting.append((item.position, at))


def _gone(comparisons: Sequence[Comparison | None]) -> Iterator[_Found]:
    for number, item in enumerate(comparisons):
        if item and item.old:
            yield from (_Found(number, item.old, section) for section in item.gone)


def _come(comparisons: Sequence[Comparison | None]) -> Iterator[_Found]:
    for number, item in enumerate(comparisons):
        if item and item.new:
            yield from (_Found(number, item.new, section) for section in item.come)


def _by_text(found: Iterator[_Found]) -> dict[bytes, list[_Found]]:
    texts: dict[bytes, list[_Found]] = {}
    for item in found:
        text = DESTINATION.sub(b"", telling_text(item.version.document, item.section))
        if text and not item.section.is_preamble:
            texts.setdefault(text, []).append(item)
    return texts
