"""Proposals: branches that ask to be merged, and what people say of them.

What is said is kept as files, an event each, that are never changed: `<id>/<time>-<digest>.json` on the
branch `docyard/discussion`. Whether a proposal is merged is not said there: the branches tell it.

ids.py         short names of proposals, and of their branches
words.py       what can be said, and its bounds
encoding.py    an event as the bytes of a file
fields.py      what each field of it may hold
order.py       which event comes after which
repeats.py     which words are those of a call that is sent again
union.py       two versions of the files brought together
room.py        how much of it is read
discussion.py  the files of a commit, or of several, read
event_log.py   events are added, and those of others taken in
tips.py        where branches are, here and as they were fetched
ancestors.py   which commits one can reach
landing.py     which proposals a branch has taken in
told.py        what the events of one proposal come to
proposal.py    a proposal as it stands, from its events and its branches
standing.py    where a comment's text is now
"""

from __future__ import annotations

from workspace.proposal_ids import BRANCH, new_id, read_id
from workspace.proposals.actions.register import branch_name
from workspace.proposals.comments import Now, Standing, place_of
from workspace.proposals.discussion import Discussion, Said
from workspace.proposals.event_log import Appended, EventLog
from workspace.proposals.events import Author, Event, InvalidWords, KnownBy, Verdict
from workspace.proposals.proposal import Proposal, ProposalNotFound, Proposals, State

__all__ = [
    "BRANCH",
    "Appended",
    "Author",
    "Discussion",
    "Event",
    "EventLog",
    "InvalidWords",
    "KnownBy",
    "Now",
    "Proposal",
    "ProposalNotFound",
    "Proposals",
    "Said",
    "Standing",
    "State",
    "Verdict",
    "branch_name",
    "new_id",
    "place_of",
    "read_id",
]
