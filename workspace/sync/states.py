"""How a branch stands to the one of its name in a remote, told from refs and commits that are here."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.git import GitReader


class State(StrEnum):
    """How a branch stands to the remote's, after all that could be done."""

    LEVEL = "level"
    BEHIND = "behind"
    AHEAD = "ahead"
    DIVERGED = "diverged"
    REWOUND = "rewound"
    """The remote has no longer what it had, and ours still does: a push would bring it back."""


class Stand(NamedTuple):
    """The commits of a branch, here and in the remote as last seen (None: there is none), and its state."""

    ours: str | None
    theirs: str | None
    state: State


def state_of(git: GitReader, ours: str | None, theirs: str | None, lost: str | None) -> State:
    """How two commits stand; `lost` is one that the remote had, and was seen to have no longer.

    Raises ShallowHistory, DamagedRepository.
    """
    if is_lost(git, ours, theirs, lost):
        return State.REWOUND
    if ours == theirs:
        return State.LEVEL
    if ours is None or theirs is None:
        return State.BEHIND if ours is None else State.AHEAD
    bases = git.merge_bases(ours, theirs)
    one_sided: dict[tuple[str, ...], State] = {(ours,): State.BEHIND, (theirs,): State.AHEAD}
    return one_sided.get(bases, State.DIVERGED)


def is_lost(git: GitReader, ours: str | None, theirs: str | None, lost: str | None) -> bool:
    """Whether ours still has what the remote lost: it is not back there, and was not given up here."""
    if lost is None or ours is None or not git.descends(ours, lost):
        return False
    return theirs is None or not git.descends(theirs, lost)
