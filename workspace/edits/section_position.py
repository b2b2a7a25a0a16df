"""The target position of a section: its parent, its offset, and its level.

A call gives the position as the end of a parent, or before or after a sibling.
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


class RequestedPosition(NamedTuple):
    """The offset for a section, the parent at that offset (None at the top level), and the named sibling.

    `field` is the argument that gives the position: `before`, `after` or, without a sibling, `parent_slug`.
    """

    offset: int
    parent: Section | None
    sibling: Section | None
    field: str


def resolve_position(
    document: Document, parent_slug: str | None, before: str | None, after: str | None
) -> RequestedPosition:
    """Return the position that a call requests. The preamble as a parent means the top level.

    Raises SectionNotFound, AmbiguousAddress, and InvalidAddress for both `before` and `after`. InvalidAddress
    is also raised for a sibling that is the preamble, or that is not directly in `parent_slug`.
    """
    if before and after:
        raise InvalidAddress("'before' and 'after' are both set", fix="Set only one of them.")
    parent = resolve_section(document, parent_slug) if parent_slug else None
    if parent and parent.is_preamble:
        parent = None
    sibling_slug = before or after
    if not sibling_slug:
        offset = parent.tree_end if parent else len(document.data)
        return RequestedPosition(offset, parent, None, "parent_slug")
    sibling, field = resolve_section(document, sibling_slug), "before" if before else "after"
    if sibling.is_preamble:
        raise InvalidAddress(
            f"'{field}' must be a section, not the preamble",
            fix=f"Set '{field}' to the address of a section.",
        )
    if parent_slug is not None and sibling.parent != (parent.position if parent else None):
        raise InvalidAddress(
            f"'{sibling.address}' is not directly in '{parent_slug}'",
            fix=f"Leave parent_slug out: '{field}' determines the position.",
        )
    sibling_parent = None if sibling.parent is None else document.sections[sibling.parent]
    return RequestedPosition(sibling.start if before else sibling.tree_end, sibling_parent, sibling, field)


class InvalidMove(WorkspaceError):
    """An error: the target of a move is missing or in the moved section, or the preamble would be moved."""

    code = "INVALID_MOVE"


class TargetPosition(NamedTuple):
    """The offset for a section, the parent at that offset (None at the top level), and the new level."""

    offset: int
    parent: Section | None
    level: int


def find_target_position(
    document: Document,
    parent_slug: str | None,
    before: str | None,
    after: str | None,
    moved_section: Section | None,
) -> TargetPosition:
    """Return the position at the end of a parent (None for the top), or before or after a sibling.

    `moved_section` is the section to move, if it is in this document. Raises SectionNotFound,
    AmbiguousAddress, InvalidAddress, and InvalidMove for a position in the moved section.
    """
    offset, parent, sibling, field = resolve_position(document, parent_slug, before, after)
    if moved_section:
        _check_outside(moved_section, sibling or parent, field)
    siblings = [
        item
        for item in document.children(parent)
        if moved_section is None or item.position != moved_section.position or item == sibling
    ]
    index = siblings.index(sibling) + (field == "after") if sibling else len(siblings)
    previous_sibling = siblings[index - 1] if index else None
    next_sibling = siblings[index] if index < len(siblings) else None
    has_same_parent = moved_section is not None and moved_section.parent == (
        parent.position if parent else None
    )
    if moved_section and has_same_parent:
        level = moved_section.level
    elif parent or document.has_title or not siblings:
        level = parent.level + 1 if parent else TOP_LEVEL
    else:
        level = min(item.level for item in siblings)
    return TargetPosition(offset, parent, _fit_level(level, parent, previous_sibling, next_sibling))


def _fit_level(
    level: int, parent: Section | None, previous_sibling: Section | None, next_sibling: Section | None
) -> int:
    """Return the level nearest to `level` at which no sibling becomes a subsection of another sibling."""
    if previous_sibling:
        level = min(level, previous_sibling.level)
    min_level = parent.level + 1 if parent else 1
    return max(level, min_level, next_sibling.level if next_sibling else 1)


def _check_outside(moved_section: Section, reference: Section | None, field: str) -> None:
    """Raise InvalidMove if `reference`, the section that a field names, is or is in the moved section."""
    if (
        reference is None
        or reference.is_preamble
        or not moved_section.start <= reference.start < moved_section.tree_end
    ):
        return
    is_itself = reference.position == moved_section.position
    target = "itself" if is_itself else f"'{reference.address}', which is below it"
    preposition = "into" if field == "parent_slug" else field
    raise InvalidMove(
        f"'{moved_section.address}' cannot be moved {preposition} {target}",
        fix=f"Set '{field}' to a section outside '{moved_section.address}'.",
        slug=reference.key,
    )
