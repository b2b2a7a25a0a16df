"""What a fix is: bytes put right in one document, and what had to be left as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.document.splices import Splice
    from workspace.links.survival import Survival


class Mend(NamedTuple):
    """One thing put right: the rule that it broke, its line (from 1) and what becomes of its bytes."""

    rule: str
    line: int
    splice: Splice


class Left(NamedTuple):
    """One thing that was left as it is, on a line (from 1; 0 is the whole document), and the reason."""

    rule: str
    path: str
    line: int
    reason: str


class Fixed(NamedTuple):
    """A document before and after its mends; without any it is the same one. No line comes or goes."""

    before: Document
    document: Document
    mends: tuple[Mend, ...]
    left: tuple[Left, ...]

    @property
    def change(self) -> Change:
        """Its bytes alone: of a whole workspace, parsed documents would take ten times the room."""
        return Change(self.document.path, self.before.data, self.document.data, self.mends)


class Change(NamedTuple):
    """A document's bytes before and after, and its mends; none where only links in it followed others."""

    path: str
    before: bytes
    after: bytes
    mends: tuple[Mend, ...] = ()


class Mended(NamedTuple):
    """What came of looking at the document of a path; it can be sent from one process to another.

    There is no `change` without mends. `survival` is set where a name of a place may lead elsewhere now.
    `is_open` says that the history has to be asked, and that nothing was done.
    """

    path: str
    change: Change | None = None
    left: tuple[Left, ...] = ()
    survival: Survival | None = None
    is_open: bool = False
