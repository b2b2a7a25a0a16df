"""The place for a section that a call names: at the end of a parent, or before or after a sibling."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import InvalidAddress, resolve_section

if TYPE_CHECKING:
    from workspace.document.document import Document, Section


TOP_LEVEL = 2
"""The level of a section without a parent: H1 is the document's title."""


class NamedPlace(NamedTuple):
    """The byte at which a section goes in, its parent there (None at the top), and a sibling that was named.

    `field` says by which argument: `before`, `after` or, without a sibling, `parent_slug`.
    """

    offset: int
    parent: Section | None
    sibling: Section | None
    field: str


def named_place(
    document: Document, parent_slug: str | None, before: str | None, after: str | None
) -> NamedPlace:
    """The place that is meant; the preamble as a parent is the top.

    Raises SectionNotFound, AmbiguousAddress, and InvalidAddress for two places, or for the preamble as a
    sibling.
    """
    if before and after:
        raise InvalidAddress("'before' and 'after' are both given", fix="Give one of them.")
    parent = resolve_section(document, parent_slug) if parent_slug else None
    if parent and parent.is_preamble:
        parent = None
    beside = before or after
    if not beside:
        return NamedPlace(parent.tree_end if parent else len(document.data), parent, None, "parent_slug")
    sibling, field = resolve_section(document, beside), "before" if before else "after"
    if sibling.is_preamble:
        raise InvalidAddress(f"'{field}' names the preamble, which is no section", fix="Name a section.")
    if parent_slug is not None and sibling.parent != (parent.position if parent else None):
        raise InvalidAddress(
            f"'{sibling.address}' does not stand directly in '{parent_slug}'",
            fix=f"Leave parent_slug out: '{field}' decides the place.",
        )
    above = None if sibling.parent is None else document.sections[sibling.parent]
    return NamedPlace(sibling.start if before else sibling.tree_end, above, sibling, field)
