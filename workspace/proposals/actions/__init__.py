"""What one does with a proposal: each act a module, and `Proposing`, which offers them all.

actor.py       who acts, and what became of it
register.py    proposals are found, and words are added to them, once for each idempotency key
branches.py    a proposal's branch is made, found, and refused where the proposal has ended
opening.py     a proposal is opened
direct.py      a write of what is protected becomes a proposal
announcing.py  what became of it on a forge, when a review was asked for
saying.py      its title, comments, reviews; it is submitted, closed and taken up again
refreshing.py  the target's commits are merged into it
decisions.py   how conflicts are decided, and what was seen of them
relaying.py    what was said of it elsewhere is said here, unproven
unanswered.py  which requests for changes a submission leaves as they are
merging.py     it is merged into its target, through the gate
gate.py        it is judged by the rules of its target's tip
lacking.py     what stands between it and its merge
hands.py       who wrote its commits by hand
proposing.py   all of that, for a workspace
"""

from __future__ import annotations

from workspace.proposals.actions.actions import Announced, NotAnnounced, Proposing
from workspace.proposals.actions.discuss import NeedsPerson
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.merge_gate import Lacking
from workspace.proposals.actions.refresh import ConflictChanged, Decisions
from workspace.proposals.actions.register import (
    Acted,
    Actor,
    InvalidTarget,
    NothingProposed,
    ProposalEnded,
    Proposed,
)
from workspace.proposals.proposal import Proposal

__all__ = [
    "Acted",
    "Actor",
    "Announced",
    "ConflictChanged",
    "Decisions",
    "InvalidTarget",
    "Lacking",
    "MergeBlocked",
    "NeedsPerson",
    "NotAnnounced",
    "NothingProposed",
    "Proposal",
    "ProposalEnded",
    "Proposed",
    "Proposing",
]
