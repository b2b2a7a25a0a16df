"""The text of a document without the changes of one commit, built from the bytes of three versions.

A commit may move lines from one section to another, or to another document. If a later commit changed the
source or the target of the move, neither of them is reverted. Otherwise lines would be lost or duplicated.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.document.section_text import DESTINATION
from workspace.edits.undo_rows import (
    RevertResult,
    RowUnit,
    UnitRow,
    identify_units,
    read_unit_row,
    revert_row,
)
from workspace.links.offset_map import PreservedSpan
from workspace.markdown.lines import BLANK, Lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document.sections import Section
    from workspace.edits.undo_rows import RowUnitId
    from workspace.links.offset_map import BytePosition

# A move may change the level and the anchor of a heading, so lines are compared without them.
_MARK_CHARACTERS = b" \t#>"
_ANCHOR = re.compile(rb"\{(?::|/\*)?[ \t]*#[^{}]*\}\s*$")
_WORD = re.compile(rb"\w|[^\x00-\x7f]")


class PreservedLines(NamedTuple):
    """The lines that a commit removed from sections that are not reverted, and those that it added there."""

    removed: frozenset[bytes] = frozenset()
    added: frozenset[bytes] = frozenset()

    @classmethod
    def of_change(cls, before: bytes, after: bytes) -> PreservedLines:
        """Return the changed lines of a text that is not reverted, before and after the commit."""
        old_lines, new_lines = _read_lines(before), _read_lines(after)
        return cls(old_lines - new_lines, new_lines - old_lines)

    def __or__(self, other: PreservedLines) -> PreservedLines:
        return PreservedLines(self.removed | other.removed, self.added | other.added)

    def __le__(self, other: PreservedLines) -> bool:  # type: ignore[override]
        return self.removed <= other.removed and self.added <= other.added

    def affects(self, before: bytes, after: bytes) -> bool:
        """Return True if a commit's change of a text moved some of these lines, and must not be reverted.

        `before` and `after` are the text before and after the commit.
        """
        if not self.removed and not self.added:
            return False
        old_lines, new_lines = _read_lines(before), _read_lines(after)
        return not (
            self.removed.isdisjoint(new_lines - old_lines) and self.added.isdisjoint(old_lines - new_lines)
        )


NO_LINES = PreservedLines()


def _read_lines(text: bytes) -> frozenset[bytes]:
    """Return the lines with words, without the marks and anchors that a move changes."""
    stripped_lines = (
        _ANCHOR.sub(b"", DESTINATION.sub(b"", line)).strip(_MARK_CHARACTERS) for line in text.splitlines()
    )
    return frozenset(line for line in stripped_lines if _WORD.search(line))


_METADATA_KEY = re.compile(rb"""(?![#\s-])[^:]+:(?=\s|$)""")


class RevertedText(NamedTuple):
    """A document after the revert, and its differences from the current document.

    If `has_expected_sections` is False, the document would not be parsed as the reverted sections.
    `metadata_conflicts` are keys of the front matter that later commits have changed, or "front matter" if it
    cannot be split into keys. `conflicting_lines` are the lines of sections that conflict. `preserved_ids`
    are the sections that stay because of conflicts in other sections. `preserved_spans` are the unchanged
    spans of the document; none if the full old text is restored. `new_heading_positions` maps the offset of
    each current heading to the offset after the revert.
    """

    document: Document
    result: RevertResult
    has_expected_sections: bool
    is_metadata_changed: bool
    metadata_conflicts: tuple[str, ...]
    conflicting_lines: PreservedLines
    preserved_ids: frozenset[RowUnitId]
    preserved_spans: tuple[PreservedSpan, ...]
    new_heading_positions: dict[BytePosition, BytePosition]


def revert_text(
    base: Document, before: Document, current: Document, path: str, preserved_lines: PreservedLines = NO_LINES
) -> RevertedText:
    """Return the document `current`, at `path`, without the changes from `before` to `base`.

    Sections with lines in `preserved_lines` stay as they are.
    """
    ids = identify_units(base, before, current)
    rows = [
        read_unit_row(document, unit_ids)
        for document, unit_ids in zip((base, before, current), ids, strict=True)
    ]
    base_row, before_row, current_row = rows
    changed_texts = _find_changed_texts(base_row, before_row)
    preserved_ids = frozenset(
        id for id, (old, new) in changed_texts.items() if preserved_lines.affects(old, new)
    )
    result = revert_row(base_row.units, before_row.units, current_row.units, preserved_ids)
    if current.data == base.data and not preserved_ids:
        # The document is unchanged since the commit, so there are no conflicts.
        return _restore_fully(before, result._replace(conflicts=()), current, path, ids)
    head, metadata_conflicts = _revert_front_matter(base_row.head, before_row.head, current_row.head)
    parts = [head]
    starts: list[int] = []
    size = len(head)
    gaps = _Gaps(base_row, before_row, current_row, current.line_ending)
    for position, unit in enumerate(result.units):
        starts.append(size)
        is_last = position + 1 == len(result.units)
        part = unit.text + (gaps.find_end_gap() if is_last else gaps.find_gap(unit.id))
        parts.append(part)
        size += len(part)
    document = Document.parse(b"".join(parts), path)
    return RevertedText(
        document,
        result,
        _has_expected_sections(document, result.units, rows)
        and (document.front_matter_error is None or current.front_matter_error is not None),
        head != current_row.head,
        metadata_conflicts,
        _collect_conflicting_lines(result, changed_texts),
        preserved_ids,
        tuple(_list_preserved_spans(result.units, starts, current_row, current.path, path, head)),
        _map_current_headings(document, result.units, current, ids[2]),
    )


def _restore_fully(
    before: Document,
    result: RevertResult,
    current: Document,
    path: str,
    ids: tuple[dict[int, RowUnitId], ...],
) -> RevertedText:
    """Return the document as it was before the commit, for a document that no later commit changed."""
    document = Document.parse(before.data, path)
    sections = {id: before.sections[position] for position, id in ids[1].items()}
    new_heading_positions = _map_headings(current, ids[2], path, sections)
    is_metadata_changed = current.data[: current.front_matter_end] != before.data[: before.front_matter_end]
    return RevertedText(
        document, result, True, is_metadata_changed, (), NO_LINES, frozenset(), (), new_heading_positions
    )


def _find_changed_texts(base: UnitRow, before: UnitRow) -> Mapping[RowUnitId, tuple[bytes, bytes]]:
    """Return the old and the new text of each unit that the commit changed; b"" for a missing unit."""
    new_texts, old_texts = ({unit.id: unit.text for unit in row.units} for row in (base, before))
    pairs = {id: (old_texts.get(id, b""), new_texts.get(id, b"")) for id in {**old_texts, **new_texts}}
    return {id: texts for id, texts in pairs.items() if texts[0] != texts[1]}


def _collect_conflicting_lines(
    result: RevertResult, changed_texts: Mapping[RowUnitId, tuple[bytes, bytes]]
) -> PreservedLines:
    texts = (changed_texts[unit.id] for unit in result.conflicts if unit.id in changed_texts)
    return reduce(or_, (PreservedLines.of_change(*pair) for pair in texts), NO_LINES)


class _Gaps:
    """The blank lines after units. Current blank lines are preserved if the commit did not change them."""

    def __init__(self, base: UnitRow, before: UnitRow, current: UnitRow, ending: bytes) -> None:
        self._rows = base, before, current
        self._base_gaps, self._before_gaps, self._current_gaps = (
            {unit.id: unit.gap for unit in row.units} for row in self._rows
        )
        self._default_gap = ending * 2

    def find_gap(self, id: RowUnitId) -> bytes:
        """Return the blank lines after a unit that is not the last one."""
        base, before, current = self._base_gaps.get(id), self._before_gaps.get(id), self._current_gaps.get(id)
        if (
            current is None
            or (current == base and before is not None)
            or (base is None and before is not None)
        ):
            current = before if before is not None else current if current is not None else base
        return self._default_gap if current is None else current

    def find_end_gap(self) -> bytes:
        """Return the blank lines at the end of the document."""
        base, before, current = self._rows
        return before.end_gap if current.end_gap == base.end_gap else current.end_gap


def _revert_front_matter(base: bytes, before: bytes, current: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the reverted front matter and its conflicts.

    If later commits changed the front matter, each key is reverted separately.
    """
    if base == before or current == before:
        return current, ()
    if current == base:
        return before, ()
    rows = [_split_front_matter(head) for head in (base, before, current)]
    if None in rows:
        return current, ("front matter",)
    base_units, before_units, current_units = (row or () for row in rows)
    result = revert_row(base_units, before_units, current_units)
    conflicts = tuple(unit.key for unit in result.conflicts)
    return b"".join(unit.text for unit in result.units), conflicts


def _split_front_matter(head: bytes) -> tuple[RowUnit, ...] | None:
    """Return the lines of front matter as one unit for each key; None if they cannot be split."""
    lines = Lines(head)
    line_groups: list[tuple[bytes, list[bytes]]] = [(b"", [])]
    is_open = True
    for number in range(len(lines)):
        line = head[lines.offset(number) : lines.offset(number + 1)]
        match = _METADATA_KEY.match(line) if is_open else None
        if match:
            line_groups.append((match.group()[:-1], []))
        elif is_open and number and line.rstrip() in (b"---", b"..."):
            line_groups.append((b"---", []))
            is_open = False
        line_groups[-1][1].append(line)
    names = Counter(name for name, _ in line_groups)
    if is_open or max(names.values()) > 1:
        return None
    return tuple(
        RowUnit(("key", name), b"".join(parts), key=name.decode("utf-8", "replace"))
        for name, parts in line_groups
    )


def _has_expected_sections(document: Document, units: tuple[RowUnit, ...], rows: list[UnitRow]) -> bool:
    """Return True if the document is parsed as these units, each below its expected parent."""
    if len(document.sections) != len(units):
        return False
    base_units, before_units, current_units = ({unit.id: unit for unit in row.units} for row in rows)
    ids = {item.position: unit.id for item, unit in zip(document.sections, units, strict=True)}
    for item, unit in zip(document.sections, units, strict=True):
        before_unit, base_unit, current_unit = (
            before_units.get(unit.id),
            base_units.get(unit.id),
            current_units.get(unit.id),
        )
        expected_parent = unit.parent if current_unit is None else current_unit.parent
        if before_unit is not None and (base_unit is None or before_unit.parent != base_unit.parent):
            expected_parent = before_unit.parent
        parent = None if item.parent is None else ids[item.parent]
        if parent != expected_parent or document.source(item).rstrip(BLANK) != unit.text:
            return False
    return True


def _list_preserved_spans(
    units: tuple[RowUnit, ...], starts: list[int], current: UnitRow, old_path: str, path: str, head: bytes
) -> list[PreservedSpan]:
    """Return the spans of the current document that the revert preserves."""
    current_units = {unit.id: unit for unit in current.units}
    spans = [PreservedSpan(old_path, 0, len(head), path, 0)] if head and head == current.head else []
    for unit, start in zip(units, starts, strict=True):
        if unit.text and current_units.get(unit.id) is unit:
            spans.append(PreservedSpan(old_path, unit.start, unit.start + len(unit.text), path, start))
    return spans


def _map_current_headings(
    document: Document, units: tuple[RowUnit, ...], current: Document, ids: dict[int, RowUnitId]
) -> dict[BytePosition, BytePosition]:
    """Return the offsets of the headings after the revert, by their current offsets."""
    if len(document.sections) != len(units):
        return {}
    sections = {unit.id: item for item, unit in zip(document.sections, units, strict=True)}
    return _map_headings(current, ids, document.path, sections)


def _map_headings(
    current: Document, ids: Mapping[int, RowUnitId], path: str, sections: Mapping[RowUnitId, Section]
) -> dict[BytePosition, BytePosition]:
    """Return the new offsets of the current headings. `sections` are the sections after the revert, by id."""
    return {
        (current.path, current_section.heading_start): (path, item.heading_start)
        for position, id in ids.items()
        if (item := sections.get(id))
        and (current_section := current.sections[position]).has_heading
        and item.has_heading
    }
