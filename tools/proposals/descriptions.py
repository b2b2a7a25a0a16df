"""Descriptions of a proposal: its author, dates, state, problems, and allowed actions.

`announce` describes the result of submitting it to a forge.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.errors import escape_invisible
from tools.pages import cut_text
from tools.tool import call
from workspace.publishing.after_commit import attempt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tools.tool import Context, Data
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.events import Author
    from workspace.proposals.proposal import Comment, Proposal

MAX_TEXT = 2_000
"""Characters of a comment or review that are shown."""


def summarize_proposal(proposal: Proposal) -> Data:
    """Return a proposal as a list shows it."""
    words = proposal.words
    return {
        "proposal": proposal.id,
        "title": escape_invisible(words.title),
        "state": proposal.state.value,
        "author": author_data(words.author),
        "target": words.target,
        "branch": words.branch,
        "opened": format_time(words.opened),
        "updated": format_time(words.updated),
    }


def describe_proposal(proposal: Proposal) -> Data:
    """Return what is said of a proposal on every page, with what is odd about it."""
    data = summarize_proposal(proposal)
    hints = []
    if proposal.is_rewritten:
        hints.append("the branch was rewritten: a commit that it contained is missing")
    if proposal.state.value == "gone":
        hints.append("the branch was deleted: create it again at one of its commits, or close the proposal")
    if proposal.is_ahead:
        hints.append("the branch went on after it was merged; open another proposal for what came since")
    if proposal.unreadable:
        hints.append(f"{proposal.unreadable} of the files that hold its words could not be read")
    if proposal.words.unknown:
        hints.append(f"{proposal.words.unknown} of its events are of a later version, and are not shown")
    landing = proposal.landing
    merged = {"merged_in": landing.commit} if landing is not None else {}
    return {**data, "tip": proposal.tip, **merged, **({"hints": hints} if hints else {})}


def commit_of(context: Context, proposal: Proposal) -> str | None:
    """Return the commit of a proposal; without its branch the merge commit, else the served tip."""
    landed = proposal.landing.commit if proposal.landing is not None else None
    return proposal.tip or landed or context.workspace.tip()


def author_data(author: Author) -> Data:
    """Return who spoke, and how that is known: `client` and `token` are names, null where there is none."""
    from workspace.proposals.events import KnownBy

    label = escape_invisible(author.label) or None
    return {
        "name": escape_invisible(author.name),
        "email": escape_invisible(author.email),
        "known_by": author.known_by.value,
        "client": label if author.known_by is KnownBy.CLIENT else None,
        "token": label if author.known_by is KnownBy.TOKEN else None,
    }


def comment_data(comment: Comment, proposal: str) -> Data:
    """Return a remark: its id, by whom, when, and in which words."""
    return {
        "comment": comment.id,
        "author": author_data(comment.author),
        "time": format_time(comment.time),
        **shorten_text(comment.text, proposal, comment.id),
    }


def shorten_text(text: str, proposal: str, id: str) -> Data:
    """Return what somebody said, as far as it is shown; where it goes on, `rest` is the call for that."""
    shown, rest = cut_text(escape_invisible(text), 0, MAX_TEXT)
    if rest is None:
        return {"text": shown}
    return {"text": shown, "rest": str(call("view_proposal", proposal=proposal, comment=id, offset=rest))}


def format_time(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def allowed_actions(proposal: Proposal) -> tuple[str, ...]:
    """Return the actions that a proposal's state allows, the likeliest first."""
    from workspace.proposals.proposal import ProposalState

    match proposal.state:
        case ProposalState.MERGED:
            return ("comment",)
        case ProposalState.CLOSED:
            return ("reopen", "comment")
        case ProposalState.GONE:
            return ("close", "comment")
        case ProposalState.APPROVED:
            return ("merge", "comment", "refresh", "request_changes", "edit", "close")
        case _:
            return ("submit", "comment", "refresh", "approve", "request_changes", "merge", "edit", "close")


def latest_open(proposals: Sequence[Proposal], most: int) -> list[Data]:
    """Return the open proposals that were opened last, by id and title."""
    found = [one for one in proposals if one.is_open]
    return [{"proposal": one.id, "title": escape_invisible(one.words.title)} for one in found[:most]]


def announce(proposing: ProposalActions, proposal: Proposal) -> tuple[Data, list[str]]:
    """Return `pull_request` with its `url`, `number` and whether it is `new`, and hints about failures.

    Both are empty if no forge is configured. A failure of the forge undoes nothing.
    """
    found = attempt(
        partial(proposing.announce, proposal),
        None,
        "its pull request was not opened or brought up to date; submit it again later",
    )
    if found is None:
        return {}, []
    if found.error is not None:
        return {"pull_request": None}, [escape_invisible(f"{found.error.message}. {found.error.fix}")]
    data: Data = {
        "pull_request": {
            "forge": found.forge,
            "number": found.number,
            "url": escape_invisible(found.url),
            "new": found.is_new,
        }
    }
    if found.unsent is None:
        return data, []
    return data, [escape_invisible(f"the proposal's discussion was not sent: {found.unsent.message}")]
