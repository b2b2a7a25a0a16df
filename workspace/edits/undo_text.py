"""The text of a document without the changes of one commit, built from the bytes of three versions.

A commit may move lines from one section to another, or to another document. If one side was changed since
and is not reverted, the other side is not reverted either. Otherwise lines would be lost or duplicated.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import DESTINATION
from workspace.document.document import Document
from workspace.edits.undo_rows import (
    RevertResult,
    SectionUnit,
    UnitRow,
    identify_units,
    read_units,
    revert_row,
)
from workspace.links.offset_map import PreservedSpan
from workspace.markdown.lines import BLANK, Lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document.sections import Section
    from workspace.edits.undo_rows import Id
    from workspace.links.offset_map import Offset

# A move may change the level and the anchor of a heading, so lines are compared without them.
_MARKS = b" \t#>"
_ANCHOR = re.compile(rb"\{(?::|/\*)?[ \t]*#[^{}]*\}\s*$")
_WORD = re.compile(rb"\w|[^\x00-\x7f]")


class PreservedLines(NamedTuple):
    """Lines that a commit removed from unreverted sections (`missing`), and lines that it added to them."""

    missing: frozenset[bytes] = frozenset()
    added: frozenset[bytes] = frozenset()

    @classmethod
    def of(cls, before: bytes, after: bytes) -> PreservedLines:
        """Return the changed lines of a text that is not reverted, before and after the commit."""
        old, new = _read_lines(before), _read_lines(after)
        return cls(old - new, new - old)

    def __or__(self, other: PreservedLines) -> PreservedLines:
        return PreservedLines(self.missing | other.missing, self.added | other.added)

    def __le__(self, other: PreservedLines) -> bool:  # type: ignore[override]
        return self.missing <= other.missing and self.added <= other.added

    def hold(self, before: bytes, after: bytes) -> bool:
        """Return True if a text that a commit changed must also stay as it is."""
        if not self.missing and not self.added:
            return False
        old_lines, new_lines = _read_lines(before), _read_lines(after)
        return not (
            self.missing.isdisjoint(new_lines - old_lines) and self.added.isdisjoint(old_lines - new_lines)
        )


NOTHING = PreservedLines()


def _read_lines(text: bytes) -> frozenset[bytes]:
    """Return the lines with words, without the parts that a move changes."""
    stripped = (_ANCHOR.sub(b"", DESTINATION.sub(b"", line)).strip(_MARKS) for line in text.splitlines())
    return frozenset(line for line in stripped if _WORD.search(line))


_KEY = re.compile(rb"""(?![#\s-])[^:]+:(?=\s|$)""")


class RevertedText(NamedTuple):
    """A document after the revert; `is_sound` if parsing it gives the expected sections.

    `metadata_clashes` are keys of the front matter that later commits have changed. `clashing` are the lines
    of sections that clash. `held` are the sections that stay because of clashes elsewhere. `pieces` are the
    preserved spans of the document, and `renamed` maps its current headings to those after the revert.
    """

    document: Document
    reverted: RevertResult
    is_sound: bool
    has_metadata_changed: bool
    metadata_clashes: tuple[str, ...]
    clashing: PreservedLines
    held: frozenset[Id]
    pieces: tuple[PreservedSpan, ...]
    renamed: dict[Offset, Offset]


def revert_text(
    base: Document, before: Document, now: Document, path: str, held: PreservedLines = NOTHING
) -> RevertedText:
    """Return the document `now`, at a path, without the changes from `before` to `base`.

    Sections with lines in `held` stay as they are.
    """
    ids = identify_units(base, before, now)
    rows = [
        read_units(document, unit_ids) for document, unit_ids in zip((base, before, now), ids, strict=True)
    ]
    base_row, before_row, now_row = rows
    changed = _find_changed(base_row, before_row)
    held_ids = frozenset(id for id, (old, new) in changed.items() if held.hold(old, new))
    reverted = revert_row(base_row.units, before_row.units, now_row.units, held_ids)
    if now.data == base.data and not held_ids:
        # The document is unchanged since the commit, so there are no clashes.
        return _restore_fully(before, reverted._replace(clashes=()), now, path, ids)
    head, metadata_clashes = _revert_front_matter(base_row.head, before_row.head, now_row.head)
    parts = [head]
    starts: list[int] = []
    size = len(head)
    gaps = _Gaps(base_row, before_row, now_row, now.ending)
    for position, unit in enumerate(reverted.units):
        starts.append(size)
        is_last = position + 1 == len(reverted.units)
        part = unit.text + (gaps.end() if is_last else gaps.behind(unit.id))
        parts.append(part)
        size += len(part)
    document = Document.parse(b"".join(parts), path)
    return RevertedText(
        document,
        reverted,
        _is_sound(document, reverted.units, rows)
        and (document.front_matter_error is None or now.front_matter_error is not None),
        head != now_row.head,
        metadata_clashes,
        _find_conflicts(reverted, changed),
        held_ids,
        tuple(_list_preserved_spans(reverted.units, starts, now_row, now.path, path, head)),
        _map_current_headings(document, reverted.units, now, ids[2]),
    )


def _restore_fully(
    before: Document, reverted: RevertResult, now: Document, path: str, ids: tuple[dict[int, Id], ...]
) -> RevertedText:
    """Return the version before the commit, byte for byte, of a document that is unchanged since."""
    document = Document.parse(before.data, path)
    sections = {id: before.sections[position] for position, id in ids[1].items()}
    renamed = _map_headings(now, ids[2], path, sections)
    has_metadata = now.data[: now.front_matter_end] != before.data[: before.front_matter_end]
    return RevertedText(document, reverted, True, has_metadata, (), NOTHING, frozenset(), (), renamed)


def _find_changed(base: UnitRow, before: UnitRow) -> Mapping[Id, tuple[bytes, bytes]]:
    """Return the old and the new text of each unit that the commit changed; empty without the unit."""
    new_texts, old_texts = ({unit.id: unit.text for unit in row.units} for row in (base, before))
    pairs = {id: (old_texts.get(id, b""), new_texts.get(id, b"")) for id in {**old_texts, **new_texts}}
    return {id: texts for id, texts in pairs.items() if texts[0] != texts[1]}


def _find_conflicts(reverted: RevertResult, changed: Mapping[Id, tuple[bytes, bytes]]) -> PreservedLines:
    texts = (changed[unit.id] for unit in reverted.clashes if unit.id in changed)
    return reduce(or_, (PreservedLines.of(*pair) for pair in texts), NOTHING)


class _Gaps:
    """The blank lines after units: the current ones if the commit did not change them."""

    def __init__(self, base: UnitRow, before: UnitRow, now: UnitRow, ending: bytes) -> None:
        self._rows = base, before, now
        self._base, self._before, self._now = (
            {unit.id: unit.gap for unit in row.units} for row in self._rows
        )
        self._usual = ending * 2

    def behind(self, id: Id) -> bytes:
        """Return the blank lines after a unit that is not the last one."""
        base, before, now = self._base.get(id), self._before.get(id), self._now.get(id)
        if now is None or (now == base and before is not None) or (base is None and before is not None):
            now = before if before is not None else now if now is not None else base
        return self._usual if now is None else now

    def end(self) -> bytes:
        """Return the blank lines at the end of the document."""
        base, before, now = self._rows
        return before.end if now.end == base.end else now.end


def _revert_front_matter(base: bytes, before: bytes, now: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Revert front matter, key by key if it was changed since the commit, and return it with its clashes."""
    if base == before or now == before:
        return now, ()
    if now == base:
        return before, ()
    rows = [_split_front_matter(head) for head in (base, before, now)]
    if None in rows:
        return now, ("front matter",)
    base_units, before_units, now_units = (row or () for row in rows)
    reverted = revert_row(base_units, before_units, now_units)
    clashes = tuple(unit.key for unit in reverted.clashes)
    return b"".join(unit.text for unit in reverted.units), clashes


def _split_front_matter(head: bytes) -> tuple[SectionUnit, ...] | None:
    """Return the lines of front matter as one unit for each key; None if they cannot be split."""
    lines = Lines(head)
    blocks: list[tuple[bytes, list[bytes]]] = [(b"", [])]
    is_open = True
    for number in range(len(lines)):
        line = head[lines.offset(number) : lines.offset(number + 1)]
        match = _KEY.match(line) if is_open else None
        if match:
            blocks.append((match.group()[:-1], []))
        elif is_open and number and line.rstrip() in (b"---", b"..."):
            blocks.append((b"---", []))
            is_open = False
        blocks[-1][1].append(line)
    names = Counter(name for name, _ in blocks)
    if is_open or max(names.values()) > 1:
        return None
    return tuple(
        SectionUnit(("key", name), b"".join(parts), key=name.decode("utf-8", "replace"))
        for name, parts in blocks
    )


def _is_sound(document: Document, units: tuple[SectionUnit, ...], rows: list[UnitRow]) -> bool:
    """Return True if the document is parsed as these units, each below its expected parent."""
    if len(document.sections) != len(units):
        return False
    base_units, before_units, now_units = ({unit.id: unit for unit in row.units} for row in rows)
    ids = {item.position: unit.id for item, unit in zip(document.sections, units, strict=True)}
    for item, unit in zip(document.sections, units, strict=True):
        old, base, now = before_units.get(unit.id), base_units.get(unit.id), now_units.get(unit.id)
        expected = unit.parent if now is None else now.parent
        if old is not None and (base is None or old.parent != base.parent):
            expected = old.parent
        parent = None if item.parent is None else ids[item.parent]
        if parent != expected or document.source(item).rstrip(BLANK) != unit.text:
            return False
    return True


def _list_preserved_spans(
    units: tuple[SectionUnit, ...], starts: list[int], now: UnitRow, old_path: str, path: str, head: bytes
) -> list[PreservedSpan]:
    """Return the preserved spans of the current document."""
    current = {unit.id: unit for unit in now.units}
    spans = [PreservedSpan(old_path, 0, len(head), path, 0)] if head and head == now.head else []
    for unit, start in zip(units, starts, strict=True):
        if unit.text and current.get(unit.id) is unit:
            spans.append(PreservedSpan(old_path, unit.start, unit.start + len(unit.text), path, start))
    return spans


def _map_current_headings(
    document: Document, units: tuple[SectionUnit, ...], now: Document, ids: dict[int, Id]
) -> dict[Offset, Offset]:
    """Return the offsets of the headings after the revert, by their current offsets."""
    if len(document.sections) != len(units):
        return {}
    sections = {unit.id: item for item, unit in zip(document.sections, units, strict=True)}
    return _map_headings(now, ids, document.path, sections)


def _map_headings(
    now: Document, ids: Mapping[int, Id], path: str, sections: Mapping[Id, Section]
) -> dict[Offset, Offset]:
    """Return the new offsets of the current headings. `sections` are those after the revert, by id."""
    return {
        (now.path, old.heading_start): (path, item.heading_start)
        for position, id in ids.items()
        if (item := sections.get(id)) and (old := now.sections[position]).has_heading and item.has_heading
    }
