"""`docyard proposals list`: the proposals of a repository, the newest first."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

_LIMIT = 20
_STATES = ("open", "draft", "changes_requested", "approved", "merged", "closed", "gone", "all")


@click.command(name="list", short_help="List proposals, the newest first.")
@click.option(
    "--state",
    type=click.Choice(_STATES),
    default="open",
    show_default=True,
    help="Only those in this state; open: all that are neither merged, closed nor gone.",
)
@click.option(
    "--limit", type=click.IntRange(0), default=_LIMIT, show_default=True, help="How many at most; 0 for all."
)
@options.repository
@options.branch
@options.as_json
def command(state: str, limit: int, repo: Path | None, branch: str | None, as_json: bool) -> int:
    """List proposals, the newest first: id, state, author, title.

    A proposal is gone when its branch was deleted without a merge. Dates are in UTC.

    \b
    Example:
        docyard proposals list
        docyard proposals list --state all --limit 0 --json
    """
    from docyard.cli.proposals.list import print_list, proposal_to_data, select_by_state

    workspace = open_workspace(repo, branch)
    every = workspace.proposing().list_all()
    found = select_by_state(every, state)
    shown = found[: limit or None]
    if as_json:
        console.print_json(
            {
                "proposals": [proposal_to_data(one) for one in shown],
                "total": len(found),
                "complete": len(shown) == len(found),
                "commit": workspace.tip(),
            }
        )
    else:
        print_list(shown, found, every, state)
    return Exit.DONE
