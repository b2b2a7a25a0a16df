"""Where a section goes: below which parent, beside which sibling, and at which level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.addresses import InvalidAddress, resolve_section
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document import Document, Section

TOP_LEVEL = 2


class InvalidMove(WorkspaceError):
    """A move that cannot be made: into the section itself or below it, beside itself, or of the preamble."""

    code = "INVALID_MOVE"


class Place(NamedTuple):
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
) -> Place:
    """The place at the end of a parent (None: at the top), or before or after a sibling.

    `moved` is the section that is to go there, where it stands in this very document. Raises SectionNotFound,
    AmbiguousAddress, InvalidAddress, and InvalidMove for a place in the moved section.
    """
    if before and after:
        raise InvalidAddress("'before' and 'after' are both given", fix="Give one of them.")
    parent = resolve_section(document, parent_slug) if parent_slug else None
    if parent and parent.is_preamble:
        parent = None
    beside = before or after
    sibling = resolve_section(document, beside) if beside else None
    field = "before" if before else "after"
    if moved:
        _check_apart(document, moved, parent, "parent_slug")
        _check_apart(document, moved, sibling, field)
    if sibling:
        parent = _parent_of(document, sibling, parent, parent_slug, field)
    siblings = [
        item
        for item in document.children(parent)
        if moved is None or item.position != moved.position or item == sibling
    ]
    index = len(siblings)
    if sibling:
        index = siblings.index(sibling) + (0 if before else 1)
    if sibling:
        offset = sibling.start if before else sibling.tree_end
    else:
        offset = parent.tree_end if parent else len(document.data)
    previous = siblings[index - 1] if index else None
    following = siblings[index] if index < len(siblings) else None
    stays = moved is not None and moved.parent == (parent.position if parent else None)
    if moved and stays:
        wanted = moved.level
    elif parent or document.has_title or not siblings:
        wanted = parent.level + 1 if parent else TOP_LEVEL
    else:
        wanted = min(item.level for item in siblings)
    return Place(offset, parent, _fitted(wanted, parent, previous, following))


def _fitted(level: int, parent: Section | None, previous: Section | None, following: Section | None) -> int:
    """A level at which the one before does not take the section in, and it does not take in the next."""
    if previous:
        level = min(level, previous.level)
    lowest = parent.level + 1 if parent else 1
    return max(level, lowest, following.level if following else 1)


def _parent_of(
    document: Document, sibling: Section, parent: Section | None, parent_slug: str | None, field: str
) -> Section | None:
    """The parent of a sibling that was named. Raises InvalidAddress where another was named beside it."""
    if sibling.is_preamble:
        raise InvalidAddress(f"'{field}' names the preamble, which is no section", fix="Name a section.")
    if parent_slug is not None and sibling.parent != (parent.position if parent else None):
        raise InvalidAddress(
            f"'{sibling.address}' does not stand directly in '{parent_slug}'",
            fix=f"Leave parent_slug out: '{field}' decides the place.",
        )
    return None if sibling.parent is None else document.sections[sibling.parent]


def _check_apart(document: Document, moved: Section, other: Section | None, field: str) -> None:
    """Raises InvalidMove where the section that a field names is the moved one, or stands below it."""
    if other is None or other.is_preamble or not moved.start <= other.start < moved.tree_end:
        return
    where = "itself" if other.position == moved.position else f"'{other.address}', which stands below it"
    preposition = "into" if field == "parent_slug" else field
    raise InvalidMove(
        f"'{moved.address}' cannot be moved {preposition} {where}",
        fix=f"Name a section outside '{moved.address}' in '{field}'.",
        slug=other.key,
    )
