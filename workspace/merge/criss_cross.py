"""The merge of two documents over several bases (criss-cross), unit by unit.

Two lines of history that were merged crosswise part in several commits. A base made of these would be
nobody's, so a unit is merged only where each base gives the same for it; else it is in conflict and stays as
in ours. The sections themselves must be the same for each base; else nothing is said of the document.
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

_OF_TEXTS = (UnitKind.TEXT, UnitKind.TASK)


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

    None where they have other sections, or what is doubtful cannot be put back as it is in ours.
    Raises InvalidResolution.
    """
    documents = [Document.parse(item.data, ours.path) for item in merged]
    first = documents[0]
    if any(_list_sections(item) != _list_sections(first) for item in documents):
        return None
    common = {_unbased(found) for found in merged[0].conflicts}
    for item in merged[1:]:
        common &= {_unbased(found) for found in item.conflicts}
    doubted = {found.unit for item in merged for found in item.conflicts if _unbased(found) not in common}
    if any(unit.kind not in (*_OF_TEXTS, UnitKind.HEADING, UnitKind.METADATA) for unit in doubted):
        return None
    conflicts = Conflicts(resolutions, ours.ending, fit_content)
    head = _merge_front_matter(documents, ours, theirs, conflicts)
    if head is None:
        return None
    splices = [
        Splice(first.front_matter_end - len(extract_front_matter(first)), first.front_matter_end, head)
    ]
    unsettled = {_find_section(unit) for unit in doubted}
    for position, section in enumerate(first.sections):
        for kind in (UnitKind.HEADING, UnitKind.TEXT):
            parts = [_find_part(item, item.sections[position], kind) for item in documents]
            is_same = all(part.text == parts[0].text for part in parts)
            if is_same and (kind, section.key) not in unsettled:
                continue
            mine, yours = (_read_version(side, section.key, kind) for side in (ours, theirs))
            if not mine or not parts[0].text:
                return None
            text = conflicts.decide(UnitConflict(UnitId(kind, section.key), None, mine, yours))
            splices.append(Splice(parts[0].start, parts[0].end, text or b""))
    data = apply_splices(first.data, splices)
    if _list_sections(Document.parse(data, ours.path)) != _list_sections(first):
        return None
    kept = [found for found in merged[0].conflicts if _unbased(found) in common]
    resolved = [unit for unit in merged[0].resolved if unit not in doubted]
    return MergedDocument(data, (*kept, *conflicts), tuple(dict.fromkeys((*resolved, *conflicts.resolved))))


def _list_sections(document: Document) -> list[tuple[str, int, int | None]]:
    """Return the sections of a document: their addresses, levels and parents."""
    return [(item.key, item.level, item.parent) for item in document.sections]


def _unbased(conflict: UnitConflict) -> UnitConflict:
    return conflict._replace(base=None)


def _find_section(unit: UnitId) -> tuple[UnitKind, str]:
    """Return whether a unit is part of a section's text or heading, and the section."""
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
    """Return the bytes of one side; None if it has no such section."""
    section = next((item for item in document.sections if item.key == key), None)
    return None if section is None else _find_part(document, section, kind).text


def _merge_front_matter(
    documents: Sequence[Document], ours: Document, theirs: Document, conflicts: Conflicts
) -> bytes | None:
    """Return the front matter on which all agree, other keys as in ours; None if it is unreadable."""
    heads = [extract_front_matter(document) for document in documents]
    if all(head == heads[0] for head in heads):
        return heads[0]
    found = [
        split_key_lines(head) for head in (*heads, extract_front_matter(ours), extract_front_matter(theirs))
    ]
    read = [lines for lines in found if lines]
    if len(read) != len(found):
        return None
    *made, mine, yours = read
    names = [*made[0]]
    closing = names.pop()
    names += [name for name in mine if name not in made[0]]
    parts: list[bytes] = []
    for name in (*names, closing):
        text: bytes | None = made[0].get(name)
        if any(lines.get(name) != text for lines in made):
            unit = UnitId(UnitKind.METADATA, name)
            text = conflicts.decide(UnitConflict(unit, None, mine.get(name), yours.get(name)))
        parts.append(text or b"")
    return b"".join(parts)
