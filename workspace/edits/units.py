"""A document as a row of units: its front matter, its sections' own texts, and the blank lines between them.

Undoing compares three versions unit by unit, so the units of one section have one id in all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document.document import Document

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
    found = _named(before, "before", SectionMatch(base, before, Evidence.TEXT).pairs, left)
    since = SectionMatch(base, now, Evidence.TEXT).pairs
    present = _named(now, "now", since, left)
    known = set(present.values())
    for position, origin in SectionMatch(before, now, Evidence.TEXT).pairs.items():
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
