"""`docyard proposals request-changes`: a review that requests changes."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="request-changes")
@parameters.proposal_id
@parameters.message("The required changes. [default: standard input, else a text from the editor]")
@parameters.commit
@parameters.actor_options
def command(
    proposal_id: str,
    message: str | None,
    commit: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Request changes to a proposal. The request blocks a merge until a new submission, or your next review.

    \b
    Example:
        docyard proposals request-changes k7m2q9xa -m "List the errors that are retried."
    """
    from docyard.cli.proposals.actions import (
        expand_commit_prefix,
        identify_actor,
        print_action_result,
        read_text,
    )
    from workspace.proposals.events import ReviewDecision

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    proposal_actions = workspace.proposal_actions()
    proposal = proposal_actions.find(proposal_id)
    text = read_text(message, f"The required changes in {proposal.id}.")
    result = proposal_actions.review(
        proposal.id,
        actor,
        ReviewDecision.REQUEST_CHANGES,
        text,
        commit=expand_commit_prefix(proposal, commit),
    )
    print_action_result(result, "requested changes to", as_json=as_json)
    return Exit.DONE
