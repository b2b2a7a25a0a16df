"""The branches that travel beside the served one: the discussion, and each proposal's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.proposal_ids import BRANCHES, id_of_branch
from workspace.proposals.discussion import BRANCH
from workspace.sync.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.errors import WorkspaceError

DISCUSSION = BRANCH
PATTERN = f"{DISCUSSION}|{BRANCHES}[0-9a-z]{{8}}(?:-[^/]*)?"
"""Fits the names of branches that may be of the discussion or of a proposal."""


class Beside(NamedTuple):
    """A branch beside the served one, as it stands after a synchronisation.

    `is_there` says whether the remote has it, `commit` is None where this repository has not. `done` tells
    what was done: "followed", "merged", "pushed", some of them, or nothing. `conflicts` are the paths that
    were changed on both sides, `error` is what stood in the way.
    `is_landed` says that the served branch has all of it, so that nothing is missed where it was deleted.
    """

    branch: str
    state: State
    commit: str | None
    is_there: bool
    done: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    error: WorkspaceError | None = None
    is_landed: bool = False

    @property
    def is_discussion(self) -> bool:
        """Whether it holds the words of proposals."""
        return self.branch == DISCUSSION

    @property
    def needs_someone(self) -> bool:
        """Whether it stays apart from the remote's until someone decides."""
        if self.error is None and self.is_landed and not self.is_there:
            return False
        return self.error is not None or self.state in (State.DIVERGED, State.REWOUND)


def travelling(branches: Iterable[str], served: str) -> tuple[str, ...]:
    """Those of some branches that travel beside the served one: the discussion first, then by name."""
    return tuple(
        sorted(
            {branch for branch in branches if branch != served and _travels(branch)},
            key=lambda branch: (branch != DISCUSSION, branch),
        )
    )


def _travels(branch: str) -> bool:
    return branch == DISCUSSION or (id_of_branch(branch) is not None and branch.count("/") == 1)
