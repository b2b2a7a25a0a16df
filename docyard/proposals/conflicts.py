"""Conflicts of a proposal with its target, and their versions as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.terminal.exits import CommandError
from workspace.merge.conflict import UnitKind

if TYPE_CHECKING:
    from workspace.merge.conflict import UnitId
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace


class ConflictSet(NamedTuple):
    """Conflicts between a commit of a proposal and a commit of its target."""

    commit: str | None
    target_commit: str | None
    conflicts: tuple[FileConflict, ...]


def find_conflicts(workspace: Workspace, proposal: Proposal) -> ConflictSet:
    """Return the conflicts of a refresh: ours is the proposal, theirs is its target.

    A merged proposal has no conflicts. Raises CommandError if one of the branches was deleted, and the errors
    of reading and merging the commits.
    """
    from workspace.proposals.proposal import ProposalState

    target = workspace.git.tip(proposal.content.target)
    if proposal.state is not ProposalState.MERGED:
        for branch, tip in ((proposal.content.branch, proposal.tip), (proposal.content.target, target)):
            if tip is None:
                raise CommandError(
                    f"the branch '{branch}' does not exist",
                    fix="Fetch the branch, or restore it with git branch.",
                )
    return ConflictSet(proposal.tip, target, workspace.proposal_reviews().conflicts(proposal, target))


def format_version(unit: UnitId, version: bytes | None) -> str:
    """Return a version as text.

    In a conflict about the position of a section or block, the text names the parent of the section or block,
    and its previous sibling.
    """
    text = decode_version(version) or ""
    if unit.kind is not UnitKind.POSITION or not unit.where:
        return text
    parent, _, previous = text.partition("\n")
    parent_text = f"below {parent}" if parent else "at the top level"
    return f"{parent_text}, after {previous}" if previous else f"{parent_text}, first"


def decode_version(version: bytes | None) -> str | None:
    """Return a version as text, with U+FFFD in place of invalid bytes; None for a missing version."""
    return None if version is None else version.decode("utf-8", "replace")
