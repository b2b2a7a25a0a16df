"""`docyard proposals reopen`: the reopening of a closed proposal."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="reopen")
@parameters.proposal_id
@parameters.message("The reason.")
@parameters.actor_options
def command(
    proposal_id: str,
    message: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Reopen a closed proposal.

    \b
    Example:
        docyard proposals reopen k7m2q9xa
    """
    from docyard.cli.proposals.actions import identify_actor, print_action_result

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    print_action_result(
        workspace.proposal_actions().reopen(proposal_id, actor, message or ""), "reopened", as_json=as_json
    )
    return Exit.DONE
