"""The list of proposals: an entry of two lines each, or a line of cells where no person looks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.changes import Paper, Piece
from docyard.environment import is_terminal
from docyard.proposals.view import comments_of
from docyard.terminal import console
from docyard.wording import counted, in_words, joined, when, who

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
"""How a state looks."""

_INDENT = 10  # an id and two spaces


def in_state(proposals: Sequence[Proposal], state: str) -> list[Proposal]:
    """Return those in a state; `open` are all in work, `all` is every one."""
    if state == "open":
        return [one for one in proposals if one.is_open]
    return [one for one in proposals if state in ("all", one.state.value)]


def listed(one: Proposal) -> dict[str, Any]:
    """Return what every answer says of a proposal, as data."""
    from tools.proposals.descriptions import summarize_proposal

    return {
        **summarize_proposal(one),
        "tip": one.tip,
        "comments": comments_of(one),
        "approvals": len(one.approvals),
    }


def show_list(
    shown: Sequence[Proposal], found: Sequence[Proposal], every: Sequence[Proposal], state: str
) -> None:
    """Print proposals, `shown` of those `found` in a state; `every` is what there is at all."""
    if not is_terminal(sys.stdout):
        console.table((), [_cells(one) for one in shown])
    elif shown:
        paper = Paper()
        for one in shown:
            _show_entry(paper, one)
    _tell_rest(len(shown), len(found), every, state)


def _cells(one: Proposal) -> tuple[str, ...]:
    from tools.proposals.descriptions import format_time

    words = one.words
    return one.id, one.state.value, format_time(words.updated), who(words.author), words.title, words.branch


def _show_entry(paper: Paper, one: Proposal) -> None:
    paper.line(Piece(one.id, "yellow"), "  ", Piece(one.words.title, "bold"), hang=_INDENT)
    said = comments_of(one)
    more = f", {counted(said, 'comment')}" if said else ""
    paper.line(
        Piece(in_words(one.state.value), STYLES[one.state.value]),
        f" · {who(one.words.author)}, {when(one.words.updated)}{more}",
        indent=_INDENT,
    )


def _tell_rest(shown: int, found: int, every: Sequence[Proposal], state: str) -> None:
    """What the list does not show, and how it is shown, on standard error."""
    import click

    if shown < found:
        click.echo(f"{shown:,} of {found:,}; --limit 0 shows all.", err=True)
    if shown:
        return
    if not every:
        click.echo('There is no proposal yet: `docyard proposals create "TITLE"` begins one.', err=True)
        return
    states = [one.state.value for one in every]
    counts = joined(f"{states.count(name):,} {in_words(name)}" for name in STYLES if name in states)
    none = "None is open" if state == "open" else f"None is {in_words(state)}"
    click.echo(f"{none}; there are {counts}. --state all shows them.", err=True)
