"""The merge of two documents over several bases (criss-cross), unit by unit.

Two branches that were merged into each other have several merge bases. A unit is merged only if each base
gives the same result for it; otherwise the unit is in conflict, and the version of ours is preserved. The
merges over all bases must have the same sections; otherwise the caller treats the document as one unit.
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


class _UnitSpan(NamedTuple):
    """The position of a heading or a text in its document, and its bytes."""

    start: int
    end: int
    text: bytes


def intersect_documents(
    merged_documents: Sequence[MergedDocument],
    ours: Document,
    theirs: Document,
    resolutions: Mapping[UnitId, Resolution],
) -> MergedDocument | None:
    """Return the common result of the merges over several bases, with all other units as conflicts.

    Return None if their sections differ, or if a disputed unit cannot be restored from ours. Raises
    InvalidResolution.
    """
    documents = [Document.parse(item.data, ours.path) for item in merged_documents]
    first_document = documents[0]
    if any(_list_sections(item) != _list_sections(first_document) for item in documents):
        return None
    shared_conflicts = {_remove_base(conflict) for conflict in merged_documents[0].conflicts}
    for item in merged_documents[1:]:
        shared_conflicts &= {_remove_base(conflict) for conflict in item.conflicts}
    disputed_units = {
        conflict.unit
        for item in merged_documents
        for conflict in item.conflicts
        if _remove_base(conflict) not in shared_conflicts
    }
    if any(unit.kind not in (*_TEXT_KINDS, UnitKind.HEADING, UnitKind.METADATA) for unit in disputed_units):
        return None
    conflicts = Conflicts(resolutions, ours.line_ending, fit_content)
    front_matter = _merge_front_matter(documents, ours, theirs, conflicts)
    if front_matter is None:
        return None
    splices = [
        Splice(
            first_document.front_matter_end - len(extract_front_matter(first_document)),
            first_document.front_matter_end,
            front_matter,
        )
    ]
    disputed_section_units = {_find_section_unit(unit) for unit in disputed_units}
    for position, section in enumerate(first_document.sections):
        for kind in (UnitKind.HEADING, UnitKind.TEXT):
            spans = [_find_unit_span(item, item.sections[position], kind) for item in documents]
            is_equal = all(span.text == spans[0].text for span in spans)
            if is_equal and (kind, section.key) not in disputed_section_units:
                continue
            our_text, their_text = (_read_version(side, section.key, kind) for side in (ours, theirs))
            if not our_text or not spans[0].text:
                return None
            text = conflicts.resolve(UnitConflict(UnitId(kind, section.key), None, our_text, their_text))
            splices.append(Splice(spans[0].start, spans[0].end, text or b""))
    data = apply_splices(first_document.data, splices)
    if _list_sections(Document.parse(data, ours.path)) != _list_sections(first_document):
        return None
    remaining_conflicts = [
        conflict for conflict in merged_documents[0].conflicts if _remove_base(conflict) in shared_conflicts
    ]
    resolved_units = [unit for unit in merged_documents[0].resolved_units if unit not in disputed_units]
    return MergedDocument(
        data,
        (*remaining_conflicts, *conflicts),
        tuple(dict.fromkeys((*resolved_units, *conflicts.resolved_units))),
    )


def _list_sections(document: Document) -> list[tuple[str, int, int | None]]:
    """Return the sections of a document: their addresses, levels and parents."""
    return [(item.key, item.level, item.parent) for item in document.sections]


def _remove_base(conflict: UnitConflict) -> UnitConflict:
    return conflict._replace(base=None)


def _find_section_unit(unit: UnitId) -> tuple[UnitKind, str]:
    """Return the kind of section part to which a unit belongs (text, heading), and the section's address."""
    if unit.kind is UnitKind.TASK:
        return UnitKind.TEXT, unit.where.rpartition("[")[0]
    return unit.kind, unit.where


def _find_unit_span(document: Document, section: Section, kind: UnitKind) -> _UnitSpan:
    if kind is UnitKind.TEXT:
        start, end = find_own_span(document, section)
    else:
        start = find_text_start(document.data, section.start, section.body_start)
        end = find_text_end(document.data, start, section.body_start)
    return _UnitSpan(start, max(start, end), document.data[start:end])


def _read_version(document: Document, key: str, kind: UnitKind) -> bytes | None:
    """Return the bytes of a unit in one version; None if the version lacks the section."""
    section = next((item for item in document.sections if item.key == key), None)
    return None if section is None else _find_unit_span(document, section, kind).text


def _merge_front_matter(
    documents: Sequence[Document], ours: Document, theirs: Document, conflicts: Conflicts
) -> bytes | None:
    """Return the front matter with the common keys of all merges, and the other keys as in ours.

    Return None if front matter cannot be split into keys.
    """
    front_matters = [extract_front_matter(document) for document in documents]
    if all(front_matter == front_matters[0] for front_matter in front_matters):
        return front_matters[0]
    splits = [
        split_key_lines(front_matter)
        for front_matter in (*front_matters, extract_front_matter(ours), extract_front_matter(theirs))
    ]
    valid_splits = [lines for lines in splits if lines]
    if len(valid_splits) != len(splits):
        return None
    *merged_splits, ours_split, theirs_split = valid_splits
    names = [*merged_splits[0]]
    closing_name = names.pop()
    names += [name for name in ours_split if name not in merged_splits[0]]
    parts: list[bytes] = []
    for name in (*names, closing_name):
        text: bytes | None = merged_splits[0].get(name)
        if any(lines.get(name) != text for lines in merged_splits):
            unit = UnitId(UnitKind.METADATA, name)
            text = conflicts.resolve(UnitConflict(unit, None, ours_split.get(name), theirs_split.get(name)))
        parts.append(text or b"")
    return b"".join(parts)
