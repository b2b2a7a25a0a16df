"""`docyard proposals approve`: approval of a proposal at its current commit."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="approve")
@parameters.proposal_id
@parameters.message("The text of the approval.")
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
    """Approve a proposal at its current commit. This needs the token of a person who is not an author of it.

    The approval is for one commit: a later edit makes it void. Without --token-file and DOCYARD_TOKEN, the
    command prompts for the token.

    \b
    Example:
        docyard proposals approve k7m2q9xa
        docyard proposals approve k7m2q9xa --commit 1a2b3c4d -m "Reads well."
    """
    from docyard.cli.proposals.actions import (
        describe_needed_person,
        expand_commit_prefix,
        identify_actor,
        print_action_result,
    )
    from tools.proposals.review_state import explain_missing_approvals
    from workspace.proposals.actions.repository import check_not_ended
    from workspace.proposals.approvals import NeedsPerson
    from workspace.proposals.events import ReviewDecision

    workspace = open_workspace(repo, branch, read_only=False)
    proposal_actions = workspace.proposal_actions()
    proposal = proposal_actions.find(proposal_id)
    check_not_ended(proposal)  # before the prompt for the token
    reviewed_commit = expand_commit_prefix(proposal, commit)
    actor = identify_actor(workspace, token_file, prompt=True)
    try:
        result = proposal_actions.review(
            proposal_id, actor, ReviewDecision.APPROVE, message or "", commit=reviewed_commit
        )
    except NeedsPerson as error:
        error.fix = describe_needed_person(error, token_file)
        raise
    print_action_result(
        result,
        "approved",
        as_json=as_json,
        hints=explain_missing_approvals(workspace, result),
    )
    return Exit.DONE
