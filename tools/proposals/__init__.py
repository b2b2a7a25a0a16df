"""The tools that propose changes and review them, in the order in which a client sees them.

changes.py          what a proposal changes, a page at a time
comments.py         the comments on a proposal, with where the text is now that they are about
conflicts.py        conflicts as data, and the same data with a choice as their resolutions
create_proposal.py  create_proposal: a branch of its own for changes that are to be reviewed, with a title …
descriptions.py     what is told of a proposal
discussion.py       what is said of a proposal, by itself
page.py             a proposal as a page of Markdown, which says what the data says
review_state.py     where a review stands: conflicts, checks, verdicts, and what is missing before the merge
update_proposal.py  update_proposal: a proposal is submitted, spoken of, refreshed, reviewed, merged or …
view_proposal.py    view_proposal: the proposals there are; or one, with what it changes, what is said, …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.proposals import create_proposal, update_proposal, view_proposal

if TYPE_CHECKING:
    from tools.tool import Tool

FAMILY: tuple[Tool, ...] = (create_proposal.TOOL, view_proposal.TOOL, update_proposal.TOOL)
