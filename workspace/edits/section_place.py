"""Where a section goes: below which parent, beside which sibling, and at which level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.edits.named_place import TOP_LEVEL, named_place
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.document.document import Document, Section


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
    offset, parent, sibling, field = named_place(document, parent_slug, before, after)
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
    return Place(offset, parent, _fitted(wanted, parent, previous, following))


def _fitted(level: int, parent: Section | None, previous: Section | None, following: Section | None) -> int:
    """A level at which the one before does not take the section in, and it does not take in the next."""
    if previous:
        level = min(level, previous.level)
    lowest = parent.level + 1 if parent else 1
    return max(level, lowest, following.level if following else 1)


def _check_apart(moved: Section, other: Section | None, field: str) -> None:
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
