"""Addresses that two sides of a merge gave to different sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.merge.sections import Id, Side


def clashing(document: Document, row: Sequence[Id], base: Side | None, ours: Side, theirs: Side) -> set[Id]:
    """The sections of theirs whose address, or name below their parent, one of ours took as well.

    `row` are the ids of the document's sections that have bytes, in order.
    """
    found = [section for section in document.sections if document.source(section).strip(BLANK)]
    groups: dict[tuple[object, ...], list[Id]] = {}
    for section, id in zip(found, row, strict=True):
        if section.is_preamble:
            continue
        name = ("anchor", section.anchor) if section.anchor else (section.parent, section.slug)
        groups.setdefault(name, []).append(id)
    clashes: set[Id] = set()
    for ids in groups.values():
        if len(ids) > 1:
            mine = [id for id in ids if _is_named_anew(id, base, ours)]
            yours = [id for id in ids if _is_named_anew(id, base, theirs)]
            if any(id not in yours for id in mine):
                clashes.update(id for id in yours if id not in mine)
    return clashes


def _is_named_anew(id: Id, base: Side | None, side: Side) -> bool:
    """Whether a side added a section, or gave it the name that it has."""
    now = side.sections.get(id)
    was = base.sections.get(id) if base else None
    return now is not None and (was is None or (was.slug, was.anchor) != (now.slug, now.anchor))
