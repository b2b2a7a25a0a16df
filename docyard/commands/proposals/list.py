"""`docyard proposals list`: the proposals of a repository, newest first."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

_STATES = ("open", "draft", "changes_requested", "approved", "merged", "closed", "gone", "all")


@click.command(name="list")
@click.option(
    "--state",
    type=click.Choice(_STATES),
    default="open",
    show_default=True,
    help="The state to list; open selects all proposals except merged, closed and gone.",
)
@options.limit("proposals", 20)
@options.repository
@options.branch
@options.as_json
def command(state: str, limit: int, repo: Path | None, branch: str | None, as_json: bool) -> int:
    """List proposals, newest first: id, state, author, title.

    The state gone means that the branch was deleted without a merge. Dates are in UTC.

    \b
    Example:
        docyard proposals list
        docyard proposals list --state all --limit 0 --json
    """
    from docyard.cli.proposals.list import print_list, proposal_to_data, select_by_state

    workspace = open_workspace(repo, branch)
    proposals = workspace.proposal_actions().list_all()
    matches = select_by_state(proposals, state)
    listed_proposals = matches[: limit or None]
    if as_json:
        console.print_json(
            {
                "proposals": [proposal_to_data(proposal) for proposal in listed_proposals],
                "total": len(matches),
                "complete": len(listed_proposals) == len(matches),
                "commit": workspace.tip(),
            }
        )
    else:
        print_list(listed_proposals, matches, proposals, state)
    return Exit.DONE
