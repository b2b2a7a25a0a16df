"""The filter of states of a list of proposals.

It is a separate module because the options of commands need no other module of proposals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.proposals.proposal import Proposal

OPEN_STATES, WAITING_STATE, ALL_STATES = "open", "waiting", "all"
STATE_FILTERS = (
    OPEN_STATES,
    "draft",
    WAITING_STATE,
    "changes_requested",
    "approved",
    "merged",
    "closed",
    "gone",
    ALL_STATES,
)
"""The values of the filter: `open` selects all states except merged, closed and gone.

`waiting` selects the proposals that wait for a review.
"""


def has_state(proposal: Proposal, state: str) -> bool:
    """Return True if a filter of states selects a proposal."""
    if state == OPEN_STATES:
        return proposal.is_open
    if state == WAITING_STATE:
        return proposal.state.value == "open"
    return state in (ALL_STATES, proposal.state.value)


def count_states(proposals: Sequence[Proposal]) -> Mapping[str, int]:
    """Return the number of proposals that each filter of states selects."""
    return {state: sum(has_state(proposal, state) for proposal in proposals) for state in STATE_FILTERS}
