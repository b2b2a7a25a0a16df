"""What stands between a proposal and its merge, whoever merges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.merge.committing import MergeConflict
from workspace.proposals.actions.branches import ProposalEnded
from workspace.proposals.actions.gate import judged
from workspace.proposals.actions.merge import NothingProposed
from workspace.proposals.actions.merge_gate import Block
from workspace.proposals.proposal import State
from workspace.proposals.review.changes import merge_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.proposals.actions.merge_gate import Demand, Judgement
    from workspace.proposals.actions.register import Register
    from workspace.proposals.approvals import Void
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review import Changes, Preview

NOT_MERGEABLE = "NOT_MERGEABLE"
"""The code of a block where no merge can be tried, such as where the target is gone."""

_ENDED = {State.CLOSED: "it was closed", State.GONE: "its branch was deleted"}


class Lacking(NamedTuple):
    """Why a proposal cannot be merged as it is (no blocks: it can), and the judgement on it.

    `judgement` is None where there is no merge to judge, or where it cannot be judged: a block says why.
    `unreviewed` is what the merge would bring under a rule beyond the proposal's commit; None for nothing.
    """

    blocks: tuple[Block, ...]
    judgement: Judgement | None = None
    unreviewed: Changes | None = None

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What the rules ask for that govern it."""
        return self.judgement.demands if self.judgement is not None else ()

    @property
    def void(self) -> Mapping[str, Void]:
        """Why approvals do not count, by the ids of their events."""
        return self.judgement.void if self.judgement is not None else {}


def lacking(register: Register, proposal: Proposal, preview: Preview) -> Lacking:
    """What a proposal lacks before the merge that is previewed; nothing for one that is merged."""
    if proposal.state is State.MERGED:
        return Lacking(())
    blocks = list(_before_the_gate(proposal, preview))
    if preview.merge is None:
        return Lacking(tuple(blocks))
    try:
        judgement = judged(register, proposal, preview.merge)
    except WorkspaceError as error:  # such as tokens that others could have changed: all else is told
        return Lacking((*blocks, Block(error.code, error.message)))
    paths = dict.fromkeys(one.path for one in judgement.unreviewed)
    unreviewed = merge_changes(preview.merge, paths) if paths else None
    return Lacking((*blocks, *judgement.blocks), judgement, unreviewed)


def _before_the_gate(proposal: Proposal, preview: Preview) -> Iterator[Block]:
    if proposal.state in _ENDED:
        yield Block(ProposalEnded.code, _ENDED[proposal.state])
    if preview.is_empty:
        yield Block(NothingProposed.code, "it has no commit of its own yet")
    if preview.reason is not None and proposal.state is not State.GONE:
        yield Block(NOT_MERGEABLE, preview.reason)
    if count := len(preview.conflicts):
        conflicts = "1 conflict" if count == 1 else f"{count:,} conflicts"
        yield Block(MergeConflict.code, f"{conflicts} with {proposal.words.target} to be decided")
