"""The conflicts of a merge as data, their resolutions, and the merge of one value.

A person or a client resolves a conflict. If only one side changed a value, the merge takes that side's value.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    FitContent = Callable[["UnitConflict", "Resolution", bytes], bytes | None]


class UnitKind(StrEnum):
    """The kind of a unit of a merge."""

    DOCUMENT = "document"  # a full document or file
    METADATA = "metadata"  # a key of the front matter
    SECTION = "section"  # a section with its subsections, which one side removed
    HEADING = "heading"  # a section's heading with its anchors
    TEXT = "text"  # a section's own text, or one block of it
    TASK = "task"  # a task with the blocks below it
    POSITION = "place"  # the position of a section, or of a block in its text


class UnitId(NamedTuple):
    """The name of a unit within its document.

    `where` is the address of a section or task (`tasks[0]`), or a key of the front matter. It is empty for a
    full document or all of its front matter. An address is taken from base, or else from ours, or else from
    theirs. `part` is the index of a block, from 0, if a section's text has several blocks; otherwise it is
    empty.
    """

    kind: UnitKind
    where: str = ""
    part: str = ""


class UnitConflict(NamedTuple):
    """A unit that both sides changed differently; each version is its bytes, or None if it is missing.

    Two additions of the same name have no base. For a position, the bytes are the address of the parent, a
    line feed, and the address of the predecessor (empty for the first).
    """

    unit: UnitId
    base: bytes | None
    ours: bytes | None
    theirs: bytes | None


class ResolutionChoice(StrEnum):
    """The version of a unit that a merge takes; a union is ours followed by theirs."""

    OURS = "ours"
    THEIRS = "theirs"
    UNION = "union"
    CONTENT = "content"

    @property
    def is_side(self) -> bool:
        """Return True for the version of one side, which is not a new text."""
        return self in (ResolutionChoice.OURS, ResolutionChoice.THEIRS)


class Resolution(NamedTuple):
    """A resolution of a conflict: one side, or new `content` (None removes the unit)."""

    choice: ResolutionChoice
    content: bytes | None = None


_NEW_CONTENT = {ResolutionChoice.UNION: "both versions", ResolutionChoice.CONTENT: "new content"}


class InvalidResolution(WorkspaceError):
    """An error: a resolution does not apply to its conflict, such as new content for a position."""

    code = "INVALID_RESOLUTION"


class MergedDocument(NamedTuple):
    """The merge of a document; in `data`, units in conflict are as in ours.

    `resolved_units` are the units whose conflict has a resolution.
    """

    data: bytes
    conflicts: tuple[UnitConflict, ...]
    resolved_units: tuple[UnitId, ...] = ()


class Conflicts:
    """The conflicts of one merge, collected during the merge. A conflict may have a resolution.

    `ending` is the document's line ending, which new content also receives. `fit_content` returns new
    content, or a union, adapted to the position of its unit.
    """

    def __init__(
        self, resolutions: Mapping[UnitId, Resolution], ending: bytes, fit_content: FitContent
    ) -> None:
        self._resolutions, self._ending, self._fit_content = resolutions, ending, fit_content
        self._unresolved: dict[UnitId, UnitConflict] = {}
        self._resolved: dict[UnitId, UnitConflict] = {}

    def __iter__(self) -> Iterator[UnitConflict]:
        return iter(self._unresolved.values())

    @property
    def resolved_units(self) -> tuple[UnitId, ...]:
        """The units of conflicts with a resolution."""
        return tuple(self._resolved)

    @property
    def versions(self) -> Iterator[bytes]:
        """The versions of all units in conflict, and the content of their resolutions."""
        for conflict in (*self._unresolved.values(), *self._resolved.values()):
            resolution = self._resolutions.get(conflict.unit)
            content = None if resolution is None else resolution.content
            yield from (text for text in (*conflict[1:], content) if text is not None)

    def resolve(self, conflict: UnitConflict) -> bytes | None:
        """Record a conflict, and return the bytes of its unit: from its resolution, else from ours.

        Raises InvalidResolution.
        """
        resolution = self._resolutions.get(conflict.unit)
        if resolution is None:
            self._unresolved.setdefault(conflict.unit, conflict)
            return conflict.ours
        self._resolved[conflict.unit] = conflict
        match resolution.choice:
            case ResolutionChoice.OURS:
                return conflict.ours
            case ResolutionChoice.THEIRS:
                return conflict.theirs
            case ResolutionChoice.UNION | ResolutionChoice.CONTENT:
                return self._fit_content(conflict, resolution, self._ending)

    def has_new_content(self, unit: UnitId) -> bool:
        """Return True if a unit is resolved with new content, or with both texts."""
        resolution = self._resolutions.get(unit)
        return resolution is not None and not resolution.choice.is_side

    def resolve_for_theirs(self, conflict: UnitConflict) -> bool:
        """Record a conflict of a unit without new content, such as a position.

        Return True if its resolution chooses theirs.

        Raises InvalidResolution for new content and for a union.
        """
        resolution = self._resolutions.get(conflict.unit)
        if resolution is not None and not resolution.choice.is_side:
            kind, place = conflict.unit.kind, conflict.unit.where
            raise InvalidResolution(
                f"the {kind} of '{place}' cannot be resolved with {_NEW_CONTENT[resolution.choice]}",
                fix="Choose 'ours' or 'theirs'.",
                unit=conflict.unit,
            )
        self.resolve(conflict)
        return resolution is not None and resolution.choice is ResolutionChoice.THEIRS

    def count(self) -> tuple[int, int]:
        """Return the numbers of unresolved and of resolved conflicts so far, for `truncate`."""
        return len(self._unresolved), len(self._resolved)

    def truncate(self, counts: tuple[int, int]) -> None:
        """Remove the conflicts added since `count` returned `counts`.

        Call this method if a larger unit, which contains the units of these conflicts, conflicts instead.
        """
        while len(self._unresolved) > counts[0]:
            self._unresolved.popitem()
        while len(self._resolved) > counts[1]:
            self._resolved.popitem()


class _Clash(Enum):
    CLASH = "clash"


CLASH: Final = _Clash.CLASH
"""The result of a merge of a value that both sides changed differently."""

Clash = Literal[_Clash.CLASH]
T = TypeVar("T")


def merge_values(base: T, ours: T, theirs: T) -> T | Clash:
    """Return the value of the side that changed it; CLASH if the sides changed it differently."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else CLASH
