"""Conflicts of a proposal with its target, and their versions as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.terminal.exits import CannotError
from workspace.merge.conflict import UnitKind

if TYPE_CHECKING:
    from workspace.merge.conflict import UnitId
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace


class ConflictSet(NamedTuple):
    """Conflicts, and the commits of a proposal and of its target that they are of."""

    commit: str | None
    target_commit: str | None
    conflicts: tuple[FileConflict, ...]


def find_conflicts(workspace: Workspace, proposal: Proposal) -> ConflictSet:
    """Return what a refresh of a proposal has to decide: ours is the proposal, theirs its target.

    Nothing for a proposal that is merged. Raises what reading, or merging, the commits raises, and
    CannotError for a branch that is gone.
    """
    from workspace.proposals.proposal import ProposalState

    target = workspace.git.tip(proposal.content.target)
    if proposal.state is not ProposalState.MERGED:
        for branch, tip in ((proposal.content.branch, proposal.tip), (proposal.content.target, target)):
            if tip is None:
                raise CannotError(
                    f"the branch '{branch}' is gone", fix="Fetch it, or make it again with git branch."
                )
    return ConflictSet(proposal.tip, target, workspace.reviewing().conflicts(proposal, target))


def format_version(unit: UnitId, version: bytes | None) -> str:
    """Return a version as text; for a place, where that is."""
    text = decode(version) or ""
    if unit.kind is not UnitKind.POSITION or not unit.where:
        return text
    below, _, behind = text.partition("\n")
    lead = f"below {below}" if below else "at the top level"
    return f"{lead}, behind {behind}" if behind else f"{lead}, first"


def decode(version: bytes | None) -> str | None:
    return None if version is None else version.decode("utf-8", "replace")
