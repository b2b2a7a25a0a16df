"""What is told of a proposal: who, since when, in which state, what is odd, and what its state allows.

What became of a proposal on a forge when it was submitted, as an answer tells it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.errors import visible
from tools.pages import cut
from tools.tool import call
from workspace.publishing.after_commit import attempt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tools.tool import Context, Data
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.events import Author
    from workspace.proposals.proposal import Comment, Proposal

MAX_WORDS = 2_000


"""Characters of a comment or review that are shown."""


def in_brief(proposal: Proposal) -> Data:
    """Return a proposal as a list shows it."""
    words = proposal.words
    return {
        "proposal": proposal.id,
        "title": visible(words.title),
        "state": proposal.state.value,
        "author": author_data(words.author),
        "target": words.target,
        "branch": words.branch,
        "opened": date(words.opened),
        "updated": date(words.updated),
    }


def head(proposal: Proposal) -> Data:
    """Return what is said of a proposal on every page, with what is odd about it."""
    data = in_brief(proposal)
    hints = []
    if proposal.is_rewritten:
        hints.append("the branch was rewritten: it no longer has a commit that it was known to have")
    if proposal.state.value == "gone":
        hints.append("the branch was deleted: make it again from a commit that it had, or close the proposal")
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
    """The commit at which a proposal is; without its branch the one that merged it, else the served tip."""
    landed = proposal.landing.commit if proposal.landing is not None else None
    return proposal.tip or landed or context.workspace.tip()


def author_data(author: Author) -> Data:
    """Return who spoke, and how that is known: `client` and `token` are names, null where there is none."""
    from workspace.proposals.events import KnownBy

    label = visible(author.label) or None
    return {
        "name": visible(author.name),
        "email": visible(author.email),
        "known_by": author.known_by.value,
        "client": label if author.known_by is KnownBy.CLIENT else None,
        "token": label if author.known_by is KnownBy.TOKEN else None,
    }


def comment_data(comment: Comment, proposal: str) -> Data:
    """Return a remark: its id, by whom, when, and in which words."""
    return {
        "comment": comment.id,
        "author": author_data(comment.author),
        "time": date(comment.time),
        **shown_words(comment.text, proposal, comment.id),
    }


def shown_words(text: str, proposal: str, id: str) -> Data:
    """Return what somebody said, as far as it is shown; where it goes on, `rest` is the call for that."""
    shown, rest = cut(visible(text), 0, MAX_WORDS)
    if rest is None:
        return {"text": shown}
    return {"text": shown, "rest": str(call("view_proposal", proposal=proposal, comment=id, offset=rest))}


def date(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def possible(proposal: Proposal) -> tuple[str, ...]:
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


def first_open(proposals: Sequence[Proposal], most: int) -> list[Data]:
    """Return the open proposals that were opened last, by id and title."""
    found = [one for one in proposals if one.is_open]
    return [{"proposal": one.id, "title": visible(one.words.title)} for one in found[:most]]


def announced(proposing: ProposalActions, proposal: Proposal) -> tuple[Data, list[str]]:
    """`pull_request` with its `url`, `number` and whether it is `new`, and hints of what did not work.

    Both are empty where no forge is asked for. A forge that fails undoes nothing.
    """
    found = attempt(
        partial(proposing.announce, proposal),
        None,
        "its pull request was not opened or brought up to date; submit it again later",
    )
    if found is None:
        return {}, []
    if found.error is not None:
        return {"pull_request": None}, [visible(f"{found.error.message}. {found.error.fix}")]
    data: Data = {
        "pull_request": {
            "forge": found.forge,
            "number": found.number,
            "url": visible(found.url),
            "new": found.is_new,
        }
    }
    if found.unsent is None:
        return data, []
    return data, [visible(f"the words of the proposal wait here: {found.unsent.message}")]
