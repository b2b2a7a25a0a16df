"""What a proposal lacks before it may be merged, by the rules of its target's tip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.policy.protection import governing, touched
from workspace.policy.tokens import Tokens
from workspace.policy.unreviewed import find_unreviewed
from workspace.proposals.actions.merge_gate import judge
from workspace.proposals.hands import own_hands

if TYPE_CHECKING:
    from workspace.merge.trees_package import Merge
    from workspace.proposals.actions.merge_gate import Judgement
    from workspace.proposals.actions.register import Register
    from workspace.proposals.proposal import Proposal


def judged(register: Register, proposal: Proposal, merge: Merge) -> Judgement:
    """The judgement on a proposal whose merge this is: its first side is the target's tip, whose rules hold.

    What is protected is judged by what changes on the target, however the proposal came to it. Raises
    InvalidConfig, and UnsafeTokens or DamagedTokens for a file of tokens that cannot be believed.
    """
    config = merge.ours.config
    assert merge.ours.commit is not None
    assert merge.theirs.commit is not None
    governed = governing(config, touched(merge.ours, merge.changes)) if config.protect else ()
    wanted = any(one.rule.checks for one in governed)
    return judge(
        proposal,
        register.said(proposal.id),
        governed,
        register.workspace.reviewing().check(merge) if wanted else (),
        Tokens(register.workspace.git.common_dir),
        own_hands(register.workspace.git, register.graph, merge.theirs.commit, merge.ours.commit)
        if governed
        else frozenset(),
        find_unreviewed(merge) if config.protect else (),
    )
