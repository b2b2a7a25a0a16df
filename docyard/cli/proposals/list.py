"""The list of proposals: two lines for each; outside a terminal, one line of tab-separated cells."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.changes import PagePrinter, StyledText
from docyard.environment import is_terminal
from docyard.proposals.view import count_comments
from docyard.terminal import console, styles
from docyard.wording import format_author, format_count, format_moment, format_state, join_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.proposals.proposal import Proposal

STATE_STYLES = {
    "draft": styles.MUTED,
    "open": styles.NOTE,
    "changes_requested": styles.WARNING,
    "approved": styles.PASSED,
    "merged": styles.MERGED,
    "closed": styles.FAILED,
    "gone": styles.FAILED,
}
"""The style of each state."""

_INDENT = 10  # an id and two spaces


def select_by_state(proposals: Sequence[Proposal], state: str) -> list[Proposal]:
    """Return the proposals in a state; for `all` every proposal.

    For `open`, return all except merged, closed and gone proposals.
    """
    if state == "open":
        return [proposal for proposal in proposals if proposal.is_open]
    return [proposal for proposal in proposals if state in ("all", proposal.state.value)]


def proposal_to_data(proposal: Proposal) -> dict[str, Any]:
    """Return the fields of a proposal that the JSON output of all commands contains."""
    from tools.proposals.descriptions import summarize_proposal

    return {
        **summarize_proposal(proposal),
        "tip": proposal.tip,
        "comments": count_comments(proposal),
        "approvals": len(proposal.approvals),
    }


def print_list(
    listed_proposals: Sequence[Proposal],
    matches: Sequence[Proposal],
    proposals: Sequence[Proposal],
    state: str,
) -> None:
    """Print the listed proposals, and the number of omitted proposals.

    `matches` are all proposals in the state `state`, of which `listed_proposals` are the first. `proposals`
    are the proposals in all states.
    """
    if not is_terminal(sys.stdout):
        console.print_table((), [_format_cells(proposal) for proposal in listed_proposals])
    elif listed_proposals:
        printer = PagePrinter()
        for proposal in listed_proposals:
            _print_entry(printer, proposal)
    _print_omissions(len(listed_proposals), len(matches), proposals, state)


def _format_cells(proposal: Proposal) -> tuple[str, ...]:
    from tools.proposals.descriptions import format_time

    content = proposal.content
    return (
        proposal.id,
        proposal.state.value,
        format_time(content.updated_at),
        format_author(content.author),
        content.title,
        content.branch,
    )


def _print_entry(printer: PagePrinter, proposal: Proposal) -> None:
    printer.print_line(
        StyledText(proposal.id, styles.ID),
        "  ",
        StyledText(proposal.content.title, styles.TITLE),
        hang=_INDENT,
    )
    content, comments = proposal.content, count_comments(proposal)
    comment_text = f", {format_count(comments, 'comment')}" if comments else ""
    printer.print_line(
        StyledText(format_state(proposal.state.value), STATE_STYLES[proposal.state.value]),
        f" · {format_author(content.author)}, {format_moment(content.updated_at)}{comment_text}",
        indent=_INDENT,
    )


def _print_omissions(listed_count: int, match_count: int, proposals: Sequence[Proposal], state: str) -> None:
    """Print on standard error the number of omitted proposals, and the option that lists them."""
    import click

    if listed_count < match_count:
        click.echo(f"Listed {listed_count:,} of {match_count:,} proposals; --limit 0 lists all.", err=True)
    if listed_count:
        return
    if not proposals:
        click.echo(
            'There is no proposal yet: `docyard proposals create "TITLE"` creates a proposal.', err=True
        )
        return
    states = [proposal.state.value for proposal in proposals]
    counts = join_words(
        f"{states.count(name):,} {format_state(name)}" for name in STATE_STYLES if name in states
    )
    click.echo(
        f"No proposal is {format_state(state)}; in other states: {counts}. --state all lists these.", err=True
    )
