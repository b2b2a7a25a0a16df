"""What a merge could not decide, as data, and how a person or a client decides it.

One value of three versions: that of the side that changed it.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Fit = Callable[["Conflict", bytes | None, bytes], bytes | None]


class UnitKind(StrEnum):
    """What a unit of a merge is."""

    DOCUMENT = "document"  # a document or file as a whole
    METADATA = "metadata"  # a key of the front matter
    SECTION = "section"  # a section with all below it, which one side removed
    HEADING = "heading"  # a section's heading with its anchors
    TEXT = "text"  # a section's own text, or one block of it
    TASK = "task"  # a task with what stands below it
    PLACE = "place"  # where a section, or a block of its text, stands


class UnitId(NamedTuple):
    """Names a unit within its document.

    `where` is a section's address, a task's (`tasks[0]`), a key of the front matter, or empty for the whole;
    as it is in base, else in ours, else in theirs. `part` counts the blocks of a section's text from 0, where
    one of several is meant; it is empty otherwise.
    """

    kind: UnitKind
    where: str = ""
    part: str = ""


class Conflict(NamedTuple):
    """A unit that both sides changed, differently; each version is its bytes, None where it is not there.

    Two additions of the same name have no base. For a place, the bytes are the address of what it stands
    below, a line feed, and the address of what it stands behind (nothing for the first).
    """

    unit: UnitId
    base: bytes | None
    ours: bytes | None
    theirs: bytes | None


class Choice(StrEnum):
    """Which version of a unit a merge takes."""

    OURS = "ours"
    THEIRS = "theirs"
    CONTENT = "content"


class Resolution(NamedTuple):
    """How a conflict is decided: for one side, or by new `content` (None: the unit goes)."""

    choice: Choice
    content: bytes | None = None


class InvalidResolution(WorkspaceError):
    """A conflict cannot be decided in this way: a place, say, by new content."""

    code = "INVALID_RESOLUTION"


class MergedDocument(NamedTuple):
    """What a merge made of a document; units in conflict stand in `data` as they do in ours.

    `resolved` are the conflicts that a resolution has decided.
    """

    data: bytes
    conflicts: tuple[Conflict, ...]
    resolved: tuple[UnitId, ...] = ()


class Conflicts:
    """The conflicts of one merge, as they are found, each decided by a resolution where there is one.

    `ending` is that of the document's lines, which new content is given too. `fit` writes new content so that
    it stands where the unit stands.
    """

    def __init__(self, resolutions: Mapping[UnitId, Resolution], ending: bytes, fit: Fit) -> None:
        self._resolutions, self._ending, self._fit = resolutions, ending, fit
        self._found: dict[UnitId, Conflict] = {}
        self._resolved: dict[UnitId, Conflict] = {}

    def __iter__(self) -> Iterator[Conflict]:
        return iter(self._found.values())

    @property
    def resolved(self) -> tuple[UnitId, ...]:
        """The units that resolutions have decided."""
        return tuple(self._resolved)

    @property
    def told(self) -> Iterator[bytes]:
        """The versions of all units in conflict, and what was decided for them."""
        for conflict in (*self._found.values(), *self._resolved.values()):
            resolution = self._resolutions.get(conflict.unit)
            content = None if resolution is None else resolution.content
            yield from (text for text in (*conflict[1:], content) if text is not None)

    def decide(self, conflict: Conflict) -> bytes | None:
        """Return the bytes of a unit in conflict: what a resolution says, else ours.

        Raises InvalidResolution.
        """
        resolution = self._resolutions.get(conflict.unit)
        if resolution is None:
            self._found.setdefault(conflict.unit, conflict)
            return conflict.ours
        self._resolved[conflict.unit] = conflict
        match resolution.choice:
            case Choice.OURS:
                return conflict.ours
            case Choice.THEIRS:
                return conflict.theirs
            case Choice.CONTENT:
                return self._fit(conflict, resolution.content, self._ending)

    def is_new(self, unit: UnitId) -> bool:
        """Return True if a unit is decided by new content."""
        resolution = self._resolutions.get(unit)
        return resolution is not None and resolution.choice is Choice.CONTENT

    def is_for_theirs(self, conflict: Conflict) -> bool:
        """Return True if a unit that has no text of its own, such as a place, is decided for theirs.

        Raises InvalidResolution for new content.
        """
        resolution = self._resolutions.get(conflict.unit)
        if resolution is not None and resolution.choice is Choice.CONTENT:
            raise InvalidResolution(
                f"the {conflict.unit.kind} of '{conflict.unit.where}' cannot be decided by new content",
                fix="Choose 'ours' or 'theirs'.",
                unit=conflict.unit,
            )
        self.decide(conflict)
        return resolution is not None and resolution.choice is Choice.THEIRS

    def saved(self) -> tuple[int, int]:
        """Return how much was found by now, for `back_to`."""
        return len(self._found), len(self._resolved)

    def back_to(self, saved: tuple[int, int]) -> None:
        """Forget what was found since: it is a part of something larger that is in conflict."""
        while len(self._found) > saved[0]:
            self._found.popitem()
        while len(self._resolved) > saved[1]:
            self._resolved.popitem()


class _Clash(Enum):
    CLASH = "clash"


CLASH: Final = _Clash.CLASH


"""Both sides changed the value, differently."""


Clash = Literal[_Clash.CLASH]


T = TypeVar("T")


def three_way(base: T, ours: T, theirs: T) -> T | Clash:
    """Return the value that a merge takes, or CLASH."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else CLASH
