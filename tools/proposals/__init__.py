"""The tools that propose changes and review them, in the order of a client's list.

changes.py           the changes of a proposal, page by page
comments.py          the comments on a proposal, with the current location of the text of each
conflicts.py         conflicts as data, and the parser of their resolutions
create_proposal.py   create_proposal: opens a proposal
descriptions.py      a proposal's author, dates, state and allowed actions, as data
discussion.py        answers with the comments, reviews or description of a proposal
missing_decision.py  the decision of people that a refused merge lacks
page.py              a proposal as a page of Markdown
report_problem.py    report_problem: reports a problem as a proposal or a comment
review_state.py      the state of a review: conflicts, checks, verdicts, merge requirements
update_proposal.py   update_proposal: submits, discusses, refreshes, reviews, merges or closes a proposal
view_proposal.py     view_proposal: lists proposals, or shows one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.proposals import create_proposal, report_problem, update_proposal, view_proposal

if TYPE_CHECKING:
    from tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    create_proposal.TOOL,
    view_proposal.TOOL,
    update_proposal.TOOL,
    report_problem.TOOL,
)
