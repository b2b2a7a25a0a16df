"""Anchors for headings that links can reach by no name any more.

`## Errors` that is moved above another `## Errors` takes its name `#errors`. Where that was the only name of
a place to which links lead, its heading gets its address as an anchor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import LimitExceeded
from workspace.document.addresses import InvalidAddress
from workspace.document.heading_text import heading_splices
from workspace.document.slugs import Names
from workspace.document.splices import Edit, Splice, StructureChanged, apply_edit
from workspace.links.fragments import find_place, names_of
from workspace.links.survival import Survival

if TYPE_CHECKING:
    from workspace.config.tables import Dialect
    from workspace.document.document import Document, Section
    from workspace.markdown.anchors import AnchorForm
    from workspace.snapshot.overlay import Overlay


class Anchored(NamedTuple):
    """Documents before and after headings in them were given anchors, and the full addresses of these."""

    revised: tuple[tuple[Document, Document], ...] = ()
    addresses: tuple[str, ...] = ()


def give_anchors(
    overlay: Overlay, nameless: Mapping[str, Iterable[int]], survival: Survival
) -> tuple[Anchored, Survival]:
    """Gives headings anchors, by path and by the byte where each one's line begins.

    A heading whose anchor would lead elsewhere, or cannot be written, is left. The survival that is answered
    is that of both: of what came before, and of this.
    """
    config = overlay.snapshot.config
    revised: list[tuple[Document, Document]] = []
    addresses: list[str] = []
    for path, offsets in nameless.items():
        document = overlay.document(path)
        form = document.form or config.anchors
        for offset in sorted(offsets, reverse=True):
            section = next((item for item in document.sections if item.heading_start == offset), None)
            changed = _with_anchor(document, section, form, config.links.dialect) if section else None
            if section is None or changed is None:
                continue
            new, splices = changed
            try:
                overlay.put(new)
            except LimitExceeded:
                continue
            headings = {
                (path, item.heading_start): (path, twin.heading_start)
                for item, twin in zip(document.sections, new.sections, strict=True)
                if item.has_heading
            }
            survival = survival.followed_by(Survival.of_splices(document, splices, renamed=headings))
            revised.append((document, new))
            addresses.append(f"{path}#{new.sections[section.position].anchor}")
            document = new
    return Anchored(tuple(revised), tuple(reversed(addresses))), survival


def _with_anchor(
    document: Document, section: Section, form: AnchorForm, dialect: Dialect
) -> tuple[Document, list[Splice]] | None:
    """A document with an anchor on one heading; None where that would not lead there."""
    if section.anchor is not None or not section.has_heading:
        return None
    name = section.address
    if section.is_preamble:  # whose address is no anchor
        name = Names("-", 1, names_of(document, dialect)).give(section.slug)
    try:
        splices = heading_splices(document, section, level=section.level, anchor=name, form=form)
        changed = apply_edit(document, Edit(tuple(splices), {}, ""))
    except (InvalidAddress, StructureChanged):
        return None
    twin = changed.sections[section.position]
    place = find_place(names_of(changed, dialect), name)
    return (changed, splices) if place is not None and place.offset == twin.heading_start else None
