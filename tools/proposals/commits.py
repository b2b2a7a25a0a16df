"""The commits of a proposal, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.history.descriptions import commit_data

if TYPE_CHECKING:
    from tools.context import Context
    from tools.errors import Data
    from workspace.proposals import Proposal
    from workspace.proposals.review import ProposedCommit

_MOST = 30


def commits_data(context: Context, proposal: Proposal) -> Data:
    """The commits that a proposal brings, or brought; `more_commits` says that there are older ones."""
    found = context.workspace.reviewing().commits(proposal)
    more = {"more_commits": True} if len(found) > _MOST else {}
    return {"commits": [_commit(one) for one in found[:_MOST]], **more}


def _commit(one: ProposedCommit) -> Data:
    refresh = {"refresh": True} if one.is_refresh else {}
    return {"commit": one.told.commit, **commit_data(one.told), **refresh}
