"""The merge of two documents over several bases (criss-cross), unit by unit.

Two branches that were merged into each other have several merge bases. A unit is merged only if each base
gives the same result for it; otherwise it is in conflict and stays as in ours. The merges over all bases must
have the same sections; otherwise the caller treats the document as one unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.document.splices import Splice, apply_splices, find_text_end, find_text_start
from workspace.merge.conflict import Conflicts, MergedDocument, UnitConflict, UnitId, UnitKind
from workspace.merge.front_matter import extract_front_matter, split_key_lines
from workspace.merge.resolutions import fit_content
from workspace.merge.sections import find_own_span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.sections import Section
    from workspace.merge.conflict import Resolution

_TEXT_KINDS = (UnitKind.TEXT, UnitKind.TASK)


class _Part(NamedTuple):
    """The position of a heading or a text in its document, and its bytes."""

    start: int
    end: int
    text: bytes


def intersect_documents(
    merged: Sequence[MergedDocument],
    ours: Document,
    theirs: Document,
    resolutions: Mapping[UnitId, Resolution],
) -> MergedDocument | None:
    """Return the document on which the merges over several bases agree, and the other units as conflicts.

    Return None if their sections differ, or if a disputed unit cannot be restored from ours. Raises
    InvalidResolution.
    """
    documents = [Document.parse(item.data, ours.path) for item in merged]
    first = documents[0]
    if any(_list_sections(item) != _list_sections(first) for item in documents):
        return None
    shared = {_remove_base(conflict) for conflict in merged[0].conflicts}
    for item in merged[1:]:
        shared &= {_remove_base(conflict) for conflict in item.conflicts}
    unshared = {
        conflict.unit
        for item in merged
        for conflict in item.conflicts
        if _remove_base(conflict) not in shared
    }
    if any(unit.kind not in (*_TEXT_KINDS, UnitKind.HEADING, UnitKind.METADATA) for unit in unshared):
        return None
    conflicts = Conflicts(resolutions, ours.ending, fit_content)
    front_matter = _merge_front_matter(documents, ours, theirs, conflicts)
    if front_matter is None:
        return None
    splices = [
        Splice(
            first.front_matter_end - len(extract_front_matter(first)), first.front_matter_end, front_matter
        )
    ]
    disputed = {_find_section_part(unit) for unit in unshared}
    for position, section in enumerate(first.sections):
        for kind in (UnitKind.HEADING, UnitKind.TEXT):
            parts = [_find_part(item, item.sections[position], kind) for item in documents]
            is_equal = all(part.text == parts[0].text for part in parts)
            if is_equal and (kind, section.key) not in disputed:
                continue
            our_text, their_text = (_read_version(side, section.key, kind) for side in (ours, theirs))
            if not our_text or not parts[0].text:
                return None
            text = conflicts.decide(UnitConflict(UnitId(kind, section.key), None, our_text, their_text))
            splices.append(Splice(parts[0].start, parts[0].end, text or b""))
    data = apply_splices(first.data, splices)
    if _list_sections(Document.parse(data, ours.path)) != _list_sections(first):
        return None
    shared_conflicts = [conflict for conflict in merged[0].conflicts if _remove_base(conflict) in shared]
    resolved = [unit for unit in merged[0].resolved if unit not in unshared]
    return MergedDocument(
        data, (*shared_conflicts, *conflicts), tuple(dict.fromkeys((*resolved, *conflicts.resolved)))
    )


def _list_sections(document: Document) -> list[tuple[str, int, int | None]]:
    """Return the sections of a document: their addresses, levels and parents."""
    return [(item.key, item.level, item.parent) for item in document.sections]


def _remove_base(conflict: UnitConflict) -> UnitConflict:
    return conflict._replace(base=None)


def _find_section_part(unit: UnitId) -> tuple[UnitKind, str]:
    """Return the kind of section part to which a unit belongs (text, heading), and the section's address."""
    if unit.kind is UnitKind.TASK:
        return UnitKind.TEXT, unit.where.rpartition("[")[0]
    return unit.kind, unit.where


def _find_part(document: Document, section: Section, kind: UnitKind) -> _Part:
    if kind is UnitKind.TEXT:
        start, end = find_own_span(document, section)
    else:
        start = find_text_start(document.data, section.start, section.body)
        end = find_text_end(document.data, start, section.body)
    return _Part(start, max(start, end), document.data[start:end])


def _read_version(document: Document, key: str, kind: UnitKind) -> bytes | None:
    """Return the bytes of one side; None if it lacks the section."""
    section = next((item for item in document.sections if item.key == key), None)
    return None if section is None else _find_part(document, section, kind).text


def _merge_front_matter(
    documents: Sequence[Document], ours: Document, theirs: Document, conflicts: Conflicts
) -> bytes | None:
    """Return the front matter on which all merges agree, with other keys as in ours.

    Return None if front matter cannot be split into keys.
    """
    heads = [extract_front_matter(document) for document in documents]
    if all(head == heads[0] for head in heads):
        return heads[0]
    splits = [
        split_key_lines(head) for head in (*heads, extract_front_matter(ours), extract_front_matter(theirs))
    ]
    valid_splits = [lines for lines in splits if lines]
    if len(valid_splits) != len(splits):
        return None
    *merged, ours_split, theirs_split = valid_splits
    names = [*merged[0]]
    closing = names.pop()
    names += [name for name in ours_split if name not in merged[0]]
    parts: list[bytes] = []
    for name in (*names, closing):
        text: bytes | None = merged[0].get(name)
        if any(lines.get(name) != text for lines in merged):
            unit = UnitId(UnitKind.METADATA, name)
            text = conflicts.decide(UnitConflict(unit, None, ours_split.get(name), theirs_split.get(name)))
        parts.append(text or b"")
    return b"".join(parts)
