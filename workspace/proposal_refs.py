"""The commit that a proposal's id stands for, wherever a ref may be given."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.tips import Tips
from workspace.proposal_ids import BRANCHES, id_of_branch, read_id
from workspace.proposals.event_log import EventLog
from workspace.proposals.proposal import Proposals, State
from workspace.proposals.told import told

if TYPE_CHECKING:
    from workspace.git import GitReader

_NAMED = 20


class NoProposedCommit(WorkspaceError):
    """A proposal has no commit to read: it was closed, or its branch was deleted (`state` says which)."""

    code: ClassVar[str] = "NO_PROPOSED_COMMIT"


def commit_of(git: GitReader, name: str) -> str | None:
    """The tip of a proposal's branch, by its id or as a branch; None for what is no proposal's name.

    Where the branch is gone, it is what was merged of it: the merge commit's second parent.
    Raises NoProposedCommit.
    """
    id = read_id(name)
    if id is None:
        return None
    discussion = EventLog(git).read()
    words = told(discussion.of(id).events)
    if words is None:
        return None
    tip = Tips(git).of(words.branch)
    if tip is not None:
        return tip
    proposal = Proposals(git).one(discussion, id)
    if proposal.landing is not None:
        return proposal.landing.tip
    state = (
        "is closed, and its branch is gone" if proposal.state is State.CLOSED else "has no branch any more"
    )
    raise NoProposedCommit(
        f"the proposal '{id}' {state}",
        fix="Name another commit, or make the branch again from a commit that it had with git branch.",
        proposal=id,
        state=proposal.state.value,
    )


def open_proposals(git: GitReader) -> tuple[str, ...]:
    """The ids of the open proposals, the one that was opened last first; of many, some."""
    found = EventLog(git).steady(Proposals(git).all)
    return tuple(one.id for one in found if one.is_open)[:_NAMED]


def proposals_with_branches(git: GitReader) -> tuple[str, ...]:
    """The ids in the names of branches: what of proposals can be told without reading what was said."""
    found = (id_of_branch(name) for name in git.branches() if name.startswith(BRANCHES))
    return tuple(dict.fromkeys(id for id in found if id is not None))
