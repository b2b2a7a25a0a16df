"""`docyard proposals conflicts`: the conflicts of a proposal with its target."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal import console


@click.command(name="conflicts")
@parameters.proposal_id
@options.repository
@options.branch
@options.as_json
def command(proposal_id: str, repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Show the conflicts of a proposal with its target: the base, ours and theirs.

    Ours is the proposal, and theirs is its target. The refresh command accepts the name of each conflict.
    With --json the output is a template for `refresh --resolve`: set each `choice` to ours,
    theirs, union (both texts) or content. Exits with 1 if there is a conflict.

    \b
    Example:
        docyard proposals conflicts k7m2q9xa
        docyard proposals conflicts k7m2q9xa --json > decisions.json
    """
    from docyard.cli.proposals.conflicts import report_conflicts
    from docyard.proposals.conflicts import find_conflicts

    workspace = open_workspace(repo, branch)
    proposal = workspace.proposal_actions().find(proposal_id)
    with console.show_progress("Trying the merge"):
        conflict_set = find_conflicts(workspace, proposal)
    return report_conflicts(proposal, conflict_set, as_json=as_json)
