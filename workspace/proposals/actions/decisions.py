"""Decisions on conflicts, bound to the commits that they were made on.

Who decides has seen what both sides say. Where one of them has gone on since, a decision for the other side
would drop words that nobody has seen, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.merge.committing import MergeConflict

if TYPE_CHECKING:
    from workspace.merge.trees_package import FileConflict, Resolutions

Choose = Callable[["Sequence[FileConflict]"], "Resolutions"]
"""Decides conflicts, or some of them, and raises what is wrong with that."""


class Decisions(NamedTuple):
    """How the conflicts of a refresh are decided, and on what.

    `commit` is that of the proposal, `target` that of its target; None stands for where they are now.
    `digest` is of what was asked for, in hex: a retry by its key has the same.
    """

    choose: Choose
    commit: str | None = None
    target: str | None = None
    digest: str | None = None


class ConflictChanged(MergeConflict):
    """A proposal, or its target, is not what was decided on: `conflicts` are those of now."""

    code: ClassVar[str] = "CONFLICT_CHANGED"

    def __init__(self, tip: str | None, theirs: str | None, conflicts: Sequence[FileConflict]) -> None:
        super().__init__(tip, conflicts, theirs)
        self.args = (
            "the proposal or its target has changed since the conflicts were shown that are decided here, "
            "so nothing was merged",
        )
        self.message = self.args[0]
        self.fix = "Look at what is in conflict now, and decide that."
