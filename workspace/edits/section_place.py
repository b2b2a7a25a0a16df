"""The target of a section: its parent, a sibling next to it, and its level.

The place for a section that a call names: at the end of a parent, or before or after a sibling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import InvalidAddress, resolve_section
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.document.sections import Section

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


def find_named_place(
    document: Document, parent_slug: str | None, before: str | None, after: str | None
) -> NamedPlace:
    """Return the place that is meant; the preamble as a parent is the top.

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


class InvalidMove(WorkspaceError):
    """A move that cannot be made: into the section itself or below it, beside itself, or of the preamble."""

    code = "INVALID_MOVE"


class SectionPlace(NamedTuple):
    """The byte at which a section goes in, its parent there (None at the top), and the level that it gets."""

    offset: int
    parent: Section | None
    level: int


def find_place(
    document: Document,
    parent_slug: str | None,
    before: str | None,
    after: str | None,
    moved: Section | None,
) -> SectionPlace:
    """Return the place at the end of a parent (None: at the top), or before or after a sibling.

    `moved` is the section that is to go there, where it stands in this very document. Raises SectionNotFound,
    AmbiguousAddress, InvalidAddress, and InvalidMove for a place in the moved section.
    """
    offset, parent, sibling, field = find_named_place(document, parent_slug, before, after)
    if moved:
        _check_apart(moved, sibling or parent, field)
    siblings = [
        item
        for item in document.children(parent)
        if moved is None or item.position != moved.position or item == sibling
    ]
    index = siblings.index(sibling) + (field == "after") if sibling else len(siblings)
    previous = siblings[index - 1] if index else None
    following = siblings[index] if index < len(siblings) else None
    stays = moved is not None and moved.parent == (parent.position if parent else None)
    if moved and stays:
        wanted = moved.level
    elif parent or document.has_title or not siblings:
        wanted = parent.level + 1 if parent else TOP_LEVEL
    else:
        wanted = min(item.level for item in siblings)
    return SectionPlace(offset, parent, _fit_level(wanted, parent, previous, following))


def _fit_level(
    level: int, parent: Section | None, previous: Section | None, following: Section | None
) -> int:
    """Return a level at which the section before does not absorb this one, nor this one the next."""
    if previous:
        level = min(level, previous.level)
    lowest = parent.level + 1 if parent else 1
    return max(level, lowest, following.level if following else 1)


def _check_apart(moved: Section, other: Section | None, field: str) -> None:
    """Raise InvalidMove where the section that a field names is the moved one, or stands below it."""
    if other is None or other.is_preamble or not moved.start <= other.start < moved.tree_end:
        return
    where = "itself" if other.position == moved.position else f"'{other.address}', which stands below it"
    preposition = "into" if field == "parent_slug" else field
    raise InvalidMove(
        f"'{moved.address}' cannot be moved {preposition} {where}",
        fix=f"Name a section outside '{moved.address}' in '{field}'.",
        slug=other.key,
    )
