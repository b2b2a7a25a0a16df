"""`docyard proposals approve`: a person says that a proposal may be merged as it is."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="approve", short_help="Approve a proposal as it is now.")
@parameters.proposal
@parameters.message("What to say with it.")
@parameters.commit
@parameters.actor_options
def command(
    proposal: str,
    message: str | None,
    commit: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Approve a proposal as it is now. This needs a person's token, and nobody can approve their own.

    The approval holds for one commit: with a later edit it is void. Without --token-file and DOCYARD_TOKEN
    the token is asked for.

    \b
    Example:
        docyard proposals approve k7m2q9xa
        docyard proposals approve k7m2q9xa --commit 1a2b3c4d -m "Reads well."
    """
    from docyard.cli.proposals.actions import (
        TOKEN_FIX,
        expand_commit_prefix,
        identify_actor,
        print_action_result,
    )
    from workspace.proposals.actions.discuss import NeedsPerson
    from workspace.proposals.events import ReviewDecision

    workspace = open_workspace(repo, branch, read_only=False)
    proposing = workspace.proposing()
    looked_at = expand_commit_prefix(proposing.find(proposal), commit)
    actor = identify_actor(workspace, token_file, ask=True)
    try:
        acted = proposing.review(proposal, actor, ReviewDecision.APPROVE, message or "", commit=looked_at)
    except NeedsPerson as error:
        error.fix = TOKEN_FIX
        raise
    print_action_result(acted, "approved", as_json=as_json)
    return Exit.DONE
