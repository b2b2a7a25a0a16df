"""The list of proposals: two lines each, or a line of cells outside a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.changes import Paper, StyledText
from docyard.environment import is_terminal
from docyard.proposals.view import count_comments
from docyard.terminal import console
from docyard.wording import format_author, format_count, format_moment, format_state, join_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.proposals.proposal import Proposal

STYLES = {
    "draft": "dim",
    "open": "cyan",
    "changes_requested": "yellow",
    "approved": "green",
    "merged": "magenta",
    "closed": "red",
    "gone": "red",
}
"""The style of each state."""

_INDENT = 10  # an id and two spaces


def select_by_state(proposals: Sequence[Proposal], state: str) -> list[Proposal]:
    """Return the proposals in a state; `open` includes drafts, `all` is every proposal."""
    if state == "open":
        return [one for one in proposals if one.is_open]
    return [one for one in proposals if state in ("all", one.state.value)]


def proposal_to_data(one: Proposal) -> dict[str, Any]:
    """Return the common fields of a proposal as data."""
    from tools.proposals.descriptions import summarize_proposal

    return {
        **summarize_proposal(one),
        "tip": one.tip,
        "comments": count_comments(one),
        "approvals": len(one.approvals),
    }


def print_list(
    shown: Sequence[Proposal], found: Sequence[Proposal], every: Sequence[Proposal], state: str
) -> None:
    """Print proposals, `shown` of those `found` in a state; `every` holds all proposals."""
    if not is_terminal(sys.stdout):
        console.print_table((), [_cells(one) for one in shown])
    elif shown:
        paper = Paper()
        for one in shown:
            _print_entry(paper, one)
    _print_rest(len(shown), len(found), every, state)


def _cells(one: Proposal) -> tuple[str, ...]:
    from tools.proposals.descriptions import format_time

    words = one.content
    return (
        one.id,
        one.state.value,
        format_time(words.updated_at),
        format_author(words.author),
        words.title,
        words.branch,
    )


def _print_entry(paper: Paper, one: Proposal) -> None:
    paper.line(StyledText(one.id, "yellow"), "  ", StyledText(one.content.title, "bold"), hang=_INDENT)
    comments = count_comments(one)
    more = f", {format_count(comments, 'comment')}" if comments else ""
    paper.line(
        StyledText(format_state(one.state.value), STYLES[one.state.value]),
        f" · {format_author(one.content.author)}, {format_moment(one.content.updated_at)}{more}",
        indent=_INDENT,
    )


def _print_rest(shown: int, found: int, every: Sequence[Proposal], state: str) -> None:
    """Print on standard error the number of omitted proposals, and the option that lists them."""
    import click

    if shown < found:
        click.echo(f"{shown:,} of {found:,}; --limit 0 shows all.", err=True)
    if shown:
        return
    if not every:
        click.echo('There is no proposal yet: `docyard proposals create "TITLE"` creates one.', err=True)
        return
    states = [one.state.value for one in every]
    counts = join_words(f"{states.count(name):,} {format_state(name)}" for name in STYLES if name in states)
    click.echo(f"No proposal is {format_state(state)}; there are {counts}. --state all shows them.", err=True)
