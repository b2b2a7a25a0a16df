"""Descriptions of a proposal: author, dates, state, problems and allowed actions.

`open_and_describe_pull_request` opens the pull request of a proposal on a forge, and describes it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.authors import name_author
from tools.pages import cut_text
from tools.tool import Call, call
from workspace.escapes import escape_invisible
from workspace.publishing.after_commit import run_with_caveat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tools.tool import Context, Data
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.actions.repository import ActionResult
    from workspace.proposals.events import Author
    from workspace.proposals.proposal import Comment, Proposal

MAX_TEXT_CHARACTERS = 2_000
"""The limit of a comment or review in one answer; another call returns the rest."""

_MAX_NAMED_REFERENCES = 3


def summarize_proposal(proposal: Proposal) -> Data:
    """Return the entry of a proposal in a list."""
    content = proposal.content
    return {
        "proposal": proposal.id,
        "title": escape_invisible(content.title),
        "state": proposal.state.value,
        "author": describe_author(content.author),
        "target": content.target,
        "branch": content.branch,
        "opened": format_time(content.opened_at),
        "updated": format_time(content.updated_at),
    }


def describe_proposal(proposal: Proposal) -> Data:
    """Return the fields of a proposal that every page has, and hints about problems."""
    data = summarize_proposal(proposal)
    hints = []
    if proposal.is_rewritten:
        hints.append("the branch was rewritten: a commit that it contained is missing")
    if proposal.state.value == "gone":
        hints.append("the branch was deleted: create it again at one of its commits, or close the proposal")
    if proposal.is_ahead:
        hints.append("the branch has new commits since it was merged; open another proposal for them")
    if proposal.unreadable_count:
        files = "file" if proposal.unreadable_count == 1 else "files"
        hints.append(f"{proposal.unreadable_count} {files} of its discussion could not be read")
    if count := proposal.content.unknown_event_count:
        events = "event of a later version is" if count == 1 else "events of a later version are"
        hints.append(f"{count} {events} not shown")
    record = proposal.merge_record
    merge_fields = {"merged_in": record.commit} if record is not None else {}
    return {**data, "tip": proposal.tip, **merge_fields, **({"hints": hints} if hints else {})}


def describe_broken_dependencies(result: ActionResult) -> list[str]:
    """Return a hint that names the first dependencies of tasks that a merge broke; an empty list if none."""
    merge, commit = result.merge, result.commit
    if merge is None or commit is None or not result.is_new:
        return []
    from workspace.merge.dependencies import list_broken_dependencies

    references: list[str] = run_with_caveat(
        partial(list_broken_dependencies, merge, commit), [], "the dependencies of tasks were not checked"
    )
    if not references:
        return []
    names = ", ".join(f"'{escape_invisible(name[:200])}'" for name in references[:_MAX_NAMED_REFERENCES])
    rest = len(references) - _MAX_NAMED_REFERENCES
    more = f" and {rest} more" if rest > 0 else ""
    return [f"tasks depend on {names}{more}, which the merge moved or removed: correct their 'Depends on'"]


def choose_commit(context: Context, proposal: Proposal) -> str | None:
    """Return the tip of a proposal; if its branch is missing, the merge commit, or else the served tip."""
    merge_commit = proposal.merge_record.commit if proposal.merge_record is not None else None
    return proposal.tip or merge_commit or context.workspace.tip()


def describe_author(author: Author) -> Data:
    """Return an author; `client` or `token` is a name if the author is known by it, else null."""
    from workspace.proposals.events import IdentitySource

    label, name = escape_invisible(author.label) or None, escape_invisible(author.name)
    return {
        "by": name_author(name, label if author.known_by is IdentitySource.CLIENT else None),
        "name": name,
        "email": escape_invisible(author.email),
        "known_by": author.known_by.value,
        "client": label if author.known_by is IdentitySource.CLIENT else None,
        "token": label if author.known_by is IdentitySource.TOKEN else None,
    }


def build_comment_call(proposal: str, id: str) -> Call:
    """Return the call that shows a comment or a review of a proposal in full."""
    return call("view_proposal", proposal=proposal, comment=id)


def describe_comment(comment: Comment, view: Call) -> Data:
    """Return a comment: its id, author, time and text. `view` is the call that shows it in full."""
    return {
        "comment": comment.id,
        "author": describe_author(comment.author),
        "time": format_time(comment.time),
        **shorten_comment_text(comment.text, view),
    }


def shorten_comment_text(text: str, view: Call) -> Data:
    """Return the beginning of a text as `text`; if it is cut, `rest` is the call for the rest.

    `view` is the call that shows the text in full.
    """
    beginning, next_offset = cut_text(escape_invisible(text), 0, MAX_TEXT_CHARACTERS)
    if next_offset is None:
        return {"text": beginning}
    return {"text": beginning, "rest": str(Call(view.tool, {**view.arguments, "offset": next_offset}))}


def format_time(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def list_allowed_actions(proposal: Proposal) -> tuple[str, ...]:
    """Return the actions that a proposal's state allows, the most likely first."""
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


def list_latest_open(proposals: Sequence[Proposal], limit: int) -> list[Data]:
    """Return the ids and titles of the newest open proposals."""
    open_proposals = [proposal for proposal in proposals if proposal.is_open]
    return [
        {"proposal": proposal.id, "title": escape_invisible(proposal.content.title)}
        for proposal in open_proposals[:limit]
    ]


def open_and_describe_pull_request(
    proposal_actions: ProposalActions, proposal: Proposal
) -> tuple[Data, list[str]]:
    """Open or update the pull request of a proposal; return its field, and hints about failures.

    Both are empty if no forge is configured. A failure of the forge does not undo the action.
    """
    report = run_with_caveat(
        partial(proposal_actions.open_pull_request, proposal),
        None,
        "its pull request was not opened or updated; submit the proposal again later",
    )
    if report is None:
        return {}, []
    if report.error is not None:
        return {"pull_request": None}, [escape_invisible(f"{report.error.message}. {report.error.fix}")]
    data: Data = {
        "pull_request": {
            "forge": report.forge,
            "number": report.number,
            "url": escape_invisible(report.url),
            "new": report.is_new,
        }
    }
    if report.send_error is None:
        return data, []
    return data, [escape_invisible(f"the proposal's discussion was not sent: {report.send_error.message}")]
